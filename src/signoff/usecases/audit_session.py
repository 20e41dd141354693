"""`audit SESSION`: an agent's own plan judged again; that the agent chose its checks is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from signoff.agents.session import PlanSession
from signoff.domain.plan import Plan, Postcondition, Step
from signoff.domain.snapshot import Change
from signoff.errors import NoSuchRun, StorageFailed
from signoff.gate.state import State
from signoff.gate.subjects import Standing, StepState
from signoff.storage.records import Holder
from signoff.usecases.audit import (
    AuditReport,
    AuditResult,
    Line,
    Tell,
    outside_proofs,
    record_audit,
    why_not_rerun,
)
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import read_pins, trusted_chain
from signoff.usecases.open_session import open_session
from signoff.usecases.openwork import enclosure_of, taken
from signoff.usecases.sessions import SessionRecord, find_session_record, read_session_record
from signoff.usecases.sign_offs import waivers_of
from signoff.usecases.workspaces import open_pinned_workspace


def audit_session(
    harness: Harness, place: PlanLocation, tell: Tell = lambda _: None, anchor: Path | None = None
) -> AuditReport:
    """Check the chain, judge every check again, and compare what evidence rests on with now."""
    chain = trusted_chain(harness.ledger, place.id)
    record = find_session_record(harness, place.id)
    if record.state.plan is None:
        raise NoSuchRun(f"`{record.id}` has no plan, so there is nothing to audit")
    entries = tuple(harness.ledger.entries(record.id))
    receipts, anchors = outside_proofs(harness, place, entries, anchor)
    pins = read_pins(harness.ledger, record.started)
    with taken(harness, place, Holder.current(record.id)):
        session = open_session(
            harness, record.workspace, author="signoff audit", session_id=record.id
        )
        lines = tuple(_lines(harness, session, record, tell))
        workspace = open_pinned_workspace(harness, place, pins, Plan(title="", steps=()))
        content = workspace.snapshot().digest
    signed = record.state.session.signed
    drift: tuple[Change, ...] = ()
    notes = ["self-set: the agent chose these steps and checks itself"]
    if signed is not None and signed.snapshot != content:
        try:
            drift = workspace.diff(signed.snapshot, content)
        except StorageFailed:
            notes.append("files changed since the sign-off; which ones was not kept")
    waived = tuple(i for i, step in record.state.records.items() if step.waived)
    report = AuditReport(
        place=place,
        chain=chain,
        signed_off_at=next((e.at for e in entries if signed and e.seq == signed.seq), None),
        signed_off_on=signed.snapshot if signed is not None else None,
        content=content,
        drift=drift,
        edited="",
        lines=lines,
        isolation=enclosure_of(harness, place, pins.search_path).isolation,
        receipts=receipts,
        anchors=anchors,
        notes=tuple(notes),
        waivers=waivers_of(entries, None, waived),
        self_set=True,
        self_set_counts=signed is not None and signed.accepted,
    )
    record_audit(harness, report)
    return report


def _lines(
    harness: Harness, session: PlanSession, record: SessionRecord, tell: Tell
) -> Iterator[Line]:
    """Lines for the plan and for what the task asks beside it; then for every sub-agent."""
    state, gate = record.state, session.gate()
    for subject, standing in zip(state.subjects, gate.subjects, strict=True):
        yield _line(session, state, subject, standing, tell)
    for child in session.children():
        theirs = read_session_record(harness, child.id)
        if theirs is None or theirs.state.plan is None:
            yield Line(child.id, "sub-agent", AuditResult.UNPROVED, "it has no plan")
            continue
        for line in _lines(harness, child, theirs, tell):
            yield Line(f"{child.id}:{line.subject}", line.title, line.finding, line.message)


def _line(
    session: PlanSession,
    state: State,
    subject: Step | Postcondition,
    standing: Standing,
    tell: Tell,
) -> Line:
    title, record = standing.title, state.record(subject.id)
    if record.waived or record.let_go:
        who = "a person" if record.waived else "the user's policy"
        return Line(subject.id, title, AuditResult.WAIVED, f"{who} went on without it")
    if subject.contract is None:
        if standing.proved:
            said = f"the agent cited {record.claim.evidence}; it is as it was, nothing was judged"
            return Line(subject.id, title, AuditResult.CITED, said)
        # Evidence about older content proves nothing now, and not the contrary either.
        finding = AuditResult.UNKNOWN if standing.state is StepState.DONE else AuditResult.UNPROVED
        return Line(subject.id, title, finding, standing.why)
    if record.latest is None or not record.latest.kept or record.latest.provisional:
        return Line(subject.id, title, AuditResult.UNPROVED, "its check was not kept at a sign-off")
    if subject.contract.judged_once:
        return Line(subject.id, title, AuditResult.NOT_RERUN, why_not_rerun(subject.contract))
    tell(subject.id)
    verdict = session.judged(subject.id, subject.contract, provisional=False)
    return Line(subject.id, title, AuditResult(verdict.result.value), verdict.message)
