"""`audit`: trusts no agent: chain, pins, then every contract on the workspace as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from signoff.domain.escalation import Cause, Choice, Outcome
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Plan
from signoff.domain.receipt import WaiverProof
from signoff.domain.snapshot import Change, Snapshot
from signoff.domain.verdict import Isolation, Result
from signoff.errors import NoSuchRun, PlanNotFound, PlanUnreadable, SignoffError
from signoff.gate.gate import Gate, evaluate
from signoff.gate.state import State
from signoff.orchestrator.watch import PinWatch
from signoff.planfile.digest import plan_digest
from signoff.settings.loading import read_config_text, says_the_same, settings_from_pin
from signoff.storage.records import ChainReport, Holder
from signoff.usecases.history import (
    PlanHistory,
    fold_run,
    pinned_plan,
    read_history,
    read_pins,
    trusted_history,
)
from signoff.usecases.openwork import (
    enclosure_of,
    open_judge,
    open_pinned_workspace,
    pin_watch,
    redactor_of,
    taken,
    workspace_lock,
)
from signoff.usecases.pinning import lacked_by
from signoff.usecases.rejudging import Finding, Line, judge_again
from signoff.usecases.sign_offs import waivers_of
from signoff.usecases.site import PlanPlace, Site
from signoff.usecases.status import Content, StatusReport
from signoff.verification.bench import Bench
from signoff.verification.guards import Guards
from signoff.verification.judge import Judge
from signoff.verification.pins import Pins
from signoff.workspace.workspace import Workspace, changes_between


@dataclass(frozen=True)
class AuditReport:
    """The answer, and everything it rests on."""

    place: PlanPlace
    chain: ChainReport
    signed_off_at: str | None
    signed_off_on: str | None
    content: str
    drift: tuple[Change, ...]
    edited: str
    lines: tuple[Line, ...]
    isolation: Isolation
    receipts: int = 0
    anchors: int | None = None
    notes: tuple[str, ...] = ()  # what changed since approval and does not count
    waivers: tuple[WaiverProof, ...] = ()
    says_done: bool = False  # the ledger does, proved or not
    self_set: bool = False  # an agent's session: it chose its checks itself
    self_set_counts: bool = True  # the user's policy takes such checks for an answer

    @property
    def result(self) -> Result:
        """Kept only if everything is; unknown when something could not be judged."""
        contracts = self.contracts
        return Result.BROKEN if self.edited and contracts is Result.KEPT else contracts

    @property
    def contracts(self) -> Result:
        """The same without asking whether plan file and configuration are as approved."""
        findings = {line.finding for line in self.lines}
        if Finding.UNKNOWN in findings:
            return Result.UNKNOWN
        bad = findings & {Finding.BROKEN, Finding.UNPROVED}
        return Result.KEPT if self.signed_off_at is not None and not bad else Result.BROKEN

    @property
    def waived(self) -> tuple[str, ...]:
        """What somebody went on without."""
        return tuple(line.subject for line in self.lines if line.finding is Finding.WAIVED)

    @property
    def only_unsigned(self) -> bool:
        """Whether nothing is broken, and the answer is no because nothing was signed off."""
        found = {line.finding for line in self.lines}
        sound = not self.edited and not found & {Finding.BROKEN, Finding.UNKNOWN}
        return self.signed_off_at is None and not self.says_done and sound


def audit_plan(
    site: Site,
    place: PlanPlace,
    tell: Callable[[str], None] = lambda _: None,
    anchor: Path | None = None,
) -> AuditReport:
    """Check the chain, then judge every contract again; nothing recorded is taken for granted."""
    chain, history = trusted_history(site.ledger, place.record.id)
    if history.run is None:
        raise NoSuchRun(f"plan `{place.name}` was never run, so there is nothing to audit")
    receipts, anchors = outside_proofs(site, place, history.entries, anchor)
    pins = read_pins(site.ledger, history.run)
    with taken(site, place, Holder.current(str(place.path))):
        report = _audit(site, place, history, pins, chain, tell)
    report = replace(report, receipts=receipts, anchors=anchors)
    record_audit(site, report)
    return report


def outside_proofs(
    site: Site, place: PlanPlace, entries: Sequence[Entry], anchor: Path | None
) -> tuple[int, int | None]:
    """What was signed or said elsewhere must still be true of a chain that agrees with itself."""
    if anchor is None and not site.home.receipt_runs(place.record.id):
        return 0, None
    # What checks signatures takes longer to load than a short audit.
    from signoff.usecases.receipt import check_anchors, check_receipts  # noqa: PLC0415

    receipts = check_receipts(site, place, entries)
    if anchor is None:
        return len(receipts), None
    path = site.cwd / anchor
    anchors = check_anchors(place.record.id, entries, receipts, path, whole=True)
    return len(receipts), anchors


def _audit(
    site: Site,
    place: PlanPlace,
    history: PlanHistory,
    pins: Pins,
    chain: ChainReport,
    tell: Callable[[str], None],
) -> AuditReport:
    plan = pinned_plan(pins)
    workspace = open_pinned_workspace(site, place, pins, plan)
    workspace.put_forward()
    approved = workspace
    if pins.workspace != str(place.workspace):
        # What was approved and signed off is kept with the folder in which that happened.
        there = replace(place, workspace=Path(pins.workspace))
        approved = open_pinned_workspace(site, there, pins, plan)
    state = fold_run(history, plan)
    bench = Bench(
        pins.search_path,
        site.environ,
        mark=workspace_lock(place),
        enclosure=enclosure_of(site, place, pins.search_path),
    )
    redactor = redactor_of(site, plan, settings_from_pin(pins.settings))
    judge = open_judge(site, place, pins, workspace, bench, redactor)
    guards = Guards.of_plan(pins, approved, plan)
    lines = judge_again(state, judge, guards, state.produced, tell)
    now = workspace.snapshot()
    content = now.digest
    at, on = _sign_off(history, state)
    edits = edits_since(place, pins, plan, history)
    older = lacked_by(pins)
    waived = tuple(line.subject for line in lines if line.finding is Finding.WAIVED)
    waivers = waivers_of(history.entries, state.run, waived)
    return AuditReport(
        place=place,
        chain=chain,
        signed_off_at=at,
        signed_off_on=on,
        content=content,
        drift=_drift(approved, on, workspace, content),
        edited=edits.difference,
        lines=_with_waivers(lines, waivers),
        isolation=bench.enclosure.isolation,
        notes=(*edits.notes, *_byproduct_notes(judge, now), *([f"it {older}"] if older else ())),
        waivers=waivers,
        says_done=_says_done(history),
    )


def _byproduct_notes(judge: Judge, now: Snapshot) -> tuple[str, ...]:
    """What is to be known of by-products that no set-up command made for this audit."""
    if judge.rooms.setups is not None and judge.rooms.by_default:
        return ()
    note = judge.since_approval.needs_setup(now)
    if not note and settings_from_pin(judge.pins.settings).setup is not None:
        note = "judged with the workspace's by-products: a fresh set-up needs a clean room"
    return (note,) if note else ()


def _drift(
    approved: Workspace, signed_on: str | None, here: Workspace, content: str
) -> tuple[Change, ...]:
    """What is different here from what was signed off, be it in another folder."""
    if signed_on is None or signed_on == content:
        return ()
    if approved is here:
        return here.diff(signed_on, content)
    return changes_between(approved.manifest(signed_on), here.manifest(content))


def _with_waivers(lines: tuple[Line, ...], waivers: tuple[WaiverProof, ...]) -> tuple[Line, ...]:
    """Whoever went on without something is named, with their reason."""
    said = {
        w.subject: f"{w.by} went on without it{f': {w.note}' if w.note else ''}" for w in waivers
    }
    return tuple(replace(line, message=said.get(line.subject, line.message)) for line in lines)


def _sign_off(history: PlanHistory, state: State) -> tuple[str | None, str | None]:
    """The sign-off counts only if the gate, asked again about that content, is open."""
    finished = history.finished
    if finished is None or not _says_done(history):
        return None, None
    on: str = finished.data["snapshot"]
    return (None, None) if evaluate(state, on).gate is Gate.SHUT else (finished.at, on)


def _says_done(history: PlanHistory) -> bool:
    return history.finished is not None and history.finished.data["outcome"] == Outcome.DONE


def record_audit(site: Site, report: AuditReport) -> None:
    """An audit that cannot be written down is still an audit."""
    data = {
        "result": report.result,
        "snapshot": report.content,
        "drift": len(report.drift),
        "lines": {line.subject: line.finding for line in report.lines},
    }
    try:
        site.ledger.append(report.place.record.id, [Draft(Kind.AUDITED, data)])
    except SignoffError:
        return


@dataclass(frozen=True)
class Edits:
    """`difference` is what makes it another plan than the approved one; `notes` are only told."""

    difference: str = ""
    notes: tuple[str, ...] = ()


def edits_since(place: PlanPlace, pins: Pins, plan: Plan, history: PlanHistory) -> Edits:
    """Judge the configuration by what it means to this plan, and by what a person said to it."""
    watch = pin_watch(place, pins)
    edit = watch.edited()
    if edit is None:
        return Edits()
    config = read_config_text(watch.config_path)
    note = "" if config == pins.config_text else _why_harmless(config, place, pins, plan, history)
    if note:
        # As if it had been pinned like this: what is left is about the plan file.
        edit = replace(watch, config_text=config).edited()
    return Edits(edit[1] if edit is not None else "", (note,) if note else ())


def _why_harmless(
    config: str, place: PlanPlace, pins: Pins, plan: Plan, history: PlanHistory
) -> str:
    """Why an edited configuration does not speak against the sign-off; empty when it does."""
    if says_the_same(pins.config_text, config, {step.target for step in plan.steps}):
        return "signoff.toml was edited since approval; nothing that this plan uses differs"
    answers = _answered_with_retry(history)
    # It was noticed together with the plan file, as that was approved or as it is now.
    for digest in (pins.plan_digest, _plan_digest_now(place)):
        answer = answers.get(PinWatch.digest_of_edit(digest, config))
        if answer is not None:
            said = f"{answer.data['by']} answered retry to that ({answer.data['id']})"
            return f"signoff.toml is not what was approved, and {said}; the run went by the pins"
    return ""


def _plan_digest_now(place: PlanPlace) -> str | None:
    try:
        return plan_digest(place.read())
    except (PlanNotFound, PlanUnreadable):
        return None


def _answered_with_retry(history: PlanHistory) -> dict[str, Entry]:
    """The edits that a person saw during the run and said to go on after, by their digest."""
    noticed = ""
    asked: dict[str, str] = {}
    answered: dict[str, Entry] = {}
    for entry in history.entries:
        data = entry.data
        if entry.run != history.run_id:
            continue
        if entry.kind is Kind.PLAN_EDITED:
            noticed = data["digest"]
        elif entry.kind is Kind.ESCALATION_OPENED and data["cause"] == Cause.PLAN_EDITED:
            asked[data["id"]] = noticed
        elif entry.kind is Kind.ESCALATION_ANSWERED and data["choice"] == Choice.RETRY:
            answered[asked.get(data["id"], "")] = entry
    return answered


_WANTING = {Finding.BROKEN, Finding.UNKNOWN, Finding.UNPROVED}


def look_at_content(site: Site, report: StatusReport) -> StatusReport:
    """The same report, with the workspace compared with what was signed off."""
    place, signed_on = report.place, report.signed_off_on
    history = read_history(site.ledger, place.record.id)
    assert history.run is not None and signed_on is not None, "it is signed off"
    pins = read_pins(site.ledger, history.run)
    try:
        now = _digest_now(site, place, pins, pinned_plan(pins), signed_on)
    except SignoffError:
        return replace(report, content=Content(differs=None))
    if now == signed_on:
        return replace(report, content=Content(differs=False))
    return replace(report, content=Content(True, _judged_again(history, now)))


def _digest_now(site: Site, place: PlanPlace, pins: Pins, plan: Plan, signed_on: str) -> str | None:
    """Walks the workspace; None for another folder in which something signed is not even there."""
    if pins.workspace != str(place.workspace):
        there = replace(place, workspace=Path(pins.workspace))
        signed = open_pinned_workspace(site, there, pins, plan).manifest(signed_on)
        if not all(os.path.lexists(place.workspace / path) for path in signed):
            return None
    return open_pinned_workspace(site, place, pins, plan).digest_now().digest


def _judged_again(history: PlanHistory, content: str | None) -> str | None:
    """When an audit last found no contract wanting on this content, unless a later one did."""
    audits = [e for e in history.entries if e.kind is Kind.AUDITED]
    here = [e for e in audits if e.data["snapshot"] == content]
    return here[-1].at if here and not _WANTING & set(here[-1].data["lines"].values()) else None
