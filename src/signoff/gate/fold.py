"""The one fold: ledger entries in, one after the other; where a plan stands out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from signoff.domain import facts
from signoff.domain.ledger import Entry, Kind
from signoff.domain.session import ToolCall
from signoff.gate import fold_questions, fold_run, fold_session
from signoff.gate.record import Judged
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
    Kind.STEP_DONE: (facts.StepAccepted, fold_run.step_done),
    Kind.STEP_FAILED: (facts.StepFailed, fold_run.step_failed),
    Kind.STEP_REOPENED: (facts.StepReopened, fold_run.step_reopened),
    Kind.STEP_RESTORED: (facts.StepAccepted, fold_run.step_restored),
    Kind.STEP_CLEARED: (facts.StepCleared, fold_run.step_cleared),
    Kind.STEP_WAIVED: (facts.StepWaived, fold_questions.step_waived),
    Kind.ESCALATION_OPENED: (facts.QuestionOpened, fold_questions.opened),
    Kind.ESCALATION_ANSWERED: (facts.QuestionAnswered, fold_questions.answered),
    Kind.SESSION_STARTED: (facts.SessionStarted, fold_session.started),
    Kind.PLAN_WRITTEN: (facts.PlanWritten, fold_session.plan_written),
    Kind.STEP_CLAIMED: (facts.StepClaimed, fold_session.step_claimed),
    Kind.TOOL_CALLED: (ToolCall, fold_session.tool_called),
    Kind.NOTE_KEPT: (facts.NoteKept, fold_session.note_kept),
    Kind.STEP_STRAYED: (facts.StepStrayed, fold_session.step_strayed),
    Kind.SESSION_DELEGATED: (facts.SessionDelegated, fold_session.delegated),
    Kind.SESSION_USAGE: (facts.Used, fold_session.used),
    Kind.ANSWER_REFUSED: (facts.AnswerRefused, fold_session.answer_refused),
    Kind.ANSWER_ACCEPTED: (facts.AnswerAccepted, fold_session.answer_accepted),
    Kind.ROLLBACK_RESTORED: (facts.RolledBack, fold_session.rolled_back),
    Kind.SESSION_ENDED: (facts.SessionEnded, fold_session.ended),
    Kind.SESSION_SIGNED: (facts.SessionSigned, fold_session.signed),
}
