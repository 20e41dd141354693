"""`audit`: trusts no agent: chain, pins, then every contract on the workspace as it is.

audit_plan → trusted_history → approved_by → open_work → judge_again → AuditReport
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import Cause, Choice, Draft, Entry, Kind
from signoff.domain.plan import Contract, Postcondition, Step
from signoff.domain.receipt import WaiverProof
from signoff.domain.snapshot import Change, Snapshot
from signoff.domain.verdict import Isolation, Phase, Result
from signoff.errors import NoSuchRun, PlanNotFound, PlanUnreadable, SignoffError
from signoff.gate.beside import judged_beside
from signoff.gate.gate import Gate, evaluate
from signoff.gate.state import State
from signoff.gate.subjects import Standing, StepState
from signoff.orchestrator.openrun import LaneMaker
from signoff.orchestrator.rooms import judge_side_by_side
from signoff.settings.loading import read_config_text, says_the_same
from signoff.storage.records import ChainReport, Holder
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import ApprovedPlan, approved_by, read_history, trusted_history
from signoff.usecases.lanes import lane_maker, lanes_need
from signoff.usecases.openwork import OpenWork, open_work, pin_watch, taken
from signoff.usecases.pinning import lacked_by
from signoff.usecases.sign_offs import judged_by, waivers_of
from signoff.usecases.status import ContentStatus, StatusReport
from signoff.usecases.workspaces import approved_workspace
from signoff.verification.guards import Guards, PinWatch, Produced, case_of
from signoff.verification.judge import Judge
from signoff.workspace.records import changes_between

Tell = Callable[[str], None]


class AuditResult(StrEnum):
    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    NOT_RERUN = "not re-run"
    WAIVED = "waived"
    ACCEPTED = "accepted"
    UNPROVED = "unproved"
    CITED = "cited"  # an agent's evidence, looked up; nothing was judged


# What keeps a plan from being called done on this content.
WANTING = frozenset({AuditResult.BROKEN, AuditResult.UNKNOWN, AuditResult.UNPROVED})


class Line(Struct, frozen=True):
    """One step or postcondition, judged again."""

    subject: str
    title: str
    finding: AuditResult
    message: str


class AuditReport(Struct, frozen=True):
    place: PlanLocation
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
        """Result of the contracts alone, without asking if plan file and configuration changed."""
        findings = {line.finding for line in self.lines}
        if AuditResult.UNKNOWN in findings:
            return Result.UNKNOWN
        bad = findings & {AuditResult.BROKEN, AuditResult.UNPROVED}
        return Result.KEPT if self.signed_off_at is not None and not bad else Result.BROKEN

    @property
    def waived(self) -> tuple[str, ...]:
        return tuple(line.subject for line in self.lines if line.finding is AuditResult.WAIVED)

    @property
    def only_unsigned(self) -> bool:
        """True when nothing is broken, and the answer is no because nothing was signed off."""
        found = {line.finding for line in self.lines}
        sound = not self.edited and not found & {AuditResult.BROKEN, AuditResult.UNKNOWN}
        return self.signed_off_at is None and not self.says_done and sound


def audit_plan(
    harness: Harness,
    place: PlanLocation,
    tell: Tell = lambda _: None,
    anchor: Path | None = None,
    jobs: int = 1,
) -> AuditReport:
    """Check the chain, then judge every contract again; nothing recorded is taken for granted.

    With `jobs` so many contracts are judged side by side, in rooms beside the workspace.
    """
    chain, history = trusted_history(harness.ledger, place.id)
    if history.run is None:
        raise NoSuchRun(f"plan `{place.name}` was never run, so there is nothing to audit")
    receipts, anchors = outside_proofs(harness, place, history.entries, anchor)
    approved = approved_by(harness.ledger, place, history, history.run)
    with taken(harness, place, Holder.current(str(place.path))):
        work = open_work(harness, approved)
        rooms = lane_maker(harness, work, jobs) if jobs > 1 and not lanes_need(work) else None
        report = _audit(harness, work, chain, tell, rooms)
        if not history.running:
            work.judge.rooms.give_back()
            if rooms is not None:
                rooms.give_back()
    report = replace(report, receipts=receipts, anchors=anchors)
    record_audit(harness, report)
    return report


def outside_proofs(
    harness: Harness, place: PlanLocation, entries: Sequence[Entry], anchor: Path | None
) -> tuple[int, int | None]:
    """Check that receipts and anchors made elsewhere still agree with a sound chain."""
    if anchor is None and not harness.home.receipt_runs(place.id):
        return 0, None
    # What checks signatures takes longer to load than a short audit.
    from signoff.usecases.receipt import check_anchors, check_receipts  # noqa: PLC0415

    receipts = check_receipts(harness, place, entries)
    if anchor is None:
        return len(receipts), None
    path = harness.cwd / anchor
    anchors = check_anchors(place.id, entries, receipts, path, whole=True)
    return len(receipts), anchors


def _audit(
    harness: Harness, work: OpenWork, chain: ChainReport, tell: Tell, rooms: LaneMaker | None
) -> AuditReport:
    approved, here = work.approved, work.workspace
    history, pins, state = approved.history, approved.pins, approved.state
    there, guards = here, work.guards
    if elsewhere := approved.where_approved():
        # What was approved and signed off is kept with the folder in which that happened.
        there = approved_workspace(harness, elsewhere)
        guards = Guards.of_plan(pins, there, approved.plan)
    lines = judge_again(state, work.judge, guards, state.produced, tell, rooms)
    now = here.snapshot()
    (edited, notes), older = _edits_since(approved), lacked_by(pins)
    waived = tuple(line.subject for line in lines if line.finding is AuditResult.WAIVED)
    waivers = waivers_of(history.entries, state.run, waived)
    said = {w.subject: f"{w.by} went on without it{w.note and f': {w.note}'}" for w in waivers}
    # The sign-off counts only if the gate, asked again about that content, is open.
    signed = history.finished if history.signed_off else None
    if signed is not None and evaluate(state, signed.data["snapshot"]).gate is Gate.SHUT:
        signed = None
    drift: tuple[Change, ...] = ()
    if signed is not None and signed.data["snapshot"] != now.digest:
        # Different from what was signed off, be it in another folder.
        drift = changes_between(there.manifest(signed.data["snapshot"]), here.manifest(now.digest))
    return AuditReport(
        place=approved.place,
        chain=chain,
        signed_off_at=signed.at if signed else None,
        signed_off_on=signed.data["snapshot"] if signed else None,
        content=now.digest,
        drift=drift,
        edited=edited,
        lines=tuple(replace(ln, message=said.get(ln.subject, ln.message)) for ln in lines),
        isolation=work.enclosure.isolation,
        notes=(
            *notes,
            *_byproduct_notes(work, now),
            *([f"it {older}"] if older else ()),
            *(
                f"judged by worker `{by.name}`, key {by.key_id[:16]}"
                for by in judged_by(history.entries, state.run)
            ),
        ),
        waivers=waivers,
        says_done=history.signed_off,
    )


def _byproduct_notes(work: OpenWork, now: Snapshot) -> tuple[str, ...]:
    """Notes about by-products that no set-up command made for this audit."""
    judge = work.judge
    if judge.rooms.setups is not None and judge.rooms.by_default:
        return ()
    note = judge.since_approval.needs_setup(now)
    if not note and work.approved.settings.setup is not None:
        note = "judged with the workspace's by-products: a fresh set-up needs a clean room"
    return (note,) if note else ()


def record_audit(harness: Harness, report: AuditReport) -> None:
    """Record the audit; one that cannot be written down is still an audit."""
    data = {
        "result": report.result,
        "snapshot": report.content,
        "drift": len(report.drift),
        "lines": {line.subject: line.finding for line in report.lines},
    }
    try:
        harness.ledger.append(report.place.id, [Draft(Kind.AUDITED, data)])
    except SignoffError:
        return


def judge_again(
    state: State,
    judge: Judge,
    guards: Guards,
    produced: Produced,
    tell: Tell = lambda _: None,
    rooms: LaneMaker | None = None,
) -> tuple[Line, ...]:
    """Judge every step and postcondition once more, on the content that lies there now."""
    gate = evaluate(state, state.snapshot)
    steps, posts = state.schedule.steps, state.schedule.plan.postconditions
    subjects: tuple[Step | Postcondition, ...] = (*steps, *posts)
    standings = tuple(zip(subjects, (*gate.steps, *gate.postconditions), strict=True))
    cases = {
        subject.id: case_of(state, guards, subject, Phase.AUDIT, produced=produced)
        for subject, standing in standings
        if _not_judged(subject, standing) is None
    }
    beside = [cases[s.id] for s in subjects if s.id in cases and judged_beside(s, state)]
    ahead = judge_side_by_side(rooms, judge, beside) if rooms is not None else {}
    lines: list[Line] = []
    for subject, standing in standings:
        said = _not_judged(subject, standing)
        if said is None:
            tell(subject.id)
            verdict = ahead.get(subject.id) or judge.judge(cases[subject.id])
            said = AuditResult(verdict.result.value), verdict.message
        lines.append(Line(subject.id, standing.title, *said))
    return tuple(lines)


def _not_judged(
    subject: Step | Postcondition, standing: Standing
) -> tuple[AuditResult, str] | None:
    """A waived or unproved subject is never called kept, whatever its contract says now."""
    if standing.state is StepState.WAIVED:
        return AuditResult.WAIVED, "a person went on without it"
    if standing.state is StepState.ACCEPTED:
        said = f"{standing.accepted_by} said so of what was signed off; nothing was judged"
        return AuditResult.ACCEPTED, said
    if subject.contract is None:
        return AuditResult.UNPROVED, "it has no contract"
    if standing.state is not StepState.DONE:
        return AuditResult.UNPROVED, f"it is {standing.state} in the ledger"
    if subject.contract.judged_once:
        return AuditResult.NOT_RERUN, why_not_rerun(subject.contract)
    return None


def why_not_rerun(contract: Contract) -> str:
    """The reason why a contract that may run only once is not run again for an audit."""
    return f"judged once (effects: {contract.effects}, holds: {contract.holds})"


def _edits_since(approved: ApprovedPlan) -> tuple[str, tuple[str, ...]]:
    """Edits that make plan file or signoff.toml another than the approved one, and mere notes.

    The configuration is judged by what it means to this plan, and by what a person said to it.
    """
    watch = pin_watch(approved.place, approved.pins)
    edit = watch.edited()
    if edit is None:
        return "", ()
    config = read_config_text(watch.config_path)
    note = "" if config == approved.pins.config_text else _why_harmless(config, approved)
    if note:
        # As if it had been pinned like this: what is left is about the plan file.
        edit = replace(watch, config_text=config).edited()
    return edit[1] if edit is not None else "", (note,) if note else ()


def _why_harmless(config: str, approved: ApprovedPlan) -> str:
    """The reason why an edited configuration does no harm to the sign-off; empty when it does."""
    pins = approved.pins
    if says_the_same(pins.config_text, config, {*approved.plan.roles}):
        return "signoff.toml was edited since approval; nothing that this plan uses differs"
    try:
        written = approved.place.digest()
    except (PlanNotFound, PlanUnreadable):
        written = None
    # The edits that a person saw during the run and said to go on after, by their digest.
    noticed, asked, answers = "", dict[str, str](), dict[str, Entry]()
    for entry in approved.history.entries:
        data = entry.data
        if entry.run != approved.history.run_id:
            continue
        if entry.kind is Kind.PLAN_EDITED:
            noticed = data["digest"]
        elif entry.kind is Kind.ESCALATION_OPENED and data["cause"] == Cause.PLAN_EDITED:
            asked[data["id"]] = noticed
        elif entry.kind is Kind.ESCALATION_ANSWERED and data["choice"] == Choice.RETRY:
            answers[asked.get(data["id"], "")] = entry
    # It was noticed together with the plan file, as that was approved or as it is now.
    for digest in (pins.plan_digest, written):
        answer = answers.get(PinWatch.digest_of_edit(digest, config))
        if answer is not None:
            said = f"{answer.data['by']} answered retry to that ({answer.data['id']})"
            return f"signoff.toml is not what was approved, and {said}; the run went by the pins"
    return ""


def look_at_content(harness: Harness, report: StatusReport) -> StatusReport:
    """Status with the workspace compared with what was signed off."""
    place, signed_on = report.place, report.signed_off_on
    history = read_history(harness.ledger, place.id)
    assert history.run is not None and signed_on is not None, "it is signed off"
    approved = approved_by(harness.ledger, place, history, history.run)
    try:
        elsewhere = approved.where_approved()
        signed = approved_workspace(harness, elsewhere).manifest(signed_on) if elsewhere else {}
        # In another folder something that was signed may not even be there: no need to read it.
        all_there = all(os.path.lexists(place.workspace / path) for path in signed)
        now = approved_workspace(harness, approved).digest_now().digest if all_there else None
    except SignoffError:
        return replace(report, content=ContentStatus(differs=None))
    if now == signed_on:
        return replace(report, content=ContentStatus(differs=False))
    # When an audit last found no contract wanting on this content, unless a later one did.
    audits = [e for e in history.entries if e.kind is Kind.AUDITED and e.data["snapshot"] == now]
    kept = bool(audits) and WANTING.isdisjoint(audits[-1].data["lines"].values())
    return replace(report, content=ContentStatus(True, audits[-1].at if kept else None))
