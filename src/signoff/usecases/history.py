"""Read a plan's ledger: approvals, runs, where it stands; each entry is folded once.

read_history → PlanHistory → approved_by → ApprovedPlan
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.domain.ledger import Entry, Kind, Outcome
from signoff.domain.plan import Plan, PlanStatus
from signoff.errors import LedgerBroken, SignoffError
from signoff.gate.fold import fold
from signoff.gate.gate import Gate, evaluate
from signoff.gate.state import State
from signoff.planfile.parse import parse
from signoff.settings.loading import (
    REPOSITORY_FILE,
    Settings,
    load_settings,
    read_config_text,
    settings_from_pin,
)
from signoff.settings.roles import PRESET_PREFIX
from signoff.storage.claims import find_tenancy, plan_resource
from signoff.storage.leases import home_identity, is_gone
from signoff.storage.ledger import Ledger
from signoff.storage.records import ChainReport, Holder
from signoff.usecases.harness import Harness, PlanLocation
from signoff.verification.pins import Pins

_SAYS_WORKERS = {Kind.RUN_STARTED: "on", Kind.VERDICT: "worker"}  # keys that only they write
_TO_BE_RUN = (PlanStatus.APPROVED, PlanStatus.IN_PROGRESS, PlanStatus.FAILED)


class PlanHistory(Struct, frozen=True, eq=False):
    """The newest approval and run, and every entry they were computed from."""

    entries: tuple[Entry, ...] = ()
    verified: str | None = None
    approval: Entry | None = None
    run: Entry | None = None
    finished: Entry | None = None
    # Where its runs stand, by run and plan; whoever reads on folds only what is new.
    states: dict[tuple[str, str], State] = field(default_factory=dict)

    @property
    def run_id(self) -> str | None:
        return self.run.run if self.run is not None else None

    @property
    def running(self) -> bool:
        return self.run is not None and self.finished is None

    @property
    def signed_off(self) -> bool:
        """True when the newest run's end says done; `require_proved` asks if it was earned."""
        return self.finished is not None and self.finished.data["outcome"] == Outcome.DONE

    @property
    def in_force(self) -> Entry | None:
        """The entry with the pins that count now: the newest run, or a later approval."""
        return self.approval if self.run is None or self.approved_anew else self.run

    @property
    def approved_anew(self) -> bool:
        """True when somebody wants the plan run once more."""
        if self.run is None or self.approval is None:
            return False
        return self.approval.seq > self.run.seq

    @property
    def due(self) -> Entry | None:
        """The entry that rules the work to be done: an open run, or an approval nobody ran."""
        if self.running or self.run is None:
            return self.run or self.approval
        return self.approval if self.approved_anew else None

    def status(self, plan_digest: str) -> PlanStatus:
        """Status of this very text: computed, never read from the file."""
        if self.running:
            return PlanStatus.IN_PROGRESS
        if not self.approves(plan_digest) or self.approval is None:
            return PlanStatus.VERIFIED if self.verified == plan_digest else PlanStatus.DRAFT
        if self.run is None or self.approved_anew or self.finished is None:
            return PlanStatus.APPROVED
        outcome = Outcome(self.finished.data["outcome"])
        if outcome is Outcome.REVISED:
            return PlanStatus.DRAFT
        return PlanStatus.DONE if outcome is Outcome.DONE else PlanStatus.FAILED

    def approves(self, plan_digest: str) -> bool:
        """True when the newest approval is of this very text."""
        return self.approval is not None and self.approval.data["plan_digest"] == plan_digest

    def continued(self, entries: Sequence[Entry]) -> PlanHistory:
        """The history with what was appended since."""
        verified, approval, run, finished = self.verified, self.approval, self.run, self.finished
        for entry in entries:
            if entry.kind is Kind.PLAN_VERIFIED:
                verified = entry.data["plan_digest"]
            elif entry.kind is Kind.PLAN_APPROVED:
                approval = entry
            elif entry.kind is Kind.PLAN_AMENDED and approval is not None:
                # The same approval with a line more: it came when the first one did, and the run
                # that asked for it goes by it.
                amended = {name: entry.data[name] for name in ("pins", "plan_digest")}
                approval = replace(approval, data={**approval.data, **amended})
                if run is not None and run.run == entry.run:
                    run = replace(run, data={**run.data, **amended})
            elif entry.kind in (Kind.PLAN_REJECTED, Kind.PLAN_DRAFTED):
                approval, verified = None, None
            elif entry.kind is Kind.RUN_STARTED:
                run, finished = entry, None
            elif entry.kind is Kind.RUN_FINISHED and run is not None and entry.run == run.run:
                finished = entry
        every = (*self.entries, *entries)
        return PlanHistory(every, verified, approval, run, finished, self.states)


# What this process has read of each chain, as long as the ledger is open.
_READ: WeakKeyDictionary[Ledger, dict[str, PlanHistory]] = WeakKeyDictionary()


def read_history(ledger: Ledger, plan_id: str) -> PlanHistory:
    """The plan's history as it is now; of a chain that was read before, only what is new."""
    known = _READ.setdefault(ledger, {}).get(plan_id, PlanHistory())
    if not known.entries:
        return _remember(ledger, plan_id, known, tuple(ledger.entries(plan_id)))
    last = known.entries[-1]
    new = tuple(ledger.entries(plan_id, after=last.seq))
    before = new[0].prev if new else ledger.head(plan_id)[1]
    if before == last.hash:
        return _remember(ledger, plan_id, known, new)
    # Another chain than the one that was read: brought back from a backup, or rewritten.
    return _read_again(ledger, plan_id, tuple(ledger.entries(plan_id)))


def intact_history(ledger: Ledger, plan_id: str, path: Path) -> PlanHistory:
    """The plan's history, checked: LedgerBroken when an entry was touched.

    All of them decide: a lost rejection makes a plan approved, a changed verdict makes it done.
    """
    try:
        entries = ledger.intact_entries(plan_id)
    except LedgerBroken as error:
        raise LedgerBroken(error.message, _look_closer(path), error.facts) from error
    _require_signed(ledger, entries)
    return _read_again(ledger, plan_id, entries)


def trusted_history(ledger: Ledger, plan_id: str) -> tuple[ChainReport, PlanHistory]:
    """The chain with every hash recomputed, and the history, for proofs."""
    chain, entries = trusted_chain(ledger, plan_id), tuple(ledger.entries(plan_id))
    _require_signed(ledger, entries)
    return chain, _read_again(ledger, plan_id, entries)


def _require_signed(ledger: Ledger, entries: Sequence[Entry]) -> None:
    """Refuse a verdict of a run on workers that nobody signed whom a person trusted then."""
    if any(_SAYS_WORKERS.get(entry.kind) in entry.data for entry in entries):
        from signoff.storage.workers import require_signed  # noqa: PLC0415 - few have workers

        require_signed(ledger, entries)


def _read_again(ledger: Ledger, plan_id: str, entries: tuple[Entry, ...]) -> PlanHistory:
    """Take what is written there now; what was read of it before is not folded again."""
    known = _READ.setdefault(ledger, {}).get(plan_id, PlanHistory())
    if known.entries != entries[: len(known.entries)]:
        known = PlanHistory()
    return _remember(ledger, plan_id, known, entries[len(known.entries) :])


def _remember(
    ledger: Ledger, plan_id: str, known: PlanHistory, new: tuple[Entry, ...]
) -> PlanHistory:
    found = known.continued(new) if new else known
    _READ[ledger][plan_id] = found
    return found


def proved_history(ledger: Ledger, plan_id: str, path: Path) -> PlanHistory:
    """The checked history, in which a run's end that says done is earned; else LedgerBroken."""
    history = intact_history(ledger, plan_id, path)
    if history.run is not None and history.signed_off:
        plan = pinned_plan(read_pins(ledger, history.run))
        require_proved(history, fold_run(history, plan), path)
    return history


def require_proved(history: PlanHistory, state: State, path: Path) -> None:
    """Ask the gate again about a run's end that says done: it proves nothing by itself."""
    finished = history.finished
    if finished is None or not history.signed_off:
        return
    if evaluate(state, finished.data.get("snapshot")).gate is Gate.SHUT:
        raise LedgerBroken(
            f"ledger broken: entry {finished.seq} says done, and nothing before it proves that",
            _look_closer(path),
            {"first_bad": finished.seq},
        )


def _look_closer(path: Path) -> str:
    return f"signoff audit {shlex.quote(str(path))}"


def trusted_chain(ledger: Ledger, plan_id: str) -> ChainReport:
    """The chain with every hash recomputed; LedgerBroken when one is wrong."""
    chain = ledger.check_chain(plan_id)
    if not chain.holds:
        raise LedgerBroken(
            f"entry {chain.first_bad} of the ledger is not to be trusted: {chain.problem}",
            facts={"first_bad": chain.first_bad},
        )
    return chain


class ApprovedPlan(Struct, frozen=True):
    """A plan as it was approved: what counts from here on, whatever lies in the files now."""

    place: PlanLocation
    history: PlanHistory
    entry: Entry  # the approval, or the beginning of the run that goes by it
    pins: Pins
    plan: Plan
    settings: Settings

    @property
    def state(self) -> State:
        """State of the newest run; empty when there is none."""
        return fold_run(self.history, self.plan)

    def in_folder(self, workspace: Path) -> ApprovedPlan:
        return replace(self, place=replace(self.place, workspace=workspace))

    def where_approved(self) -> ApprovedPlan | None:
        """The plan in the folder in which it was approved; None when it is there already."""
        there = Path(self.pins.workspace)
        return self.in_folder(there) if there != self.place.workspace else None


def approved_by(
    ledger: Ledger, place: PlanLocation, history: PlanHistory, entry: Entry
) -> ApprovedPlan:
    """The plan as an approval, or the beginning of a run, pins it."""
    return approved_with(place, history, entry, read_pins(ledger, entry))


def approved_with(
    place: PlanLocation, history: PlanHistory, entry: Entry, pins: Pins
) -> ApprovedPlan:
    """The approved plan from pins that were read already, or taken in another checkout."""
    settings = settings_from_pin(pins.settings)
    return ApprovedPlan(place, history, entry, pins, pinned_plan(pins), settings)


def read_pins(ledger: Ledger, entry: Entry) -> Pins:
    return Pins.from_bytes(ledger.get_blob(entry.data["pins"]))


def pinned_plan(pins: Pins) -> Plan:
    return parse(pins.plan_text).plan


def fold_run(history: PlanHistory, plan: Plan, run: str | None = None) -> State:
    """State of the newest run, or of the one that is about to begin."""
    run = run or history.run_id or ""
    key = run, plan.plan_digest
    if key not in history.states:
        history.states[key] = State(plan, run)
    return fold(history.states[key], history.entries)


def must_wait(history: PlanHistory, plan: Plan, pins: Pins, until: float) -> bool:
    """True when driving the newest run does nothing before a person answers, or before `until`."""
    from signoff.gate.actions import Wait, next_action  # noqa: PLC0415 - hooks drive nothing

    policy = settings_from_pin(pins.settings).policy
    state = fold_run(history, plan)
    due = any(q.until is not None and q.until <= until for q in state.questions.values())
    return not due and isinstance(next_action(state, policy), Wait)


def older_pins(ledger: Ledger, history: PlanHistory, plan_digest: str) -> Pins | None:
    """The pins that work on this plan goes by from now on, if an older version took them.

    What is signed off is over: it stays what it was.
    """
    entry = history.run if history.running else history.approval
    if entry is None or history.status(plan_digest) not in _TO_BE_RUN:
        return None
    pins = read_pins(ledger, entry)
    return pins if pins.outdated else None


def approved_text(ledger: Ledger, plan_id: str) -> str:
    """The plan as it was last approved, whatever became of its file; empty if it never was."""
    kinds = (Kind.PLAN_APPROVED, Kind.PLAN_AMENDED)
    approvals = [e for e in ledger.entries(plan_id) if e.kind in kinds]
    return read_pins(ledger, approvals[-1]).plan_text if approvals else ""


class Driver(Struct, frozen=True):
    """The driver of a run, alive or dead."""

    holder: Holder
    alive: bool


def driver_of(harness: Harness, plan: str) -> Driver | None:
    """The driver, read from the lease, without trying any lock.

    None when whoever drove it last gave it back, or is this very process.
    """
    row = find_tenancy(harness.ledger.database, plan_resource(plan))
    if row is None or not row.unfinished or not row.token:
        return None
    ours = Holder.current("", home=home_identity(harness.home.path))
    if row.holder.pid == os.getpid() and row.holder.shares_locks_with(ours):
        return None
    return Driver(row.holder, alive=row.live and not is_gone(row.holder, ours))


def role_words(roles: Mapping[str, str]) -> str:
    """Options that give the same roles again, behind a command."""
    return "".join(
        f" --role {shlex.quote(name)}={shlex.quote(command)}" for name, command in roles.items()
    )


def roles_given(harness: Harness, history: PlanHistory) -> dict[str, str]:
    """Roles of the newest run that no configuration has; of the plan's own only."""
    if history.run is None:
        return {}
    from signoff.agents.presets import with_presets  # noqa: PLC0415 - hooks never need it

    try:
        pins = read_pins(harness.ledger, history.run)
        workspace = Path(pins.workspace)
        now = with_presets(load_settings(workspace, harness.environ)).roles
        unedited = read_config_text(workspace / REPOSITORY_FILE) == pins.config_text
        # Pinned commands that the file cannot have said: it has no such role, or is as it was.
        given = {
            name: f"{PRESET_PREFIX}{role.agent} {role.model}".strip()
            if role.agent
            else role.command
            for name, role in settings_from_pin(pins.settings).roles.items()
            if name not in now or (unedited and now[name].command != role.command)
        }
        for entry in history.entries:
            if entry.run == history.run_id and entry.kind in (Kind.RUN_STARTED, Kind.RUN_RESUMED):
                given |= entry.data.get("roles") or {}
        targets = pinned_plan(pins).roles
    except SignoffError:
        return {}  # what to type next is a help, and no reason to fail
    return {name: command for name, command in given.items() if name in targets}
