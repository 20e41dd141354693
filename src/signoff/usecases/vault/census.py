"""Every plan of a vault as its file and the ledger show it: what may be started, and by whom."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from signoff.domain.findings import Severity
from signoff.domain.names import plan_file
from signoff.domain.plan import Plan, PlanStatus
from signoff.errors import NoVault, SignoffError
from signoff.gate.dependencies import needed_plans
from signoff.gate.gate import Gate, evaluate
from signoff.gate.ready import Candidate, PlanStanding
from signoff.planfile.decode import decode
from signoff.planfile.parse import parse
from signoff.storage.claims import Tenancy, tenancies_of
from signoff.storage.files import read_plan_file
from signoff.storage.identity import plan_identity
from signoff.storage.leases import home_identity, is_gone
from signoff.storage.location import VaultPlace, find_vault
from signoff.storage.records import Holder, PlanRecord
from signoff.storage.vault import Vault
from signoff.usecases.history import (
    PlanHistory,
    fold_run,
    pinned_plan,
    read_history,
    read_pins,
    waits_for_person,
)
from signoff.usecases.merged import Base, is_merged
from signoff.usecases.site import Site

_WITHOUT = PlanHistory(())


@dataclass(frozen=True)
class PlanFacts:
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
        """The number of the last entry that was seen."""
        return self.history.entries[-1].seq if self.history.entries else 0

    @property
    def begun(self) -> bool:
        """Whether there is a run to speak of, and nobody has approved the plan anew since."""
        return self.history.run is not None and not _approved_since(self.history)

    @property
    def touches(self) -> tuple[str, ...]:
        """The files it may change: as recorded when it was begun or handed out, else as written."""
        row = self.driver or self.claim
        if row is not None:
            return row.touches
        return self.plan.touches if self.plan is not None else ()

    @property
    def holder(self) -> str:
        """Who drives it or was given it, in words."""
        if self.driver is not None:
            worker = f", worker {self.driver.holder.worker}" if self.driver.holder.worker else ""
            return f"{self.driver.holder}{worker}"
        if self.claim is not None:
            return f"worker {self.claim.holder.worker} since {self.claim.holder.since} (claimed)"
        return ""

    def candidate(self) -> Candidate:
        """As the rules of readiness see it."""
        plan = self.plan
        return Candidate(
            name=self.name,
            standing=self.standing,
            depends_on=plan.depends_on if plan is not None else (),
            touches=self.touches,
            priority=plan.priority if plan is not None else "normal",
            holder=self.holder,
        )


@dataclass(frozen=True)
class Census:
    """All plans of one vault at one look; `scope` is what they share on record."""

    place: VaultPlace
    scope: str
    plans: tuple[PlanFacts, ...]
    by_name: dict[str, PlanFacts] = field(repr=False)


def take_census(site: Site) -> Census:
    """Look at every plan of the vault around here, and at who has what."""
    place = find_vault(site.cwd, site.environ)
    if not place.folder.is_dir():
        raise NoVault(f"no vault at `{place.folder}`")
    folder = Path(os.path.realpath(place.folder))
    scope = str(place.repository or folder)
    look = _Look(site, place, tenancies_of(site.ledger.database, scope))
    written = {name: _written(folder / plan_file(name)) for name in Vault(folder).list_plans()}
    needed = {n for w in written.values() if w.plan for n in needed_plans(w.plan.depends_on)}
    plans = [look.at(name, w, checked=name in needed) for name, w in written.items()]
    plans += look.at_vanished(needed - written.keys(), {plan.record.id for plan in plans})
    plans += look.at_vanished_claims({plan.name for plan in plans})
    return Census(place, scope, tuple(plans), {plan.name: plan for plan in plans})


def presumed_dead(site: Site) -> Callable[[Holder], bool]:
    """Tells which drivers of this home died before their lease ended."""
    ours = Holder.current("", home=home_identity(site.home.path))
    return lambda holder: is_gone(holder, ours)


@dataclass(frozen=True)
class _Written:
    path: Path
    plan: Plan | None
    problem: str = ""


def _written(path: Path) -> _Written:
    try:
        parsed = parse(decode(read_plan_file(path, follow=False), str(path)))
    except SignoffError as error:
        return _Written(path, None, error.message)
    for finding in parsed.findings:
        # What a plan waits for and touches stands there: unread is not the same as none.
        if finding.code == "bad-frontmatter" and finding.severity is Severity.ERROR:
            return _Written(path, None, f"line {finding.line}: {finding.message}")
    return _Written(path, parsed.plan)


class _Look:
    """One look at the ledger, for all plans."""

    def __init__(self, site: Site, place: VaultPlace, rows: Sequence[Tenancy]):
        self._site = site
        self._place = place
        self._base = Base(place.repository, site.environ)
        gone = presumed_dead(site)
        self._unfinished = {row.plan for row in rows if row.unfinished}
        live = [row for row in rows if row.live]
        self._claims = {row.resource: row for row in live if row.claimed_only}
        self._drivers = {row.resource: row for row in live if not gone(row.holder)}

    def at(self, name: str, written: _Written, *, checked: bool) -> PlanFacts:
        """One plan with a file; `checked` when others rely on its sign-off."""
        if written.path.is_symlink():
            # Where it leads there may be another plan, whose sign-off is not this one's.
            nobody = PlanRecord("", name, str(written.path), None)
            problem = written.problem or f"`{written.path}` is a symbolic link"
            return PlanFacts(
                name, written.path, nobody, None, PlanStanding.INVALID, problem=problem
            )
        record = plan_identity(written.path, self._place)
        return self._facts(name, record, written, checked)

    def at_vanished(self, needed: set[str], seen: set[str]) -> list[PlanFacts]:
        """Plans whose files are gone: neither a sign-off nor a run un-happens with the file."""
        unfinished = self._unfinished - seen
        if not needed and not unfinished:
            return []
        home = str(self._place.repository)
        found = []
        for record in self._site.ledger.plans():
            wanted = record.repository == home and record.name in needed
            if record.id in seen or not (wanted or record.id in unfinished):
                continue
            facts = self._facts(record.name, record, _Written(Path(record.path), None), wanted)
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
                gone = _Written(path, None, f"its file `{path}` is gone")
                found[name] = self._facts(name, record, gone, checked=False)
        return list(found.values())

    def _facts(self, name: str, record: PlanRecord, written: _Written, checked: bool) -> PlanFacts:
        driver = self._drivers.get(f"plan:{record.id}")
        claim = self._claims.get(f"claim:{record.id}")
        plan, problem, edited, history = written.plan, written.problem, False, _WITHOUT
        try:
            history = read_history(self._site.ledger, record.id)
            if history.running and history.run is not None:
                plan = pinned_plan(read_pins(self._site.ledger, history.run))
            standing = self._standing(record, history, plan, driver)
            if standing in (PlanStanding.SIGNED_OFF, PlanStanding.SIGNED_OFF_UNMERGED):
                edited = plan is not None and not _as_approved(history, plan)
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
            pins = read_pins(self._site.ledger, history.run)
            waits = waits_for_person(history, pinned_plan(pins), pins)
            return PlanStanding.WAITING_FOR_PERSON if waits else PlanStanding.INTERRUPTED
        if history.signed_off and not _approved_since(history):
            merged = is_merged(history, record, self._base.holds)
            return PlanStanding.SIGNED_OFF if merged else PlanStanding.SIGNED_OFF_UNMERGED
        if plan is None:
            return PlanStanding.INVALID
        return _BY_STATUS.get(history.status(plan.plan_digest), PlanStanding.NOT_APPROVED)

    def _disproved(self, record: PlanRecord, history: PlanHistory) -> str:
        """Why a sign-off is not to be relied on: the chain is checked, and the gate asked again."""
        chain = self._site.ledger.check_chain(record.id)
        if not chain.holds:
            return f"entry {chain.first_bad} of its ledger is not to be trusted: {chain.problem}"
        assert history.run is not None and history.finished is not None
        plan = pinned_plan(read_pins(self._site.ledger, history.run))
        report = evaluate(fold_run(history, plan), history.finished.data["snapshot"])
        return "the ledger does not prove its sign-off" if report.gate is Gate.SHUT else ""


_BY_STATUS = {
    PlanStatus.APPROVED: PlanStanding.APPROVED,
    PlanStatus.FAILED: PlanStanding.FAILED,
}


def _approved_since(history: PlanHistory) -> bool:
    """Whether somebody wants the plan run once more."""
    return (
        history.approval is not None
        and history.run is not None
        and history.approval.seq > history.run.seq
    )


def _as_approved(history: PlanHistory, plan: Plan) -> bool:
    return history.run is not None and history.run.data["plan_digest"] == plan.plan_digest
