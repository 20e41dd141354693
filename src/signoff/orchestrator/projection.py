"""Show a run to readers, never to the harness: marks and status, standing, progress."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from signoff.domain.ledger import Entry, Kind, Outcome
from signoff.domain.plan import Mark, PlanStatus
from signoff.errors import PlanConflict, PlanNotFound, PlanUnreadable, SignoffError
from signoff.gate.gate import GateReport, evaluate
from signoff.gate.state import State
from signoff.gate.subjects import StepState
from signoff.planfile.blocks import decode
from signoff.planfile.marks import mark_text
from signoff.planfile.outline import file_digest, plan_digest
from signoff.storage.files import read_plan_file, swap_file
from signoff.storage.ledger import Ledger
from signoff.storage.standings import StandingNote, write_standing
from signoff.storage.vault import Vault, progress_line

AUTHOR = "signoff"
_TAIL_BYTES = 256 * 1024
_NUMBER = re.compile(rb" signoff run=\S+ step=\S+ #(\d+) ")


@dataclass
class ProgressProjection:
    """The progress file: lines that the ledger's entries become, appended and never changed.

    Each line carries the number of its entry, so that after a kill the next driver goes on where
    the file ends. A file that cannot be written stops nothing.
    """

    ledger: Ledger
    plan_id: str
    vault: Vault
    name: str
    _seq: int | None = field(default=None, init=False)

    def bring_up_to_date(self) -> None:
        """Append a line for every entry that people want to read about."""
        with suppress(SignoffError, OSError):
            if self._seq is None:
                self._seq = self._last_written()
            entries = list(self.ledger.entries(self.plan_id, after=self._seq))
            lines = [_line(entry, text) for entry in entries if (text := said(entry))]
            if lines:
                self.vault.append_progress(self.name, *lines)
            if entries:
                self._seq = entries[-1].seq

    def _last_written(self) -> int:
        """The newest entry that the file tells of; 0 for a file that was removed or never was."""
        try:
            # Never waited for: somebody may have put a pipe there.
            fd = os.open(self.vault.progress_path(self.name), os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return 0
        with open(fd, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
        found = _NUMBER.findall(tail)
        return max(map(int, found)) if found else 0


STATUS_OF = {
    Outcome.DONE: PlanStatus.DONE,
    Outcome.FAILED: PlanStatus.FAILED,
    Outcome.CANCELLED: PlanStatus.FAILED,
    Outcome.REVISED: PlanStatus.DRAFT,
}


def said(entry: Entry) -> str:
    """Text of an entry for somebody who reads along; empty for what only the harness needs."""
    data = entry.data
    match entry.kind:
        case Kind.RUN_FINISHED:
            return f"run finished: {data['outcome']}"
        case Kind.STEP_FAILED:
            return f"step failed: {data.get('message', '')}"
        case Kind.STEP_TURNED_BACK:
            return f"did not land: {data['message']}"
        case Kind.STEP_CLEARED:
            return f"put back for the other steps: {', '.join(data['paths'])}"
        case Kind.STEP_WAIVED:
            return f"step waived by {data['by']}: {data['note']}"
        case Kind.ESCALATION_OPENED:
            return f"question {data['id']}: {data['question']}"
        case Kind.ESCALATION_ANSWERED:
            return f"answer to {data['id']} by {data['by']}: {data['choice']}"
        case Kind.PLAN_MERGED:
            return f"merged into {data['base']} as {data['commit'][:12]}"
        case _:
            return _FIXED.get(entry.kind, "")


_FIXED = {
    Kind.RUN_STARTED: "run started",
    Kind.RUN_RESUMED: "run resumed",
    Kind.STEP_DONE: "step done",
    Kind.STEP_REOPENED: "step reopened: a later change broke it",
    Kind.STEP_RESTORED: "step kept again",
}


def _line(entry: Entry, text: str) -> str:
    return progress_line(entry.at, AUTHOR, entry.run, entry.step, f"#{entry.seq} {text}")


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
    """State of the plan after entry `seq`, in one line; a waived step is settled too."""
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
