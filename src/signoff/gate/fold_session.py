"""What an agent's own acts do to the state: plans, claims, calls, final answers, sign-offs."""

from __future__ import annotations

from signoff.domain.facts import (
    AnswerAccepted,
    AnswerRefused,
    NoteKept,
    PlanWritten,
    SessionDelegated,
    SessionEnded,
    SessionSigned,
    SessionStarted,
    StepClaimed,
    StepStrayed,
    Used,
)
from signoff.domain.ledger import Entry
from signoff.domain.plan import Author, Budget, Cost
from signoff.domain.session import ClaimStatus, ToolCall
from signoff.gate.ratchet import carried_from
from signoff.gate.record import Claim, Record, Rewrite, Share, Signed
from signoff.gate.schedule import Schedule
from signoff.gate.state import State
from signoff.planfile.parse import parse


def started(state: State, _entry: Entry, fact: SessionStarted) -> None:
    """Taken up again: the count of refusals begins anew, and nothing is over."""
    session = state.session
    session.started = session.started or fact
    session.ended, session.accepted = "", False
    _works_on(state)
    session.forget_refusals()


def _works_on(state: State) -> None:
    """Whoever works on after a sign-off works on what nobody signed; only a new one counts."""
    state.session.signed = None


def plan_written(state: State, entry: Entry, fact: PlanWritten) -> None:
    """A plan that waits for a person comes into force when they say so."""
    if state.author is Author.PERSON:
        return
    if fact.question:
        state.session.pending = fact
    else:
        adopt(state, fact, entry.seq)


def adopt(state: State, fact: PlanWritten, since: int) -> None:
    """A written plan comes into force; what it took over keeps its history."""
    session, old = state.session, state.plan
    plan = parse(fact.text).plan
    if old is not None and (fact.dropped or not fact.derived):
        rewrite = Rewrite(since, fact.reason, fact.dropped, fact.weakened, fact.question)
        session.rewrites.append(rewrite)
    same = carried_from(old, plan) if old is not None else {}
    kept = {s.id: state.records.get(same.get(s.id, "")) for s in plan.subjects}
    state.records = {i: found or Record(claim=Claim(since=since)) for i, found in kept.items()}
    state.author = Author.DERIVED if fact.derived else Author.AGENT
    state.plan, state.schedule, session.declared = plan, Schedule(plan), fact.declared
    session.accepted, session.signed = False, None


def step_claimed(state: State, entry: Entry, fact: StepClaimed) -> None:
    """A claim proves nothing; accepted evidence stands behind it, or a contract decides."""
    session, record = state.session, state.records.get(entry.step or "")
    if record is None:
        return
    claim, status = record.claim, fact.status
    session.accepted = False
    _works_on(state)
    if fact.ruling is not None:
        claim.ruling = f"{fact.ruling.model}: {fact.ruling.reason}"
        if not fact.ruling.accepted:
            return  # the step stands as it stood
    reopens = claim.status is ClaimStatus.DONE and status is not ClaimStatus.DONE
    if reopens:
        claim.reopened += 1
        claim.basis = None
    if reopens or (status is ClaimStatus.IN_PROGRESS and claim.status is not status):
        claim.begun = entry.seq
    claim.status = status
    claim.evidence = fact.evidence or claim.evidence
    claim.notes = fact.notes or claim.notes
    record.question, record.let_go = fact.question, fact.let_go
    if status is ClaimStatus.DONE and fact.basis is not None:
        claim.basis = fact.basis
        session.silent_urls -= set(fact.basis.urls)  # just asked, and they answered


def tool_called(state: State, entry: Entry, call: ToolCall) -> None:
    """The first call with an id is the one that evidence cites."""
    state.session.calls.setdefault(call.id, (entry.seq, call))
    _works_on(state)
    state.session.mutated |= bool(call.writes or call.touched)


def note_kept(state: State, entry: Entry, fact: NoteKept) -> None:
    """The newest text under a key counts."""
    state.session.notes[fact.key] = (entry.seq, fact.text)


def step_strayed(state: State, _entry: Entry, fact: StepStrayed) -> None:
    """Files changed that the step in progress does not declare."""
    state.session.strayed.update(dict.fromkeys(fact.paths))
    state.session.mutated = True


def delegated(state: State, entry: Entry, fact: SessionDelegated) -> None:
    """The step is the child's from now on."""
    step = entry.step or ""
    state.session.shares[fact.child] = Share(step, Budget(fact.tokens, fact.usd))
    record = state.records.get(step)
    if record is not None:
        record.claim.children = (*record.claim.children, fact.child)


def used(state: State, _entry: Entry, fact: Used) -> None:
    """What a turn used."""
    state.spent += Cost(int(fact.tokens), fact.usd)


def answer_refused(state: State, _entry: Entry, fact: AnswerRefused) -> None:
    """Equal refusals in a row are counted, however the answer was worded."""
    session = state.session
    session.repeated = session.repeated + 1 if fact.missing_digest == session.refusal else 1
    session.refusal = fact.missing_digest
    session.refusals += 1
    session.refused_lately += 1
    session.accepted = False
    _works_on(state)


def answer_accepted(state: State, _entry: Entry, fact: AnswerAccepted) -> None:
    """Provisionally: the agent may still be alive."""
    state.session.accepted = True
    _works_on(state)
    state.session.forget_refusals()
    state.session.dropped = fact.dropped


def ended(state: State, _entry: Entry, fact: SessionEnded) -> None:
    """It ended without an accepted answer."""
    state.session.ended = fact.how


def signed(state: State, entry: Entry, fact: SessionSigned) -> None:
    """Counts only when every contract was kept on that content with the agent gone."""
    session = state.session
    session.signed, session.silent_urls = None, frozenset(fact.silent_urls)
    for subject in state.plan.subjects if state.plan is not None else ():
        record = state.record(subject.id)
        if subject.contract is None or record.waived or record.let_go:
            continue
        latest = record.latest
        if latest is None or latest.provisional or not latest.kept:
            return
        if latest.snapshot != fact.snapshot:
            return
    if state.plan is not None and fact.open:
        accepted = fact.self_set_accepted
        session.signed = Signed(entry.seq, fact.snapshot, fact.self_set, accepted)
