"""`ready`: every plan as its file and the ledger show it; which may be started, and together."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.findings import Finding, Severity
from signoff.domain.names import plan_file, shown_name
from signoff.domain.plan import Plan, PlanStatus
from signoff.errors import NotReady, NoVault, SignoffError
from signoff.gate.dependencies import needed_plans
from signoff.gate.gate import Gate, evaluate
from signoff.gate.ready import (
    Candidate,
    PlanReadiness,
    PlanStanding,
    PlanState,
    Readiness,
    ReasonKind,
    readiness,
)
from signoff.planfile.blocks import decode
from signoff.planfile.parse import Parsed, parse
from signoff.storage.active import VaultPlace, find_vault
from signoff.storage.claims import Tenancy, tenancies_of
from signoff.storage.files import read_plan_file
from signoff.storage.identity import plan_identity
from signoff.storage.leases import home_identity, is_gone
from signoff.storage.records import Holder, PlanRecord
from signoff.storage.vault import Vault
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import (
    PlanHistory,
    fold_run,
    must_wait,
    pinned_plan,
    read_history,
    read_pins,
)
from signoff.usecases.merged import held_by_base, is_merged

_WITHOUT = PlanHistory(())


class PlanFacts(Struct, frozen=True):
    """One plan; `plan` is what counts: as pinned while a run is not over, else as written.

    `listed` is False for a plan whose file is gone and which is of interest to others only.
    """

    name: str
    path: Path
    record: PlanRecord
    plan: Plan | None
    standing: PlanStanding
    history: PlanHistory = _WITHOUT
    problem: str = ""
    driver: Tenancy | None = None
    claim: Tenancy | None = None
    edited: bool = False
    listed: bool = True

    @property
    def seq(self) -> int:
        return self.history.entries[-1].seq if self.history.entries else 0

    @property
    def begun(self) -> bool:
        """True when there is a run to speak of, and nobody has approved the plan anew since."""
        return self.history.run is not None and not self.history.approved_anew

    @property
    def touches(self) -> tuple[str, ...]:
        """The files it may change: as recorded when it was begun or handed out, else as written."""
        row = self.driver or self.claim
        if row is not None:
            return row.touches
        return self.plan.touches if self.plan is not None else ()

    @property
    def holder(self) -> str:
        """The driver or the worker with a claim, in words."""
        if self.driver is not None:
            worker = f", worker {self.driver.holder.worker}" if self.driver.holder.worker else ""
            return f"{self.driver.holder}{worker}"
        if self.claim is not None:
            return f"worker {self.claim.holder.worker} since {self.claim.holder.since} (claimed)"
        return ""

    def candidate(self) -> Candidate:
        plan = self.plan
        return Candidate(
            name=self.name,
            standing=self.standing,
            depends_on=plan.depends_on if plan is not None else (),
            touches=self.touches,
            priority=plan.priority if plan is not None else "normal",
            holder=self.holder,
        )


class Census(Struct, frozen=True, dict=True):
    """All plans of one vault at one look; `scope` is what they share on record."""

    place: VaultPlace
    scope: str
    plans: tuple[PlanFacts, ...]

    @cached_property
    def by_name(self) -> dict[str, PlanFacts]:
        return {plan.name: plan for plan in self.plans}


def take_census(harness: Harness) -> Census:
    """Look at every plan of the vault around here, and at who has what."""
    place = find_vault(harness.cwd, harness.environ)
    if not place.folder.is_dir():
        raise NoVault(f"no vault at `{place.folder}`")
    folder = Path(os.path.realpath(place.folder))
    scope = str(place.repository or folder)
    look = _Look(harness, place, tenancies_of(harness.ledger.database, scope))
    written = {name: read_written(folder / plan_file(name)) for name in Vault(folder).list_plans()}
    needed = {n for w in written.values() if w.plan for n in needed_plans(w.plan.depends_on)}
    plans = [look.at(name, w, checked=name in needed) for name, w in written.items()]
    plans += look.at_vanished(needed - written.keys(), {plan.record.id for plan in plans})
    plans += look.at_vanished_claims({plan.name for plan in plans})
    return Census(place, scope, tuple(plans))


def presumed_dead(harness: Harness) -> Callable[[Holder], bool]:
    """Tells which drivers of this home died before their lease ended."""
    ours = Holder.current("", home=home_identity(harness.home.path))
    return lambda holder: is_gone(holder, ours)


class Written(NamedTuple):
    """A plan file as it is now; without a plan, `problem` says why."""

    path: Path
    plan: Plan | None = None
    problem: str = ""


def read_written(path: Path) -> Written:
    """Read a plan file of the vault; a link is not followed."""
    try:
        parsed = parse(decode(read_plan_file(path, follow=False), str(path)))
    except SignoffError as error:
        return Written(path, problem=error.message)
    for finding in parsed.findings:
        # What a plan waits for and touches stands there: unread is not the same as none.
        if finding.code == "bad-frontmatter" and finding.severity is Severity.ERROR:
            return Written(path, problem=f"line {finding.line}: {finding.message}")
    return Written(path, parsed.plan)


class _Look:
    def __init__(self, harness: Harness, place: VaultPlace, rows: Sequence[Tenancy]):
        self._harness = harness
        self._place = place
        self._in_base = held_by_base(place.repository, harness.environ)
        gone = presumed_dead(harness)
        self._unfinished = {row.plan for row in rows if row.unfinished}
        live = [row for row in rows if row.live]
        self._claims = {row.resource: row for row in live if row.claimed_only}
        self._drivers = {row.resource: row for row in live if not gone(row.holder)}

    def at(self, name: str, written: Written, *, checked: bool) -> PlanFacts:
        """One plan with a file; `checked` when others rely on its sign-off."""
        if written.path.is_symlink():
            # Where it leads there may be another plan, whose sign-off is not this one's.
            nobody = PlanRecord("", name, str(written.path), None)
            problem = written.problem or f"`{written.path}` is a symbolic link"
            standing = PlanStanding.INVALID
            return PlanFacts(name, written.path, nobody, None, standing, problem=problem)
        return self._facts(name, plan_identity(written.path, self._place), written, checked)

    def at_vanished(self, needed: set[str], seen: set[str]) -> list[PlanFacts]:
        """Plans whose files are gone: neither a sign-off nor a run un-happens with the file."""
        unfinished = self._unfinished - seen
        if not needed and not unfinished:
            return []
        home = str(self._place.repository)
        found = []
        for record in self._harness.ledger.plans():
            wanted = record.repository == home and record.name in needed
            if record.id in seen or not (wanted or record.id in unfinished):
                continue
            facts = self._facts(record.name, record, Written(Path(record.path)), wanted)
            if facts.standing is not PlanStanding.INVALID:
                found.append(replace(facts, listed=record.id in unfinished))
        return found

    def at_vanished_claims(self, seen: set[str]) -> list[PlanFacts]:
        """Plans that were handed out and whose files are gone: they still keep others back."""
        found = {}
        for row in self._claims.values():
            name = row.holder.plan
            path = self._place.folder / plan_file(name)
            if name not in seen and not os.path.lexists(path):
                record = PlanRecord(row.plan, name, str(path), self._place.main)
                gone = Written(path, problem=f"its file `{path}` is gone")
                found[name] = self._facts(name, record, gone, checked=False)
        return list(found.values())

    def _facts(self, name: str, record: PlanRecord, written: Written, checked: bool) -> PlanFacts:
        driver = self._drivers.get(f"plan:{record.id}")
        claim = self._claims.get(f"claim:{record.id}")
        plan, problem, edited, history = written.plan, written.problem, False, _WITHOUT
        try:
            history = read_history(self._harness.ledger, record.id)
            if history.running and history.run is not None:
                plan = pinned_plan(read_pins(self._harness.ledger, history.run))
            standing = self._standing(record, history, plan, driver)
            if standing in (PlanStanding.SIGNED_OFF, PlanStanding.SIGNED_OFF_UNMERGED):
                ran = history.run.data["plan_digest"] if history.run is not None else None
                edited = plan is not None and plan.plan_digest != ran
                problem = self._disproved(record, history) if checked else ""
        except SignoffError as error:
            standing, problem = PlanStanding.INVALID, error.message
        return PlanFacts(
            name=name,
            path=written.path,
            record=record,
            plan=plan,
            standing=PlanStanding.INVALID if problem else standing,
            history=history,
            problem=problem,
            driver=driver,
            claim=claim,
            edited=edited,
        )

    def _standing(
        self, record: PlanRecord, history: PlanHistory, plan: Plan | None, driver: Tenancy | None
    ) -> PlanStanding:
        if driver is not None:
            return PlanStanding.IN_PROGRESS
        if history.running and history.run is not None:
            pins = read_pins(self._harness.ledger, history.run)
            waits = must_wait(history, pinned_plan(pins), pins, time.time())
            return PlanStanding.WAITING_FOR_PERSON if waits else PlanStanding.INTERRUPTED
        if history.signed_off and not history.approved_anew:
            merged = is_merged(history, record, self._in_base)
            return PlanStanding.SIGNED_OFF if merged else PlanStanding.SIGNED_OFF_UNMERGED
        if plan is None:
            return PlanStanding.INVALID
        return _BY_STATUS.get(history.status(plan.plan_digest), PlanStanding.NOT_APPROVED)

    def _disproved(self, record: PlanRecord, history: PlanHistory) -> str:
        """The reason not to rely on a sign-off: the chain is checked, and the gate asked again."""
        chain = self._harness.ledger.check_chain(record.id)
        if not chain.holds:
            return f"entry {chain.first_bad} of its ledger is not to be trusted: {chain.problem}"
        assert history.run is not None and history.finished is not None
        plan = pinned_plan(read_pins(self._harness.ledger, history.run))
        report = evaluate(fold_run(history, plan), history.finished.data["snapshot"])
        return "the ledger does not prove its sign-off" if report.gate is Gate.SHUT else ""


_BY_STATUS = {PlanStatus.APPROVED: PlanStanding.APPROVED, PlanStatus.FAILED: PlanStanding.FAILED}


class ReadyReport(Struct, frozen=True):
    census: Census
    answer: Readiness

    @property
    def plans(self) -> tuple[tuple[PlanFacts, PlanReadiness], ...]:
        """The plans people know of, each with its answer."""
        found = self.answer.by_name
        return tuple((plan, found[plan.name]) for plan in self.census.plans if plan.listed)

    @property
    def anything(self) -> bool:
        return any(answer.state is PlanState.READY for _, answer in self.plans)


def find_ready(harness: Harness) -> ReadyReport:
    census = take_census(harness)
    return ReadyReport(census, readiness([plan.candidate() for plan in census.plans]))


def find_needs(harness: Harness, place: PlanLocation, parsed: Parsed) -> tuple[Finding, ...]:
    """Faults in a plan's `depends_on`, going by the other plans of its vault."""
    name = place.name_in_vault
    if name is None or not parsed.plan.depends_on:
        return ()
    around = _around(harness, place)
    return needs_findings(find_ready(around).answer.by_name.get(name), parsed)


def needs_findings(answer: PlanReadiness | None, parsed: Parsed) -> tuple[Finding, ...]:
    """Findings from a known answer: a ring is an error, a name of no plan a warning."""
    numbered = enumerate(parsed.lines, 1)
    line = next((i for i, text in numbered if text.startswith("depends_on")), 1)
    text = parsed.lines[line - 1].rstrip("\r")
    found = []
    for reason in answer.reasons if answer is not None else ():
        said = f"the plan {reason}"
        if reason.kind is ReasonKind.CYCLE:
            hint = "take one of them out of `depends_on`: none of these plans can ever start"
            found.append(Finding("circular-dependency", Severity.ERROR, line, said, hint, text))
        elif reason.kind is ReasonKind.DANGLING:
            hint = "correct the name, or write that plan: until then this one does not start"
            found.append(Finding("unknown-dependency", Severity.WARNING, line, said, hint, text))
    return tuple(found)


def refuse_unready(harness: Harness, place: PlanLocation, verb: str) -> None:
    """NotReady when the plan depends on what is not signed off and merged."""
    name = place.name_in_vault
    if name is None or not place.depends_on:
        return
    known = take_census(_around(harness, place)).by_name
    missing = []
    for needed in needed_plans(place.depends_on):
        standing = known[needed].standing if needed in known else None
        if standing is not PlanStanding.SIGNED_OFF:
            missing.append(f"`{shown_name(needed)}`, which is {standing or 'no plan of the vault'}")
    if missing:
        shown = shown_name(name)
        raise NotReady(
            f"plan `{shown}` depends on {'; '.join(missing)}",
            f"signoff ready shows the order; signoff {verb} {shlex.quote(shown)} --anyway does it",
        )


def _around(harness: Harness, place: PlanLocation) -> Harness:
    """The harness as if asked from the folder of the plan's vault."""
    repository = place.record.repository
    return replace(harness, cwd=Path(repository) if repository else place.vault.path.parent)
