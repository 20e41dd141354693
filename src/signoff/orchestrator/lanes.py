"""Lanes: steps worked on side by side, each in a checkout of its own.

    dispatch → a free lane is made equal to the content → the agent works there, in a thread

Threads only start processes and look at files: the ledger is written by the drive alone. Nothing
of a lane is seen in the workspace before the entry that lands it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from signoff.agents.assignment import Assignment, AttemptReport
from signoff.domain.plan import Postcondition, Step
from signoff.domain.snapshot import Snapshot
from signoff.domain.verdict import Verdict
from signoff.errors import Interrupted, RoomTooDear, SetupFailed, SignoffError
from signoff.gate.actions import (
    Underway,
    judged_beside,
    keep_apart,
    may_take_a_lane,
    open_steps,
)
from signoff.gate.state import share_of_budget
from signoff.orchestrator.events import Doing, QueuedEvents
from signoff.orchestrator.openrun import AttemptAgent, JudgingRoom, Lane, OpenRun
from signoff.orchestrator.rooms import RoomPool
from signoff.verification.evidence import Case

if TYPE_CHECKING:
    from signoff.orchestrator.drive import Drive

_TICK_S = 0.1
_ROOMS_PER_LANE = 2  # checks are quicker than agents, and come in crowds


class _Job(Struct, frozen=True):
    """A thread's work on a step or postcondition, and the function that records its result."""

    future: Future[Any]
    take: Callable[[Any], None]
    step: Step | None = None  # an agent works on it
    place: Lane | JudgingRoom | None = None
    granted: tuple[int | None, float | None] = (0, 0.0)
    candidate: tuple[str, int] | None = None  # step and attempt, where several work on the step


class Lanes:
    """The lanes of one drive, and the rooms in which it judges side by side."""

    def __init__(self, drive: Drive):
        self._drive = drive
        self.maker = drive.work.lanes
        self._threads: ThreadPoolExecutor | None = None
        self._lanes: list[Lane] = []  # nobody works in
        self._made = 0
        self._rooms = RoomPool(self.maker)
        self._jobs: dict[str, _Job] = {}  # by subject; of candidates, by attempt too
        self._looking: dict[str, _Job] = {}  # likewise: as it was before the work that goes on
        self._stop = threading.Event()
        self._stops: dict[int, threading.Event] = {}  # of single lanes
        self._said = QueuedEvents()

    @property
    def busy(self) -> bool:
        """True when anything runs beside the workspace."""
        return bool(self._jobs or self._looking)

    @property
    def underway(self) -> Underway:
        """Work that goes on, for the choice of the next action."""
        full = self.maker is not None and len(self._working) >= self.maker.most
        several = frozenset(job.candidate for job in self._every if job.candidate is not None)
        looked_at = frozenset(self._looking)
        return Underway(self._held, looked_at, full, self._side_by_side, several)

    @property
    def _side_by_side(self) -> bool:
        return self.maker is not None and self.maker.most > 1

    @property
    def _every(self) -> list[_Job]:
        return [*self._jobs.values(), *self._looking.values()]

    @property
    def _working(self) -> list[Step]:
        return [job.step for job in self._jobs.values() if job.step is not None]

    @property
    def _held(self) -> frozenset[str]:
        """Subjects that are worked on or judged, and steps that may change the same files."""
        working = self._working
        if not working:
            return frozenset(self._jobs)
        steps = self._drive.state.schedule.steps
        apart = {s.id for s in steps if any(s.id != o.id and keep_apart(s, o) for o in working)}
        return frozenset(apart.union(self._jobs))

    def has_work_of(self, step: Step) -> bool:
        """True when the work on the step so far lies in a lane only."""
        return bool(self._drive.state.record(step.id).base)

    def wants(self, step: Step) -> bool:
        """True when the step is to be worked on in a lane: there is something to do beside it."""
        if self.maker is None or not may_take_a_lane(step, self._drive.state):
            return False
        # With one job too, where what it did so far lies in a lane.
        if self.has_work_of(step) or not self._side_by_side or self._working:
            return self.has_work_of(step) or self._side_by_side
        state = self._drive.state
        others = (s for s in open_steps(state, {step.id}) if may_take_a_lane(s, state))
        return any(not keep_apart(other, step) for other in others)

    def enter(self, step: Step) -> tuple[Lane, OpenRun, Snapshot] | None:
        """A lane with what the step goes on from, the run as seen from it, and its base.

        None where no lane can be made of this workspace: then everything is done in line.
        """
        drive = self._drive
        record, work = drive.state.record(step.id), drive.work
        trunk = work.workspace.snapshot().digest
        begun = bool(record.base and record.spans)
        base, content = (record.base, record.spans[-1][1]) if begun else (trunk, trunk)
        lane = self.free_lane()
        try:
            mounts = lane.check_out(drive.run_judge, content)
        except (RoomTooDear, SetupFailed) as error:
            work.reporter.tell(Doing(step.id, f"in line, not in a lane: {error.message}"))
            self.maker = None
            return None
        made = lane.workspace.snapshot()
        if begun:
            made = replace(made, digest=base)
        stop = self._stops[lane.number] = threading.Event()
        there = replace(
            work,
            root=lane.checkout.path,
            shown_at=work.root,
            workspace=lane.workspace,
            agent=work.agent.beside(mounts, lane.mark),
            reporter=self._said,
            cancelled=partial(self._cancelled, stop),
        )
        return lane, there, made

    def start(
        self,
        step: Step,
        lane: Lane,
        agent: AttemptAgent,
        assignment: Assignment,
        take: Callable[[AttemptReport], None],
        candidate: int = 0,
    ) -> None:
        """Let the agent work in a thread; how it ended is noted down by the drive's own."""
        future = self._submit(partial(agent.work, assignment))
        granted = assignment.tokens_left, assignment.usd_left
        of = (step.id, candidate) if candidate else None
        self._jobs[_key(step.id, candidate)] = _Job(future, take, step, lane, granted, of)

    def leave(self, lane: Lane) -> None:
        """Give a lane back."""
        self._lanes.append(lane)

    def judges(self, subject: Step | Postcondition) -> bool:
        """True when this check can be judged beside the workspace."""
        return self._side_by_side and judged_beside(subject, self._drive.state)

    def judge(
        self,
        case: Case,
        content: str,
        take: Callable[[Verdict], None],
        *,
        in_passing: bool = False,
        candidate: int = 0,
    ) -> None:
        """Judge content in a thread; the verdict is noted down by the drive's own.

        In passing: while somebody begins to work on it.
        """
        assert self.maker is not None
        while len(self._every) - len(self._working) >= _ROOMS_PER_LANE * self.maker.most:
            self.wait()
        room = self._rooms.take()
        future = self._submit(self._judging(room, case, content))
        jobs = self._looking if in_passing else self._jobs
        of = (case.subject, candidate) if candidate else None
        jobs[_key(case.subject, candidate)] = _Job(future, take, place=room, candidate=of)

    def judge_all(
        self, cases: Mapping[str, Case], contents: Mapping[str, str]
    ) -> dict[str, Verdict]:
        """Several side by side, to the end of all; agents go on meanwhile."""
        verdicts: dict[str, Verdict] = {}
        for subject, case in cases.items():
            self.judge(case, contents[subject], partial(verdicts.__setitem__, subject))
        while len(verdicts) < len(cases):
            self.wait()
        return verdicts

    def share(self) -> tuple[int | None, float | None]:
        """Share of the budget that one more attempt may use while others are at work."""
        jobs, state = self._jobs.values(), self._drive.state
        waiting = sum(
            max(1, len(s.roles) - len(state.record(s.id).candidates))
            for s in open_steps(state, self._jobs)
            if may_take_a_lane(s, state)
        )
        most = self.maker.most if self.maker is not None else 1
        among = max(1, min(most - len(self._working), waiting))
        return share_of_budget(state, [job.granted for job in jobs], among)

    def take_in(self) -> bool:
        """Let the drive note down what ended meanwhile; whether anything did."""
        self._said.pass_on(self._drive.work.reporter)
        ended = [job for job in self._every if job.future.done()]
        for job in ended:
            self._settle(job)
        return bool(ended)

    def _settle(self, job: _Job) -> None:
        """Wait for a job, give its place back, and let the drive note down its result."""
        result = job.future.result()
        for jobs in (self._jobs, self._looking):
            for subject in [s for s, other in jobs.items() if other is job]:
                del jobs[subject]
        if isinstance(job.place, Lane):
            self._lanes.append(job.place)
        elif job.place is not None:
            self._rooms.leave(job.place)
        job.take(result)

    def stop_candidates(self, step: Step) -> None:
        """End the agents that are still at work on the step; a judging that goes on is ignored."""
        working = [job for job in self._jobs.values() if job.candidate and job.step == step]
        for job in working:
            if isinstance(job.place, Lane):
                self._stops[job.place.number].set()
        for job in working:
            with suppress(Interrupted):
                self._settle(job)

    def wait(self) -> None:
        """Wait until something ends."""
        while not self.take_in():
            wait([job.future for job in self._every], _TICK_S, FIRST_COMPLETED)

    def close(self) -> None:
        """Stop whatever runs; what an attempt used until then is counted."""
        self._stop.set()
        jobs, self._jobs, self._looking = self._every, {}, {}
        for job in jobs:
            with suppress(SignoffError):
                job.take(job.future.result())
        if self._threads is not None:
            self._threads.shutdown()
        self._threads = None
        self._stop.clear()

    def _judging(self, room: JudgingRoom, case: Case, content: str) -> Callable[[], Verdict]:
        """The judging as a job; what it looks at is settled here, before the thread begins."""
        seen = copy(self._drive.state)
        seen.verdicts = dict(seen.verdicts)
        judge = replace(self._drive.run_judge, evidence=seen)
        return partial(room.judge_of(judge, content, self._cancelled).judge, case)

    def _cancelled(self, stop: threading.Event | None = None) -> bool:
        stopped = self._stop.is_set() or (stop is not None and stop.is_set())
        return stopped or self._drive.work.cancelled()

    def _submit(self, job: Callable[[], Any]) -> Future[Any]:
        assert self.maker is not None
        if self._threads is None:
            self._threads = ThreadPoolExecutor((1 + _ROOMS_PER_LANE) * self.maker.most)
        return self._threads.submit(job)

    def free_lane(self) -> Lane:
        """A lane in which nobody works; give it back with `leave`."""
        if self._lanes:
            return self._lanes.pop()
        assert self.maker is not None
        self._made += 1
        return self.maker.lane(self._made)


def _key(subject: str, candidate: int) -> str:
    return f"{subject} #{candidate}" if candidate else subject
