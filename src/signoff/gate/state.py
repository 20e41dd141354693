"""The one fold: ledger entries in, one after the other; where a plan stands out.

A run, an agent's session and a task without a plan are the same state. They differ in who wrote
the plan (`author`), and in whether a driver dispatches its steps (`driven`) or the agent does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from signoff.domain import facts
from signoff.domain.counts import TestCounts
from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Author, Contract, Cost, Plan
from signoff.domain.product import Product
from signoff.domain.session import ToolCall
from signoff.domain.sessionwork import SessionWork
from signoff.domain.verdict import Isolation
from signoff.gate import fold_questions, fold_run, fold_session
from signoff.gate.record import Judged, Record
from signoff.gate.schedule import Schedule
from signoff.gate.sessionfacts import SessionFacts


class State:
    """Where a plan stands. Only `apply` changes it; everything else reads."""

    def __init__(self, plan: Plan | None, run: str = "", *, driven: bool = True):
        self.run = run
        self.driven = driven
        self.author = Author.AGENT if plan is None else Author.PERSON
        self.plan = plan
        self.schedule = Schedule(plan)
        self.records: dict[str, Record] = {}
        if plan is not None and not driven:
            self.records = {subject.id: Record() for subject in plan.subjects}
        self.questions: dict[str, facts.QuestionOpened] = {}  # open ones
        self.questions_asked = 0
        self.history: set[str] = set()
        self.spent = Cost()
        self.spent_s = 0.0
        self.attempts_ended = 0
        self.budget_grants = 1
        self.any_failed = False
        self.aborted = False
        self.revised = False
        self.outcome: Outcome | None = None
        self.noticed: set[str] = set()
        self.verdicts: dict[str, Entry] = {}
        self.snapshot: str | None = None
        self.produced: dict[str, dict[str, str]] = {}
        self.products: dict[str, Product] = {}  # those, and what contracts of accepted steps name
        self.moments: list[tuple[int, str, str]] = []
        self.unlisted = [step.id for step in self.schedule.steps if step.for_each is not None]
        self.counted: frozenset[str] = frozenset()
        self.uncounted: list[str] = []
        self.baselines: dict[str, TestCounts] = {}  # of earlier runs of the same approval
        self.handoff: dict[str, str] = {}
        self.isolations: set[Isolation] = set()
        self.earlier_work: SessionWork | None = None  # of a session, before this run began
        self.usage_told: set[str] = set()  # sessions whose usage is counted already
        self.session = SessionFacts()
        self.seq = 0
        self.cursor = 0

    def record(self, subject: str) -> Record:
        """The facts about one subject, empty if nothing happened yet."""
        found = self.records.get(subject)
        if found is None:
            found = self.records[subject] = Record()
        return found

    def contract(self, subject: str) -> Contract | None:
        """What decides this subject, if a contract does."""
        subjects = self.plan.subjects if self.plan is not None else ()
        return next((s.contract for s in subjects if s.id == subject), None)

    def find_verdict(self, key: str) -> Entry | None:
        """The newest verdict of this run with this evidence key."""
        return self.verdicts.get(key)

    def verdicts_on(self, subject: str, snapshot: str) -> list[Entry]:
        """The verdicts of this run about one subject on one content, whatever lay beside it."""
        about = (e for e in self.verdicts.values() if e.data["subject"] == subject)
        return [entry for entry in about if entry.data["snapshot"] == snapshot]

    def apply_all(self, entries: Iterable[Entry]) -> State:
        """Fold several entries; returns itself."""
        for entry in entries:
            self.apply(entry)
        return self

    def apply(self, entry: Entry) -> None:
        """Fold one entry, once. Entries of other runs only add to the history."""
        if entry.seq <= self.seq:
            return
        self.seq = entry.seq
        if (entry.run or "") != self.run:
            fold_run.apply_other_run(self, entry)
            return
        handler = _HANDLERS.get(entry.kind)
        if handler is not None:
            kind, take = handler
            take(self, entry, facts.read_fact(kind, entry.data))

    def settle_cursor(self) -> int:
        """The position of the first step that still needs something."""
        steps = self.schedule.steps
        while self.cursor < len(steps) and self.record(steps[self.cursor].id).settled:
            self.cursor += 1
        return self.cursor


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
    Kind.SESSION_ENDED: (facts.SessionEnded, fold_session.ended),
    Kind.SESSION_SIGNED: (facts.SessionSigned, fold_session.signed),
}
