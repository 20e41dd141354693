"""What an agent's own acts do to the state: plans, claims, calls, final answers, sign-offs.

Whoever works on after a sign-off works on what nobody signed: only a new one counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from signoff.domain.facts import (
    AnswerAccepted,
    AnswerRefused,
    NoteKept,
    PlanWritten,
    RolledBack,
    SessionDelegated,
    SessionEnded,
    SessionSigned,
    SessionStarted,
    StepClaimed,
    StepStrayed,
)
from signoff.domain.ledger import Entry
from signoff.domain.plan import Author, Budget, Contract, Cost, Postcondition, Step
from signoff.domain.session import ClaimStatus, ToolCall, normal
from signoff.domain.task import AskedCondition
from signoff.gate.ratchet import carried_from
from signoff.gate.record import Claim, DerivedPlan, Record, Rewrite, Share, Signed
from signoff.gate.state import Schedule, State
from signoff.planfile.parse import parse

MOST_TOUCHED = 2_000  # files that are kept in mind; the ledger has them all


def started(state: State, _entry: Entry, fact: SessionStarted) -> None:
    """Taken up again: the count of refusals begins anew, and nothing is over."""
    session = state.session
    session.started = session.started or fact
    session.ended, session.accepted = "", False
    session.signed = None
    session.forget_refusals()


def plan_written(state: State, entry: Entry, fact: PlanWritten) -> None:
    """A plan that waits for a person comes into force when they say so."""
    if state.author is Author.PERSON:
        return
    if fact.question:
        state.session.pending = fact
    else:
        adopt(state, fact, entry.seq)


def adopt(state: State, fact: PlanWritten, since: int) -> None:
    """A written plan comes into force; what it took over keeps its history.

    What was derived from a person's words stays due beside a plan that the agent writes.
    """
    session, old, earlier = state.session, state.plan, _task_records(state)
    plan = parse(fact.text).plan
    session.accepted, session.signed = False, None
    if fact.derived and fact.task is not None:
        state.task = DerivedPlan(plan, fact)
        if old is not None and state.author is Author.AGENT:
            _put_beside(state, earlier, since)
            return
    elif state.author is Author.DERIVED and state.task is not None:
        old = None  # the agent's first plan of its own: it rewrites nothing
    if old is not None and (fact.dropped or not fact.derived):
        rewrite = Rewrite(since, fact.reason, fact.dropped, fact.weakened, fact.question)
        session.rewrites.append(rewrite)
    same = carried_from(old, plan) if old is not None else {}
    kept = {s.id: state.records.get(same.get(s.id, "")) for s in plan.subjects}
    state.records = {i: found or Record(claim=Claim(since=since)) for i, found in kept.items()}
    state.author = Author.DERIVED if fact.derived else Author.AGENT
    state.plan, state.schedule, session.declared = plan, Schedule(plan), fact.declared
    if state.task is not None and state.author is Author.AGENT:
        _put_beside(state, earlier, since)
    elif state.task is not None:
        state.task_files = _files_of(state.task)
        checked = (s.id for s in plan.subjects if s.contract is not None)
        state.task_checks = frozenset(checked) - state.task_files.keys()


_Said = tuple[str, Contract | None]


def _said(subject: Step | Postcondition) -> _Said:
    return normal(subject.wording), subject.contract


def _task_records(state: State) -> dict[_Said, Record]:
    """What is known about each part of the derived plan in force, by what the part says."""
    derived = state.author is Author.DERIVED and state.plan is not None
    parts = state.plan.subjects if derived and state.plan is not None else state.beside
    return {_said(part): state.records[part.id] for part in parts}


def _files_of(task: DerivedPlan) -> dict[str, str]:
    return {i: said.touches[0] for i, said in task.fact.declared.items() if said.touches}


def _put_beside(state: State, earlier: dict[_Said, Record], since: int) -> None:
    """Files that a person asked for, and checks; the agent's own items are the agent's."""
    task = state.task
    assert task is not None and task.fact.task is not None
    files, asked = _files_of(task), frozenset(task.fact.task.asked)
    due = [
        s
        for s in task.plan.subjects
        if not isinstance(s, Step) or s.id in asked or (s.contract and s.id not in files)
    ]
    made = {s.id: AskedCondition(n, s.wording, s.contract) for n, s in enumerate(due, 1)}
    state.beside = tuple(made.values())
    state.task_files = {c.id: files[i] for i, c in made.items() if i in files}
    checked = (c.id for c in state.beside if c.contract is not None)
    state.task_checks = frozenset(checked) - state.task_files.keys()
    for condition in state.beside:
        found = earlier.get(_said(condition))
        state.records[condition.id] = found or Record(claim=Claim(since=since))


def step_claimed(state: State, entry: Entry, fact: StepClaimed) -> None:
    """A claim proves nothing; accepted evidence stands behind it, or a contract decides."""
    session, record = state.session, state.records.get(entry.step or "")
    if record is None or (fact.status is ClaimStatus.DROPPED and not _may_go(state, entry)):
        return
    claim, status = record.claim, fact.status
    session.accepted, session.signed = False, None
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


def _may_go(state: State, entry: Entry) -> bool:
    """Only files and items of a derived plan can be dropped; a check stays, whoever says what."""
    derived = state.author is Author.DERIVED or entry.step in state.task_files
    return derived and entry.step not in state.task_checks


def tool_called(state: State, entry: Entry, call: ToolCall) -> None:
    """The first call with an id is the one that evidence cites."""
    state.session.calls.setdefault(call.id, (entry.seq, call))
    state.session.signed = None
    _touch(state, entry, (*call.writes, *call.touched))


def rolled_back(state: State, entry: Entry, fact: RolledBack) -> None:
    """Files are as they were; what was signed stays signed, of the content it was signed on."""
    _touch(state, entry, fact.replaced)


def _touch(state: State, entry: Entry, paths: Iterable[str]) -> None:
    session, changed = state.session, dict.fromkeys(paths)
    if not changed:
        return
    session.mutated, session.changed_at = True, entry.seq
    for path in changed:
        session.touched.pop(path, None)
    session.touched |= changed
    for path in list(session.touched)[:-MOST_TOUCHED]:
        del session.touched[path]


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


def used(state: State, _entry: Entry, fact: Cost) -> None:
    """What a turn used."""
    state.spent += Cost(int(fact.tokens), fact.usd)


def answer_refused(state: State, _entry: Entry, fact: AnswerRefused) -> None:
    """Equal refusals in a row are counted, however the answer was worded."""
    session = state.session
    session.repeated = session.repeated + 1 if fact.missing_digest == session.refusal else 1
    session.refusal = fact.missing_digest
    session.refusals += 1
    session.refused_lately += 1
    session.accepted, session.signed = False, None


def answer_accepted(state: State, _entry: Entry, fact: AnswerAccepted) -> None:
    """Provisionally: the agent may still be alive."""
    state.session.accepted = True
    state.session.signed = None
    state.session.forget_refusals()
    state.session.dropped = fact.dropped


def ended(state: State, _entry: Entry, fact: SessionEnded) -> None:
    """It ended without an accepted answer."""
    state.session.ended = fact.how


def signed(state: State, entry: Entry, fact: SessionSigned) -> None:
    """Counts only when every contract was kept on that content with the agent gone."""
    session = state.session
    session.signed, session.silent_urls = None, frozenset(fact.silent_urls)
    for subject in state.subjects:
        record = state.record(subject.id)
        if subject.contract is None or record.given_up:
            continue
        latest = record.latest
        if latest is None or latest.provisional or not latest.kept:
            return
        if latest.snapshot != fact.snapshot:
            return
    if state.plan is not None and fact.open and state.provable:
        accepted = fact.self_set_accepted
        session.signed = Signed(entry.seq, fact.snapshot, fact.self_set, accepted)
