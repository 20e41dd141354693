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
from signoff.domain.ledger import Cause
from signoff.domain.plan import Postcondition, Step
from signoff.domain.snapshot import Snapshot
from signoff.domain.verdict import Verdict
from signoff.errors import Interrupted, RoomTooDear, SetupFailed, SignoffError
from signoff.gate.actions import Underway, open_steps
from signoff.gate.beside import judged_beside, keep_apart, may_take_a_lane
from signoff.gate.state import Grant, budget_left, fits_beside
from signoff.orchestrator import escalations
from signoff.orchestrator.events import Doing, QueuedEvents
from signoff.orchestrator.openrun import AttemptAgent, JudgingRoom, Lane, OpenRun
from signoff.orchestrator.rooms import RoomPool
from signoff.process.command import Mount
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
    granted: Grant | None = None  # None: it is not at work yet
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
        self._in_line: set[str] = set()  # steps for which no lane can be made
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
        return Underway(
            self._held,
            frozenset(self._looking),
            tuple(self._working),
            full,
            self._side_by_side,
            several,
            landing=bool(self._drive.landing.steps),
            in_line=frozenset(self._in_line),
            goes_on=self.busy,
        )

    @property
    def closing(self) -> bool:
        """True while everything is stopped: nothing new begins."""
        return self._stop.is_set()

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
        drive = self._drive
        held = drive.baselines.held.union(self._jobs, (s.id for s in drive.landing.steps))
        working, waiting = self._working, []
        for step in drive.state.schedule.steps if self.maker is not None else ():
            record = drive.state.record(step.id)
            if self.has_work_of(step) and not record.settled and record.question is None:
                waiting.append(step)
            if record.turned_back_by is not None and drive.landing.steps:
                held |= {step.id}  # done again on what lands now, not beside it
        for step in drive.state.schedule.steps if working or waiting else ():
            others = working if self.has_work_of(step) else [*working, *waiting]
            if any(step.id != other.id and keep_apart(step, other) for other in others):
                held |= {step.id}
        return held

    def has_work_of(self, step: Step) -> bool:
        """True when the work on the step so far lies in a lane only."""
        return bool(self._drive.state.record(step.id).base)

    def wants(self, step: Step) -> bool:
        """True when the step is to be worked on in a lane: there is something to do beside it."""
        state = self._drive.state
        if self.maker is None or step.id in self._in_line or not may_take_a_lane(step, state):
            return False
        # With one job too, where what it did so far lies in a lane.
        if self.has_work_of(step) or not self._side_by_side or self._working:
            return self.has_work_of(step) or self._side_by_side
        others = (s for s in open_steps(state, {step.id}) if may_take_a_lane(s, state))
        return any(not keep_apart(other, step) for other in others)

    def enter(self, step: Step, begin: Callable[[Lane, OpenRun, Snapshot], None]) -> None:
        """Make a lane with what the step goes on from, in a thread; then begin there.

        The run is given as seen from the lane, and its base. Where no lane can be made, the step is
        worked on in line; where its set-up fails, a person is asked.
        """
        drive = self._drive
        record, work = drive.state.record(step.id), drive.work
        begun = bool(record.base and record.spans)
        trunk = "" if begun else work.workspace.snapshot().digest
        base, content = (record.base, record.spans[-1][1]) if begun else (trunk, trunk)
        lane = self.free_lane()
        stop = self._stops[lane.number] = threading.Event()
        cancelled = partial(self._cancelled, stop)
        make = lane.to_work_in(drive.run_judge, content, cancelled)

        def entered(made: tuple[Mount, ...] | RoomTooDear | SetupFailed) -> None:
            if isinstance(made, tuple) and self._may_begin(step):
                there = replace(
                    work,
                    root=lane.checkout.path,
                    shown_at=work.root,
                    workspace=lane.workspace,
                    agent=work.agent.beside(made, lane.mark),
                    reporter=self._said,
                    cancelled=cancelled,
                )
                begin(lane, there, replace(lane.workspace.snapshot(), digest=base))
                return
            self.leave(lane)
            if isinstance(made, RoomTooDear):
                work.reporter.tell(Doing(step.id, f"in line, not in a lane: {made.message}"))
                self._in_line.add(step.id)
            elif isinstance(made, SetupFailed) and not self.closing:
                question, context = escalations.about_setup(step, made)
                drive.ask(Cause.OBSTACLE, question, step, context)

        work.reporter.tell(Doing(step.id, f"lane {lane.number} is made"))
        self._jobs[step.id] = _Job(self._submit(partial(_or_why_not, make)), entered, step)

    def _may_begin(self, step: Step) -> bool:
        """True when nothing that came while its lane was made keeps the step from beginning."""
        state = self._drive.state
        asked = {question.subject for question in state.questions.values()}
        free = asked.isdisjoint((None, step.id)) and not self.closing
        return free and fits_beside(state, step, self._working)

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
        granted = Grant(assignment.tokens_left, assignment.usd_left, assignment.timeout_s)
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

    def grant(self, step: Step, *, alone: bool) -> Grant:
        """Part of the budget that an attempt at the step may use, while others are at work.

        Alone: nobody else begins before it ends.
        """
        state = self._drive.state
        at_work = [job for job in self._jobs.values() if job.step is not None]
        granted = [job.granted for job in at_work if job.granted is not None]
        begin = [*self._working, step]  # and whoever else can be paid for beside those
        most = self.maker.most if self.maker is not None and not alone else 0
        for other in open_steps(state, self._jobs) if most else ():
            several = len(other.roles) - len(state.record(other.id).candidates)
            times = (several if len(other.roles) > 1 else 1) - (other.id == step.id)
            for _ in range(times if may_take_a_lane(other, state) else 0):
                if len(begin) < most and fits_beside(state, other, begin):
                    begin.append(other)
        return budget_left(state, granted, len(begin) - len(granted))

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
        """Wait until something ends, a person answers, or a usage limit is over."""
        drive, heard = self._drive, False
        while not heard:
            wait([job.future for job in self._every], _TICK_S, FIRST_COMPLETED)
            heard = self.take_in() or drive.catch_up()
            heard = heard or any(escalations.withdrawals(drive.state, drive.work.clock()))

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


def _or_why_not(
    make: Callable[[], tuple[Mount, ...]],
) -> tuple[Mount, ...] | RoomTooDear | SetupFailed:
    try:
        return make()
    except (RoomTooDear, SetupFailed) as error:
        return error


def _key(subject: str, candidate: int) -> str:
    return f"{subject} #{candidate}" if candidate else subject
