"""Lanes: steps worked on side by side, each in a checkout of its own, and how they land.

    dispatch → a free lane is made equal to the content → the agent works there, in a thread
    land     → what it changed is brought onto what the workspace holds now → judged → accepted

Threads only start processes and look at files: the ledger is written by the drive alone. Nothing
of a lane is seen in the workspace before the entry that lands it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from copy import copy
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from signoff.agents.assignment import Assignment, AttemptReport
from signoff.domain.facts import StepLanded, StepTurnedBack
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Postcondition, Step
from signoff.domain.snapshot import Snapshot
from signoff.domain.text import storable_path
from signoff.domain.verdict import Phase, Reason, Verdict
from signoff.errors import ContentMoved, RoomTooDear, SetupFailed, SignoffError
from signoff.gate.actions import (
    Land,
    Underway,
    judged_beside,
    keep_apart,
    may_take_a_lane,
    open_steps,
    share_of_budget,
)
from signoff.orchestrator.events import Doing, QueuedEvents
from signoff.orchestrator.openrun import AttemptAgent, JudgingRoom, Lane, OpenRun
from signoff.testing.crash import CrashPoint, reach
from signoff.verification.evidence import Case
from signoff.workspace.beside import begin_landing, begun_landing, bring_over, write_landing

if TYPE_CHECKING:
    from signoff.orchestrator.drive import Drive

_TICK_S = 0.1
_ROOMS_PER_LANE = 2  # checks are quicker than agents, and come in crowds
_NAMED_FILES = 5
_MOST_MOVED = 5


class _Job(Struct, frozen=True):
    """A thread's work on a step or postcondition, and the function that records its result."""

    future: Future[Any]
    take: Callable[[Any], None]
    step: Step | None = None  # an agent works on it
    place: Lane | JudgingRoom | None = None
    granted: tuple[int | None, float | None] = (0, 0.0)


class Lanes:
    """The lanes of one drive, and the rooms in which it judges side by side."""

    def __init__(self, drive: Drive):
        self._drive = drive
        self._maker = drive.work.lanes
        self._threads: ThreadPoolExecutor | None = None
        self._lanes: list[Lane] = []  # nobody works in
        self._rooms: list[JudgingRoom] = []  # nothing is judged in
        self._made = {Lane: 0, JudgingRoom: 0}
        self._jobs: dict[str, _Job] = {}  # by subject
        self._looking: dict[str, _Job] = {}  # likewise: as it was before the work that goes on
        self._stop = threading.Event()
        self._said = QueuedEvents()
        self._moved = 0  # landings in a row during which somebody changed the workspace

    @property
    def busy(self) -> bool:
        """True when anything runs beside the workspace."""
        return bool(self._jobs or self._looking)

    @property
    def underway(self) -> Underway:
        """Work that goes on, for the choice of the next action."""
        full = self._maker is not None and len(self._working) >= self._maker.most
        return Underway(self._held, frozenset(self._looking), full)

    @property
    def _side_by_side(self) -> bool:
        return self._maker is not None and self._maker.most > 1

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
        apart = {s.id for s in steps if any(keep_apart(s, other) for other in working)}
        return frozenset(apart.union(self._jobs))

    def has_work_of(self, step: Step) -> bool:
        """True when the work on the step so far lies in a lane only."""
        return bool(self._drive.state.record(step.id).base)

    def wants(self, step: Step) -> bool:
        """True when the step is to be worked on in a lane: there is something to do beside it."""
        if self._maker is None or not may_take_a_lane(step, self._drive.state):
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
        lane = self._free_lane()
        try:
            mounts = lane.check_out(drive.run_judge, content)
        except (RoomTooDear, SetupFailed) as error:
            work.reporter.tell(Doing(step.id, f"in line, not in a lane: {error.message}"))
            self._maker = None
            return None
        made = lane.workspace.snapshot()
        if begun:
            made = replace(made, digest=base)
        there = replace(
            work,
            root=lane.checkout.path,
            shown_at=work.root,
            workspace=lane.workspace,
            agent=work.agent.beside(mounts, lane.mark),
            reporter=self._said,
            cancelled=self._cancelled,
        )
        return lane, there, made

    def start(
        self,
        step: Step,
        lane: Lane,
        agent: AttemptAgent,
        assignment: Assignment,
        take: Callable[[AttemptReport], None],
    ) -> None:
        """Let the agent work in a thread; how it ended is noted down by the drive's own."""
        future = self._submit(partial(agent.work, assignment))
        granted = assignment.tokens_left, assignment.usd_left
        self._jobs[step.id] = _Job(future, take, step, lane, granted)

    def leave(self, lane: Lane) -> None:
        """Give a lane back in which nothing was started."""
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
    ) -> None:
        """Judge content in a thread; the verdict is noted down by the drive's own.

        In passing: while somebody begins to work on it.
        """
        assert self._maker is not None
        while len(self._every) - len(self._working) >= _ROOMS_PER_LANE * self._maker.most:
            self.wait()
        room = self._free_room()
        future = self._submit(self._judging(room, case, content))
        jobs = self._looking if in_passing else self._jobs
        jobs[case.subject] = _Job(future, take, place=room)

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
        waiting = sum(may_take_a_lane(s, state) for s in open_steps(state, self._jobs))
        most = self._maker.most if self._maker is not None else 1
        among = max(1, min(most - len(self._working), waiting))
        return share_of_budget(state, [job.granted for job in jobs], among)

    def take_in(self) -> bool:
        """Let the drive note down what ended meanwhile; whether anything did."""
        self._said.pass_on(self._drive.work.reporter)
        ended = [job for job in self._every if job.future.done()]
        for job in ended:
            for jobs in (self._jobs, self._looking):
                for subject in [s for s, other in jobs.items() if other is job]:
                    del jobs[subject]
            if isinstance(job.place, Lane):
                self._lanes.append(job.place)
            elif job.place is not None:
                self._rooms.append(job.place)
            job.take(job.future.result())
        return bool(ended)

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

    def land(self, action: Land) -> None:
        """Land these steps together where that holds, else without those that are at fault."""
        drive, steps = self._drive, action.steps
        if self._maker is None:
            said = StepTurnedBack("there are no lanes any more, and its work lay in one")
            drive.append(*(self._back(step, said) for step in steps))
            return
        trunk = drive.work.workspace.snapshot().digest
        lane = self._free_lane()
        try:
            lane.check_out(drive.run_judge, trunk, bare=True)
            fitting = [step for step in steps if self._fits(step, lane)]
            joint = lane.workspace.snapshot(durable=True).digest
        finally:
            self._lanes.append(lane)
        cases = {step.id: self._case(step) for step in fitting}
        together = self.judge_all(cases, dict.fromkeys(cases, joint))
        bad = [step for step in fitting if not together[step.id].kept]
        if not bad:
            self._accept(trunk, joint, fitting, together)
            return
        # By itself, on what it was made of: does it hold at all?
        left_by = {step.id: drive.state.record(step.id).spans[-1][1] for step in bad}
        moved = {subject: content for subject, content in left_by.items() if content != joint}
        alone = together | self.judge_all({i: cases[i] for i in moved}, moved)
        settled = [step for step in bad if not alone[step.id].kept]
        drafts = [self._refusal(step, alone[step.id]) for step in settled]
        if len(fitting) == 1 and not settled:
            said_no = self._verdict(bad[0], replace(together[bad[0].id], provisional=True))
            drafts += [said_no, self._turned_back(bad[0], together[bad[0].id])]
            settled = bad
        if drafts:
            drive.append(*drafts)
            drive.project()
        left = [step for step in fitting if step not in settled]
        for group in [left] if settled and left else [[step] for step in left]:
            self.land(Land(tuple(group)))

    def finish_landing(self) -> None:
        """Write what an earlier driver had landed in the ledger, and not in all of the files."""
        landed, workspace = self._drive.state.landed, self._drive.work.workspace
        # Where all was written, what differs since is a person's work.
        if landed is not None and begun_landing(workspace) == landed.snapshot:
            write_landing(workspace, landed.onto, landed.snapshot)

    def _fits(self, step: Step, lane: Lane) -> bool:
        """Bring what the step changed over; where it collides, the step is turned back."""
        drive = self._drive
        record = drive.state.record(step.id)
        assert self._maker is not None
        content = record.spans[-1][1]
        collided = bring_over(lane.workspace, record.base, content, self._maker.environ)
        if collided:
            said = StepTurnedBack(f"others changed the same files meanwhile: {_named(collided)}")
            drive.append(self._back(step, said))
        return not collided

    def _accept(
        self, trunk: str, content: str, steps: list[Step], verdicts: Mapping[str, Verdict]
    ) -> None:
        """Record in one transaction the verdicts, that the content lands, and that it counts."""
        drive, workspace = self._drive, self._drive.work.workspace
        now = workspace.snapshot().digest
        self._moved = self._moved + 1 if now != trunk else 0
        if self._moved >= _MOST_MOVED:
            names = _named(change.path for change in workspace.diff(trunk, now))
            raise ContentMoved(f"the workspace keeps changing while work is to land: {names}")
        if not steps or self._moved:
            return  # what is to land is looked at again
        landed = to_builtins(StepLanded(trunk, content))
        drafts: list[Draft] = []
        for step in steps:
            verdict = verdicts[step.id]
            drafts.append(self._verdict(step, verdict))
            drafts.append(drive.draft(Kind.STEP_LANDED, landed, step.id))
            drafts.append(drive.acceptance(step, verdict.key, content))
        begin_landing(drive.work.workspace, content)
        drive.append(*drafts)
        reach(CrashPoint.LANDED)
        write_landing(drive.work.workspace, trunk, content)
        if edits := drive.notice_edits():
            drive.append(*edits)
        drive.project()

    def _verdict(self, step: Step, verdict: Verdict) -> Draft:
        """The entry of a verdict that was made beside the workspace; the sweep makes its own."""
        draft = self._drive.verdict_draft(verdict, self._drive.state.record(step.id).attempts)
        return replace(draft, data={**draft.data, "beside": True})

    def _refusal(self, step: Step, verdict: Verdict) -> Draft:
        """An ordinary verdict, unless the attempt left ignored files: its check may need those."""
        is_broken = verdict.reason is Reason.EXPECTATION
        if not (is_broken and self._drive.state.record(step.id).left_ignored):
            return self._verdict(step, verdict)
        said = (
            f"its check is broken without ignored files that it left in its lane: {verdict.message}"
        )
        back = StepTurnedBack(said, True, verdict.output_tail, verdict.exit_code)
        return self._back(step, back)

    def _turned_back(self, step: Step, verdict: Verdict) -> Draft:
        said = f"with what landed meanwhile its check is {verdict.result}: {verdict.message}"
        return self._back(step, StepTurnedBack(said, False, verdict.output_tail, verdict.exit_code))

    def _back(self, step: Step, why: StepTurnedBack) -> Draft:
        return self._drive.draft(Kind.STEP_TURNED_BACK, to_builtins(why), step.id)

    def _case(self, step: Step) -> Case:
        """Case for judging beside the workspace, which stays untouched: others may work there."""
        self._drive.work.reporter.tell(Doing(step.id, "judging before it lands"))
        return replace(self._drive.case(step, Phase.ATTEMPT), provisional=True, beside=True)

    def _judging(self, room: JudgingRoom, case: Case, content: str) -> Callable[[], Verdict]:
        """The judging as a job; what it looks at is settled here, before the thread begins."""
        seen = copy(self._drive.state)
        seen.verdicts = dict(seen.verdicts)
        judge = replace(self._drive.run_judge, evidence=seen)
        return partial(room.judge_of(judge, content, self._cancelled).judge, case)

    def _cancelled(self) -> bool:
        return self._stop.is_set() or self._drive.work.cancelled()

    def _submit(self, job: Callable[[], Any]) -> Future[Any]:
        assert self._maker is not None
        if self._threads is None:
            self._threads = ThreadPoolExecutor((1 + _ROOMS_PER_LANE) * self._maker.most)
        return self._threads.submit(job)

    def _free_lane(self) -> Lane:
        if self._lanes:
            return self._lanes.pop()
        assert self._maker is not None
        self._made[Lane] += 1
        return self._maker.lane(self._made[Lane])

    def _free_room(self) -> JudgingRoom:
        if self._rooms:
            return self._rooms.pop()
        assert self._maker is not None
        self._made[JudgingRoom] += 1
        return self._maker.room(self._made[JudgingRoom])


def _named(paths: Iterable[str]) -> str:
    return ", ".join(f"`{storable_path(path)}`" for path in islice(paths, _NAMED_FILES))
