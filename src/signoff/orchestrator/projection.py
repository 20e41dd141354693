"""Marks and status written back into the plan file: for readers, never for the harness."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from signoff.domain.plan import Mark, PlanStatus
from signoff.errors import PlanConflict, PlanNotFound, PlanUnreadable, SignoffError
from signoff.gate.gate import GateReport, evaluate
from signoff.gate.state import State
from signoff.gate.subjects import StepState
from signoff.orchestrator.progress import ProgressProjection
from signoff.planfile.decode import decode
from signoff.planfile.digest import file_digest, plan_digest
from signoff.planfile.marks import mark_text
from signoff.storage.files import read_plan_file, swap_file
from signoff.storage.ledger import Ledger
from signoff.storage.standings import StandingNote, write_standing

MARK_OF = {
    StepState.PENDING: Mark.NONE,
    StepState.RUNNING: Mark.RUNNING,
    StepState.DONE: Mark.DONE,
    StepState.FAILED: Mark.FAILED,
    StepState.BLOCKED: Mark.BLOCKED,
    StepState.WAIVED: Mark.BLOCKED,
    StepState.ACCEPTED: Mark.DONE,
}
_WORST_FIRST = (Mark.FAILED, Mark.BLOCKED, Mark.RUNNING, Mark.NONE, Mark.DONE)
SECONDS_BETWEEN = 1.0
MOST_OF_THE_TIME = 0.03  # what writing marks may take of a run's time, however large the plan is


@dataclass
class PlanFileProjection:
    """Rewrites only the lines whose mark changed, and not more often than people can read."""

    path: Path
    ledger: Ledger | None = None
    plan_id: str = ""
    progress: ProgressProjection | None = None
    unwritten: str = field(default="", init=False)
    _next: float = field(default=0.0, init=False)

    def show(self, state: State, status: PlanStatus, *, now: bool) -> None:
        """Bring the file up to date; one that cannot be written stops nothing, and is told."""
        began = time.monotonic()
        if not now and began < self._next:
            return
        report = evaluate(state, state.snapshot)
        self.unwritten = ""
        try:
            pinned = state.schedule.plan.plan_digest
            write_marks(self.path, pinned, marks_of(state, report), status)
        except SignoffError as error:
            self.unwritten = error.message
        if self.ledger is not None:
            write_standing(self.ledger, self.plan_id, standing_note(report, status, state.seq))
        if self.progress is not None:
            self.progress.bring_up_to_date()
        ended = time.monotonic()
        self._next = ended + max(SECONDS_BETWEEN, (ended - began) / MOST_OF_THE_TIME)


def standing_note(report: GateReport, status: PlanStatus, seq: int) -> StandingNote:
    """Where the plan stands after entry `seq`, in one line; a waived step is settled too."""
    settled = (StepState.DONE, StepState.WAIVED)
    left = [standing for standing in report.steps if standing.state not in settled]
    step, title = (left[0].id, left[0].title) if left else (None, None)
    total = len(report.steps)
    return StandingNote(seq, status, total - len(left), total, step, title)


def marks_of(state: State, report: GateReport) -> dict[str, Mark]:
    """A mark per step as written in the file; a list's heading shows the worst of its items."""
    marks = {s.id: MARK_OF[s.state] for s in report.steps}
    for parent, children in state.schedule.parents().items():
        found = {marks[child] for child in children}
        marks[parent] = next(mark for mark in _WORST_FIRST if mark in found)
    return marks


def write_marks(path: Path, pinned: str, marks: dict[str, Mark], status: PlanStatus) -> None:
    """Swap the file for its marked version; somebody else's edit in between is not overwritten.

    Marks are about the pinned plan: a text that says something else gets the status alone.
    """
    for _ in range(3):
        try:
            text = decode(read_plan_file(path), str(path))
        except (PlanNotFound, PlanUnreadable):
            return
        marked = mark_text(text, marks if plan_digest(text) == pinned else {}, status)
        if marked == text:
            return
        try:
            swap_file(path, file_digest(text), marked.encode())
        except PlanConflict:
            continue
        return
