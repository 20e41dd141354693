"""The one fold: ledger entries in, one after the other; where a plan stands out.

What drivers and agents do is in `fold_run` and `fold_session`; here is what people do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from signoff.domain import facts
from signoff.domain.ledger import Cause, Choice, Entry, Kind
from signoff.domain.plan import Cost
from signoff.domain.second_look import JudgeCalibrated, OpinionGiven, Strength
from signoff.domain.session import ToolCall
from signoff.gate import fold_run, fold_session
from signoff.gate.record import Judged, Record, Vouched
from signoff.gate.state import State


def fold(state: State, entries: Iterable[Entry]) -> State:
    """Fold entries, each once; returns the state. Entries of other runs only add to the history."""
    for entry in entries:
        if entry.seq <= state.seq:
            continue
        state.seq = entry.seq
        if (entry.run or "") != state.run:
            fold_run.apply_other_run(state, entry)
        elif (handler := _HANDLERS.get(entry.kind)) is not None:
            kind, take = handler
            take(state, entry, facts.read_fact(kind, entry.data))
    return state


# The person may have repaired what these are about.
_LOOK_AGAIN = frozenset(
    {
        Cause.CONTRACT,
        Cause.TAMPERED,
        Cause.REPEATED,
        Cause.AGENT_ANSWER,
        Cause.INFRASTRUCTURE,
        Cause.INFLUENCED,
        Cause.OBSTACLE,
    }
)


def _question_opened(state: State, entry: Entry, fact: facts.QuestionOpened) -> None:
    """The first question under an id stands."""
    if fact.id in state.questions:
        return
    state.questions[fact.id] = replace(fact, subject=entry.step)
    state.questions_asked += 1
    # In a session the claim that raised the question names it: a rewrite may move the step.
    if entry.step is not None and state.driven:
        record = state.record(entry.step)
        record.question = fact.id
        record.parks += fact.until is not None
        record.parked_s += fact.parked_s


def _question_answered(state: State, entry: Entry, fact: facts.QuestionAnswered) -> None:
    """Counts only for an open question, and only if it offered this choice."""
    asked = state.questions.get(fact.id)
    if asked is None or fact.choice not in asked.choices:
        return
    if fact.choice is Choice.ALLOW and not asked.allow:
        return
    del state.questions[fact.id]
    if fact.withdrawn:
        # Nobody answered: it had become pointless, or the time had come that it waited for.
        if asked.until is not None and asked.subject is not None:
            state.record(asked.subject).question = None
        return
    state.aborted |= fact.choice is Choice.ABORT
    if state.driven:
        _answered_in_run(state, asked, fact)
    else:
        _answered_in_session(state, entry, asked, fact)


def _answered_in_run(
    state: State, asked: facts.QuestionOpened, fact: facts.QuestionAnswered
) -> None:
    record = state.record(asked.subject) if asked.subject is not None else None
    if record is not None:
        record.question = None
    if fact.choice is Choice.REVISE:
        state.revised = True
    elif fact.choice is Choice.RETRY:
        _go_on(state, asked, record, fact.note.strip())
    elif record is None:
        if fact.choice is Choice.ACCEPT and asked.cause is Cause.HELD_BEFORE:
            state.held_before_accepted_by = fact.by or "a person"
    elif fact.choice is Choice.WAIVE:
        record.waivers.add(fact.id)
    elif fact.choice is Choice.ACCEPT and asked.opinion:
        record.overruled |= {asked.opinion}
        _look_again(state, asked, record)
    elif fact.choice is Choice.ACCEPT and _is_for_a_person(state, asked.subject):
        record.vouched = Vouched(fact.by, asked.snapshot)
    elif fact.choice is Choice.ALLOW:
        # From the question itself: what was not asked about is not allowed either.
        record.allowed = (*record.allowed, *asked.allow)
        _go_on(state, asked, record, "")


def _answered_in_session(
    state: State, entry: Entry, asked: facts.QuestionOpened, fact: facts.QuestionAnswered
) -> None:
    session = state.session
    session.ended = ""
    session.forget_refusals()
    if asked.cause is Cause.RATCHET:
        waiting, session.pending = session.pending, None
        if waiting is not None and waiting.question == fact.id and fact.choice is Choice.WAIVE:
            fold_session.adopt(state, waiting, entry.seq)
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


def _step_waived(state: State, entry: Entry, fact: facts.StepWaived) -> None:
    """Counts only when a person answered `waive` to a question about this very step."""
    record = state.records.get(entry.step or "")
    if record is not None and fact.escalation in record.waivers:
        record.waived = True


def _is_for_a_person(state: State, subject: str | None) -> bool:
    """Only a postcondition without a contract: where one can be judged, nobody's word counts."""
    posts = state.plan.postconditions if state.plan is not None else ()
    return any(post.id == subject and post.contract is None for post in posts)


def _go_on(state: State, asked: facts.QuestionOpened, record: Record | None, note: str) -> None:
    if asked.cause is Cause.BUDGET:
        state.budget_grants += 1
    if record is None:
        return
    if note:
        said = record.answer_reason if asked.cause is Cause.AGENT_ANSWER else ""
        record.advice = (*record.advice, (said, note))
    record.forgive()
    if asked.cause is Cause.OBSTACLE and asked.subject in state.obstacles:
        del state.obstacles[asked.subject]
        state.uncounted.append(asked.subject)
        record.before = record.held_before = None
    elif asked.cause in _LOOK_AGAIN and record.attempts:
        _look_again(state, asked, record)
    elif asked.cause in (Cause.INFRASTRUCTURE, Cause.OBSTACLE):
        record.before = record.held_before = None
    elif asked.cause is Cause.HANDOFF:
        record.handoff = ()
    elif asked.cause is Cause.HUMAN:
        record.unjudged, record.in_flight = record.attempts, None
    elif asked.cause is Cause.HELD_BEFORE:
        record.held_before_accepted = True
    elif asked.cause in (Cause.POSTCONDITION, Cause.OPINION) and not _is_step(state, asked):
        record.latest = None


def _look_again(state: State, asked: facts.QuestionOpened, record: Record) -> None:
    """The person may have repaired it: judge before an agent could overwrite that."""
    record.forgive()
    if _is_step(state, asked):
        record.unjudged, record.looking_again = record.attempts, True
    else:
        record.latest = None


def _is_step(state: State, asked: facts.QuestionOpened) -> bool:
    return asked.subject is not None and state.schedule.has(asked.subject)


def _strength_measured(state: State, entry: Entry, fact: Strength) -> None:
    """Remember the strength of the step's contract; the same question is not asked twice."""
    state.record(entry.step or "").strength = fact
    state.strengths[fact.key] = fact


_HANDLERS: dict[Kind, tuple[type, Callable[[State, Entry, Any], None]]] = {
    Kind.RUN_STARTED: (facts.RunStarted, fold_run.run_started),
    Kind.RUN_RESUMED: (facts.RunStarted, fold_run.run_resumed),
    Kind.RUN_FINISHED: (facts.RunFinished, fold_run.run_finished),
    Kind.PLAN_EDITED: (facts.PlanEdited, fold_run.plan_edited),
    Kind.PLAN_AMENDED: (facts.PlanAmended, fold_run.plan_amended),
    Kind.STEP_LISTED: (facts.ListRead, fold_run.step_listed),
    Kind.STEP_EXPANDED: (facts.ListRead, fold_run.step_expanded),
    Kind.ATTEMPT_STARTED: (facts.AttemptStarted, fold_run.attempt_started),
    Kind.ATTEMPT_FINISHED: (facts.AttemptFinished, fold_run.attempt_finished),
    Kind.VERDICT: (Judged, fold_run.verdict),
    Kind.STRENGTH_MEASURED: (Strength, _strength_measured),
    Kind.OPINION_GIVEN: (OpinionGiven, fold_run.opinion_given),
    Kind.JUDGE_CALIBRATED: (JudgeCalibrated, fold_run.judge_calibrated),
    Kind.STEP_PICKED: (facts.CandidatePicked, fold_run.candidate_picked),
    Kind.STEP_LANDED: (facts.StepLanded, fold_run.step_landed),
    Kind.STEP_TURNED_BACK: (facts.StepTurnedBack, fold_run.step_turned_back),
    Kind.STEP_DONE: (facts.StepAccepted, fold_run.step_done),
    Kind.STEP_FAILED: (facts.StepFailed, fold_run.step_failed),
    Kind.STEP_REOPENED: (facts.StepReopened, fold_run.step_reopened),
    Kind.STEP_RESTORED: (facts.StepAccepted, fold_run.step_restored),
    Kind.STEP_CLEARED: (facts.StepCleared, fold_run.step_cleared),
    Kind.STEP_WAIVED: (facts.StepWaived, _step_waived),
    Kind.ESCALATION_OPENED: (facts.QuestionOpened, _question_opened),
    Kind.ESCALATION_ANSWERED: (facts.QuestionAnswered, _question_answered),
    Kind.SESSION_STARTED: (facts.SessionStarted, fold_session.started),
    Kind.PLAN_WRITTEN: (facts.PlanWritten, fold_session.plan_written),
    Kind.STEP_CLAIMED: (facts.StepClaimed, fold_session.step_claimed),
    Kind.TOOL_CALLED: (ToolCall, fold_session.tool_called),
    Kind.NOTE_KEPT: (facts.NoteKept, fold_session.note_kept),
    Kind.STEP_STRAYED: (facts.StepStrayed, fold_session.step_strayed),
    Kind.SESSION_DELEGATED: (facts.SessionDelegated, fold_session.delegated),
    Kind.SESSION_USAGE: (Cost, fold_session.used),
    Kind.ANSWER_REFUSED: (facts.AnswerRefused, fold_session.answer_refused),
    Kind.ANSWER_ACCEPTED: (facts.AnswerAccepted, fold_session.answer_accepted),
    Kind.ROLLBACK_RESTORED: (facts.RolledBack, fold_session.rolled_back),
    Kind.SESSION_ENDED: (facts.SessionEnded, fold_session.ended),
    Kind.SESSION_SIGNED: (facts.SessionSigned, fold_session.signed),
}
