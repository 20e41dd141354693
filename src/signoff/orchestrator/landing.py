"""Landing: what steps made in their lanes is brought onto the workspace's content, judged first.

land → fits onto what is there now? → judged together, while others work → go_on → accepted in one
transaction → written
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from signoff.domain.facts import StepLanded, StepTurnedBack
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import PickBy, Step
from signoff.domain.text import shown_list, storable_path
from signoff.domain.verdict import Phase, Reason, Verdict
from signoff.errors import ContentMoved, RoomTooDear, StorageFailed
from signoff.gate.actions import JudgeCandidate, Land, PickCandidate
from signoff.orchestrator.events import Doing
from signoff.orchestrator.openrun import Lane
from signoff.testing.crash import CrashPoint, reach
from signoff.verification.evidence import Case
from signoff.workspace.beside import (
    WorkspaceAt,
    begin_landing,
    begun_landing,
    bring_over,
    write_landing,
)
from signoff.workspace.workspace import Workspace

if TYPE_CHECKING:
    from signoff.orchestrator.drive import Drive

_NAMED_FILES = 5
_MOST_MOVED = 5
_WHY = {
    PickBy.FIRST: "the first that is kept",
    PickBy.SMALLEST: "of those kept, it changes the fewest lines",
    PickBy.CHEAPEST: "of those kept, the cheapest",
}


class _Joint(Struct):
    """Steps that were brought together on the trunk, and what was judged of them so far."""

    trunk: str
    content: str
    steps: list[Step]
    cases: dict[str, Case]
    verdicts: dict[str, Verdict]  # on the joint content
    alone: dict[str, Verdict] | None = None  # of those that are not kept, on what they left
    awaited: set[str] = field(default_factory=set)

    @property
    def bad(self) -> list[Step]:
        """The steps that do not hold together with the others."""
        return [step for step in self.steps if not self.verdicts[step.id].kept]


class Landing:
    """Lands the work of lanes; the only writer of files in the workspace that agents made there.

    While verdicts are awaited others begin to work. Nothing of a landing is in the ledger before
    all are there, so a driver that died in between begins it again.
    """

    def __init__(self, drive: Drive):
        self._drive = drive
        self._moved = 0  # landings in a row during which somebody changed the workspace
        self._joint: _Joint | None = None
        self._one_by_one: set[str] = set()  # steps that hold, and did not hold together

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that are about to land."""
        return tuple(self._joint.steps) if self._joint is not None else ()

    def land(self, action: Land) -> None:
        """Bring these steps together on what the workspace holds now, and begin to judge that."""
        drive = self._drive
        single = [step for step in action.steps if step.id in self._one_by_one]
        steps = single[:1] or list(action.steps)
        if drive.lanes.maker is None:
            said = StepTurnedBack("there are no lanes any more, and its work lay in one")
            drive.append(*(self._back(step, said) for step in steps))
            return
        trunk = drive.work.workspace.snapshot().digest
        lane = drive.lanes.free_lane()
        try:
            lane.check_out(WorkspaceAt(drive.run_judge.workspace, trunk))
            fitting = [step for step in steps if self._fits(step, lane)]
            content = lane.workspace.snapshot(durable=True).digest
        except RoomTooDear as dear:
            self._cannot_land(steps, dear)
            return
        finally:
            drive.lanes.leave(lane)
        if not fitting:
            return
        cases = {step.id: self._case(step) for step in fitting}
        known = self._judged_already(fitting, content)
        self._joint = _Joint(trunk, content, fitting, cases, known)
        self._judge(self._joint, known, dict.fromkeys(cases.keys() - known.keys(), content))

    def _judge(
        self, joint: _Joint, verdicts: dict[str, Verdict], contents: Mapping[str, str]
    ) -> None:
        """Begin to judge these subjects, each on its content."""
        joint.awaited = set(contents)

        def take(subject: str, verdict: Verdict) -> None:
            verdicts[subject] = verdict
            joint.awaited.discard(subject)

        for subject in sorted(contents):
            case, content = joint.cases[subject], contents[subject]
            self._drive.lanes.judge(case, content, partial(take, subject))

    def go_on(self) -> bool:
        """Land what was judged meanwhile, once all verdicts are there; true when it did anything.

        What is not kept is judged by itself, on what it was made of: does it hold at all?
        """
        joint, state = self._joint, self._drive.state
        paused = any(asked.subject is None for asked in state.questions.values())
        if joint is None or joint.awaited or paused:
            return False
        if joint.alone is None:
            held = {subject for subject, verdict in joint.verdicts.items() if verdict.kept}
            looked = self._drive.second_look
            joint.verdicts = {s.id: looked(s, joint.verdicts[s.id]) for s in joint.steps}
            if bad := joint.bad:
                left_by = {step.id: state.record(step.id).spans[-1][1] for step in bad}
                joint.alone = dict(joint.verdicts)
                # What a second look refuses holds, and would hold there too.
                moved = {i: c for i, c in left_by.items() if c != joint.content and i not in held}
                self._judge(joint, joint.alone, moved)
                return True
        self._joint = None
        if joint.alone is None:
            self._accept(joint.trunk, joint.content, joint.steps, joint.verdicts)
        else:
            self._send_back(joint, joint.alone)
        return True

    def _send_back(self, joint: _Joint, alone: Mapping[str, Verdict]) -> None:
        """Refuse those that are at fault; without them, or one by one, the others land."""
        bad = joint.bad
        settled = [step for step in bad if not alone[step.id].kept]
        refusals = (self._refusal(s, alone[s.id], joint.verdicts[s.id]) for s in settled)
        drafts = [draft for refusal in refusals for draft in refusal]
        if len(joint.steps) == 1 and not settled:
            verdict = joint.verdicts[bad[0].id]
            drafts += [self.verdict_of(replace(verdict, provisional=True))]
            drafts += [self._turned_back(bad[0], verdict)]
        elif not settled:
            self._one_by_one.update(step.id for step in joint.steps)
        if drafts:
            self._one_by_one.difference_update(step.id for step in joint.steps)
            self._drive.append(*drafts)
            self._drive.project()

    def _cannot_land(self, steps: list[Step], dear: RoomTooDear) -> None:
        """A full disk ends the drive, and the work waits; what never fits is done in line."""
        if "errno" in dear.facts:
            raise StorageFailed(
                f"the work of step {steps[0].id} cannot land: {dear.message}",
                hint="make room on the disk, then run the same command again: no work is lost",
                facts=dear.facts,
            ) from dear
        said = StepTurnedBack(f"it cannot land: {dear.message}", in_workspace=True)
        self._drive.append(*(self._back(step, said) for step in steps))

    def _judged_already(self, steps: Iterable[Step], joint: str) -> dict[str, Verdict]:
        """Kept verdicts of picked candidates on exactly this content: nothing moved meanwhile."""
        picked = {step.id: self._drive.state.record(step.id).picked for step in steps}
        return {
            subject: judged.for_good()
            for subject, judged in picked.items()
            if judged is not None and judged.kept and judged.snapshot == joint
        }

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
        maker = drive.lanes.maker
        assert maker is not None
        collided = bring_over(lane.workspace, record.base, record.spans[-1][1], maker.environ)
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
            raise ContentMoved(f"the workspace keeps changing while work lands: {names}")
        if self._moved:
            return  # what is to land is looked at again
        self._one_by_one.difference_update(step.id for step in steps)
        landed = to_builtins(StepLanded(trunk, content))
        drafts: list[Draft] = []
        for step in steps:
            verdict = verdicts[step.id]
            drafts.append(self.verdict_of(verdict))
            drafts.append(drive.draft(Kind.STEP_LANDED, landed, step.id))
            drafts.append(drive.acceptance(step, verdict.key, content))
        begin_landing(drive.work.workspace, content)
        drive.append(*drafts)
        reach(CrashPoint.LANDED)
        write_landing(drive.work.workspace, trunk, content)
        if edits := drive.attempts.notice_edits():
            drive.append(*edits)
        drive.project()

    def verdict_of(self, verdict: Verdict, attempt: int | None = None) -> Draft:
        """The entry of a verdict that was made beside the workspace; the sweep makes its own."""
        record = self._drive.state.record(verdict.subject)
        latest = record.unjudged or record.attempts
        draft = self._drive.verdict_draft(verdict, attempt or latest)
        return replace(draft, data={**draft.data, "beside": True})

    def _refusal(self, step: Step, verdict: Verdict, joint: Verdict) -> tuple[Draft, ...]:
        """An ordinary verdict, unless the attempt left ignored files: its check may need those.

        Then the no to the joint content is kept: what holds in the workspace because of such files
        alone contradicts it.
        """
        is_broken = verdict.reason is Reason.EXPECTATION
        if not (is_broken and self._drive.state.record(step.id).left_ignored):
            return (self.verdict_of(verdict),)
        said = (
            f"its check is broken without ignored files that it left in its lane: {verdict.message}"
        )
        back = StepTurnedBack(said, True, verdict.output_tail, verdict.exit_code)
        return self.verdict_of(replace(joint, provisional=True)), self._back(step, back)

    def _turned_back(self, step: Step, verdict: Verdict) -> Draft:
        said = f"with what landed meanwhile its check is {verdict.result}: {verdict.message}"
        return self._back(step, StepTurnedBack(said, False, verdict.output_tail, verdict.exit_code))

    def _back(self, step: Step, why: StepTurnedBack) -> Draft:
        return self._drive.draft(Kind.STEP_TURNED_BACK, to_builtins(why), step.id)

    def _case(self, step: Step) -> Case:
        """Case for judging beside the workspace, which stays untouched: others may work there."""
        self._drive.work.reporter.tell(Doing(step.id, "judging before it lands"))
        return replace(self._drive.case(step, Phase.ATTEMPT), provisional=True, beside=True)


def _named(paths: Iterable[str]) -> str:
    return shown_list(map(storable_path, paths), _NAMED_FILES)


def judge_candidate(drive: Drive, action: JudgeCandidate) -> None:
    """Judge what a candidate left, beside the workspace, while the others go on."""
    step, attempt = action.step, action.attempt
    record = drive.state.record(step.id)
    candidate = record.candidates[attempt]
    content = (candidate.ended and candidate.ended.snapshot) or candidate.base
    case = replace(drive.case(step, Phase.ATTEMPT), provisional=True, beside=True)
    spans = (*record.spans, (candidate.base, content))
    case = replace(case, guard=replace(case.guard, spans=spans))

    def take(verdict: Verdict) -> None:
        drive.append(drive.landing.verdict_of(replace(verdict, provisional=True), attempt))

    drive.work.reporter.tell(Doing(step.id, f"judging candidate {candidate.number}"))
    drive.lanes.judge(case, content, take, candidate=attempt)


def pick_candidate(drive: Drive, action: PickCandidate) -> None:
    """Stop the other candidates, whose cost stays counted, and take this one's work."""
    step, attempt = action.step, action.attempt
    drive.lanes.stop_candidates(step)
    several = drive.state.record(step.id).candidates
    verdict = several[attempt].verdict
    kept = verdict is not None and verdict.kept
    data = {
        "attempt": attempt,
        "candidates": sorted(several),
        "why": _WHY[step.pick] if kept else "none of them is kept",
    }
    drive.append(drive.draft(Kind.STEP_PICKED, data, step.id))


def changed_lines(workspace: Workspace, base: str, content: str) -> int:
    """Lines that were added or removed; a file that is no text counts as one."""
    before, after = workspace.changed_texts(base, content)
    count = len(workspace.diff(base, content)) - len(before.keys() | after.keys())
    for path in before.keys() | after.keys():
        old = Counter(before.get(path, "").splitlines())
        new = Counter(after.get(path, "").splitlines())
        count += (old - new).total() + (new - old).total()
    return count
