"""What questions and people's answers do to the state; only answers of people count."""

from __future__ import annotations

from dataclasses import replace

from signoff.domain.escalation import Cause, Choice
from signoff.domain.facts import QuestionAnswered, QuestionOpened, StepWaived
from signoff.domain.ledger import Entry
from signoff.gate.fold_session import adopt
from signoff.gate.record import Advice, Record, Vouched
from signoff.gate.state import State

# The person may have repaired what these are about.
_LOOK_AGAIN = frozenset(
    {
        Cause.CONTRACT,
        Cause.TAMPERED,
        Cause.REPEATED,
        Cause.AGENT_ANSWER,
        Cause.INFRASTRUCTURE,
        Cause.INFLUENCED,
    }
)


def opened(state: State, entry: Entry, fact: QuestionOpened) -> None:
    """The first question under an id stands."""
    if fact.id in state.questions:
        return
    state.questions[fact.id] = replace(fact, subject=entry.step)
    state.questions_asked += 1
    # In a session the claim that raised the question names it: a rewrite may move the step.
    if entry.step is not None and state.driven:
        state.record(entry.step).question = fact.id


def answered(state: State, entry: Entry, fact: QuestionAnswered) -> None:
    """Counts only for an open question, and only if it offered this choice."""
    asked = state.questions.get(fact.id)
    if asked is None or fact.choice not in asked.choices:
        return
    if fact.choice is Choice.ALLOW and not asked.allow:
        return
    del state.questions[fact.id]
    if fact.withdrawn:
        return  # nobody answered: it had become pointless
    state.aborted |= fact.choice is Choice.ABORT
    if state.driven:
        _answered_in_run(state, asked, fact)
    else:
        _answered_in_session(state, entry, asked, fact)


def _answered_in_run(state: State, asked: QuestionOpened, fact: QuestionAnswered) -> None:
    record = state.record(asked.subject) if asked.subject is not None else None
    if record is not None:
        record.question = None
    if fact.choice is Choice.REVISE:
        state.revised = True
    elif fact.choice is Choice.RETRY:
        _go_on(state, asked, record, fact.note.strip())
    elif record is None:
        return
    elif fact.choice is Choice.WAIVE:
        record.waivers.add(fact.id)
    elif fact.choice is Choice.ACCEPT and _is_for_a_person(state, asked.subject):
        record.vouched = Vouched(fact.by, asked.snapshot)
    elif fact.choice is Choice.ALLOW:
        # From the question itself: what was not asked about is not allowed either.
        record.allowed = (*record.allowed, *asked.allow)
        _go_on(state, asked, record, "")


def _answered_in_session(
    state: State, entry: Entry, asked: QuestionOpened, fact: QuestionAnswered
) -> None:
    session = state.session
    session.ended = ""
    session.forget_refusals()
    if asked.cause is Cause.RATCHET:
        waiting, session.pending = session.pending, None
        if waiting is not None and waiting.question == fact.id and fact.choice is Choice.WAIVE:
            adopt(state, waiting, entry.seq)
        return
    # By the question, not by its number: a rewrite may have moved the step meanwhile.
    record = next((r for r in state.records.values() if r.question == fact.id), None)
    if record is None:
        return
    record.question = None
    if fact.choice is Choice.WAIVE:
        record.waived = True
    else:
        record.claim.send_back(entry.seq)


def step_waived(state: State, entry: Entry, fact: StepWaived) -> None:
    """Counts only when a person answered `waive` to a question about this very step."""
    record = state.records.get(entry.step or "")
    if record is not None and fact.escalation in record.waivers:
        record.waived = True


def _is_for_a_person(state: State, subject: str | None) -> bool:
    """Only a postcondition without a contract: where one can be judged, nobody's word counts."""
    posts = state.plan.postconditions if state.plan is not None else ()
    return any(post.id == subject and post.contract is None for post in posts)


def _go_on(state: State, asked: QuestionOpened, record: Record | None, note: str) -> None:
    if asked.cause is Cause.BUDGET:
        state.budget_grants += 1
    if record is None:
        return
    if note:
        said = record.answer_reason if asked.cause is Cause.AGENT_ANSWER else ""
        record.advice = (*record.advice, Advice(said, note))
    record.forgive()
    if asked.cause in _LOOK_AGAIN and record.attempts:
        # The person may have repaired it: judge before an agent could overwrite that.
        record.unjudged, record.looking_again = record.attempts, True
    elif asked.cause is Cause.INFRASTRUCTURE:
        record.before = record.held_before = None
    elif asked.cause is Cause.HANDOFF:
        record.handoff = ()
    elif asked.cause is Cause.HUMAN:
        record.unjudged, record.in_flight = record.attempts, None
    elif asked.cause is Cause.HELD_BEFORE:
        record.held_before_accepted = True
    elif asked.cause is Cause.POSTCONDITION:
        record.latest = None
