"""Checks judged for no attempt: before any work, and on the final content; who broke what."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import Cause, Kind, Outcome
from signoff.domain.plan import Contract, Effects, Postcondition, Step
from signoff.domain.snapshot import Change
from signoff.domain.text import shown_list, storable_path
from signoff.domain.verdict import Phase, Reason, Result, Verdict
from signoff.errors import ContentMoved, StorageFailed
from signoff.gate.actions import Count, Sweep
from signoff.gate.beside import works_while_looked_at
from signoff.gate.gate import Gate, evaluate
from signoff.gate.subjects import StepState, is_stale
from signoff.orchestrator import escalations
from signoff.orchestrator.events import Doing
from signoff.testing.crash import CrashPoint, reach
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.evidence import Case
from signoff.verification.judge import Judge
from signoff.verification.trials import may_differ_here
from signoff.verification.verdicts import compare
from signoff.workspace.folders import opened_root, remove_tree

if TYPE_CHECKING:
    from signoff.orchestrator.drive import Drive

MOST_JUDGINGS = 8


class AttemptContent(Struct, frozen=True):
    """The content after one attempt; `label` names the attempt for people."""

    label: str
    snapshot: str


def find_suspects(
    judge: Judge, contract: Contract, last_kept: str, moments: Sequence[AttemptContent]
) -> tuple[str, ...]:
    """Labels of the attempts that may have broken the contract, as few as can be shown.

    Restored copies are judged, so the answer is only narrowed when the two ends behave in a copy
    as they did in the workspace (a copy has no by-products); otherwise every attempt that changed
    something is named.
    """
    changed = _changed(last_kept, moments)
    everyone = tuple(m.label for m in changed)
    if len(changed) <= 1 or contract.effects is Effects.EXTERNAL:
        return everyone
    holds = _bounded(lambda digest: _holds_in_copy(judge, contract, digest))
    if holds(last_kept) is not True or holds(changed[-1].snapshot) is not False:
        return everyone
    low, high = 0, len(changed) - 1
    while low < high:
        middle = (low + high) // 2
        held = holds(changed[middle].snapshot)
        if held is None:
            return tuple(m.label for m in changed[low : high + 1])
        low, high = (middle + 1, high) if held else (low, middle)
    return (changed[low].label,)


def _changed(last_kept: str, moments: Sequence[AttemptContent]) -> list[AttemptContent]:
    """The moments whose content differs from the one before."""
    before = (last_kept, *(moment.snapshot for moment in moments))
    return [m for m, then in zip(moments, before, strict=False) if m.snapshot != then]


def _bounded(holds: Callable[[str], bool | None]) -> Callable[[str], bool | None]:
    left = MOST_JUDGINGS

    def bounded(digest: str) -> bool | None:
        nonlocal left
        if left == 0:
            return None
        left -= 1
        return holds(digest)

    return bounded


def _holds_in_copy(judge: Judge, contract: Contract, digest: str) -> bool | None:
    """True when the contract holds on a restored copy; None when that could not be judged."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="signoff-suspect-"))
    except OSError:
        return None
    try:
        judge.workspace.restore(digest, folder / "copy")
        seen = judge.runner.run(contract, JudgingPlace(folder / "copy"))
    except StorageFailed:
        # Naming fewer suspects is a service; a full disk here must not stop the run.
        return None
    finally:
        # All of it, folders that the contract made read-only included.
        with opened_root(folder.parent) as parent_fd:
            remove_tree(parent_fd, folder.name)
    result = compare(contract, seen.observation).result
    return None if result is Result.UNKNOWN else result is Result.KEPT


class Baselines:
    """Judges checks before the work: how many tests they count, and whether they are red."""

    def __init__(self, drive: Drive):
        self._drive = drive
        self._counted: dict[str, Verdict] = {}  # until those before it are noted down
        self._judging: dict[str, Contract | None] = {}  # beside the workspace, before any work

    @property
    def held(self) -> frozenset[str]:
        """Subjects that are counted, or find their verdict made once another one is judged."""
        state, contract_of = self._drive.state, self._contract_of
        first = {contract: subject for subject, contract in self._judging.items()}
        for subject in state.uncounted:
            first.setdefault(contract_of(subject), subject)
        again = {s for s in state.uncounted or self._unseen() if first.get(contract_of(s), s) != s}
        return frozenset(again.union(self._counted))

    def _contract_of(self, subject: str) -> Contract | None:
        return self._drive.state.judged_as(self._drive.subject(subject))

    def _unseen(self) -> list[str]:
        """Steps whose checks nobody looked at, where one is being looked at."""
        state = self._drive.state
        steps = (s.id for s in state.schedule.steps if self._judging)
        return [s for s in steps if not state.record(s).before and not state.record(s).attempts]

    def count(self, action: Count) -> None:
        """Count a contract's tests before anybody works; later verdicts are held to the number."""
        subject = self._drive.subject(action.subject)
        if not self.judge_beside(subject, Phase.BASELINE, self._note):
            self._note(self._drive.judge(subject, Phase.BASELINE))

    def _note(self, verdict: Verdict) -> None:
        """Note down what is counted, in the order in which it would be in line."""
        drive = self._drive
        self._counted[verdict.subject] = verdict
        while drive.state.uncounted and drive.state.uncounted[0] in self._counted:
            first = self._counted.pop(drive.state.uncounted[0])
            drive.append(drive.verdict_draft(first), durable=False)

    def judge_beside(
        self, subject: Step | Postcondition, phase: Phase, note: Callable[[Verdict], None]
    ) -> bool:
        """Judge what lies in the workspace now beside it, while other things go on, if that can be.

        What cannot be told there is judged again in the workspace itself.
        """
        drive = self._drive
        if not drive.lanes.judges(subject):
            return False
        drive.work.reporter.tell(Doing(subject.id, "judging"))
        case = replace(drive.case(subject, phase), beside=True)
        content = drive.work.workspace.snapshot().digest
        # On what was approved nobody is paid before it is known whether the check works at all.
        looks = phase is Phase.BEFORE and content != drive.work.pins.snapshot
        if looks and isinstance(subject, Step):
            looks = works_while_looked_at(subject, drive.state, drive.work.settings.policy)
        if not looks:
            self._judging[subject.id] = case.contract
        take = partial(self._take, subject, case, note)
        drive.lanes.judge(case, content, take, in_passing=looks)
        return True

    def _take(
        self,
        subject: Step | Postcondition,
        case: Case,
        note: Callable[[Verdict], None],
        verdict: Verdict,
    ) -> None:
        drive = self._drive
        self._judging.pop(subject.id, None)
        if drive.lanes.closing:
            return
        if verdict.result is Result.UNKNOWN:
            if not drive.state.record(subject.id).attempts:
                note(drive.judge(subject, case.phase))
        elif may_differ_here(case, verdict, drive.work.pins.snapshot, drive.run_judge.rooms):
            note(drive.try_here(case, verdict))
        else:
            note(verdict)


MOST_ROUNDS = 5
NAMED_FILES = 10


class FinalSweep:
    """perform() → stale steps → postconditions → gate on a fresh snapshot → sign-off.

    A regression ends the round: its repair changes the content, so the rest would be stale again.
    """

    def __init__(self, drive: Drive):
        self._drive = drive
        self._ahead: dict[str, Verdict] = {}  # judged side by side, to be noted down in order

    def perform(self, _action: Sweep) -> None:
        """One or more rounds, until signed off, or until somebody must act."""
        moving: tuple[Change, ...] = ()
        for _ in range(MOST_ROUNDS):
            content = self._drive.work.workspace.snapshot().digest
            self._ahead = self._judge_side_by_side(content)
            if not (self._steps_hold(content) and self._postconditions_hold(content)):
                return
            # A verdict about other content, or a change since, makes another round necessary.
            fresh = self._drive.work.workspace.snapshot().digest
            if fresh == content and not self._anything_stale(content):
                self._sign_off(content)
                return
            moving = self._drive.work.workspace.diff(content, fresh) or moving
        names = shown_list((storable_path(c.path) for c in moving), NAMED_FILES)
        raise ContentMoved(f"the workspace keeps changing although no agent is at work: {names}")

    def _judge_side_by_side(self, content: str) -> dict[str, Verdict]:
        """Judge each distinct contract once that can be judged beside the workspace.

        The others are judged in line, where the same contract finds its verdict made already.
        """
        drive, state = self._drive, self._drive.state
        due: dict[Contract, Case] = {}
        subjects: tuple[Step | Postcondition, ...] = (
            *state.schedule.steps,
            *drive.work.plan.postconditions,
        )
        for subject in subjects:
            record, contract = state.record(subject.id), subject.contract
            waiting = record.latest is None and isinstance(subject, Postcondition)
            stale = waiting or is_stale(contract, record, content)
            if stale and contract and not record.waived and drive.lanes.judges(subject):
                due.setdefault(contract, replace(drive.case(subject, Phase.SWEEP), beside=True))
        cases = {case.subject: case for case in due.values()}
        if len(cases) < 2:
            return {}
        found = drive.lanes.judge_all(cases, dict.fromkeys(cases, content))
        return {i: v for i, v in found.items() if v.reason is not Reason.INFRASTRUCTURE}

    def _judge(self, subject: Step | Postcondition) -> Verdict:
        verdict = self._ahead.pop(subject.id, None) or self._drive.judge(subject, Phase.SWEEP)
        if not subject.rubric:
            return verdict
        from signoff.orchestrator.opinions import opinion_on  # noqa: PLC0415 - few have a rubric

        return opinion_on(self._drive, subject, verdict)

    def _anything_stale(self, content: str) -> bool:
        report = evaluate(self._drive.state, content)
        subjects = (*report.steps, *report.postconditions)
        # A waived one is not judged any more, so its old verdict stays about old content.
        return any(s.stale for s in subjects if s.state is not StepState.WAIVED)

    def _steps_hold(self, content: str) -> bool:
        state = self._drive.state
        for step in state.schedule.steps:
            record = state.record(step.id)
            if record.waived:
                continue
            if not is_stale(step.contract, record, content):
                if not self._protection_holds(step, content):
                    return False
                continue
            verdict = self._judge(step)
            if not verdict.kept:
                self._reopen(step, verdict)
                return False
            self._drive.append(self._drive.verdict_draft(verdict), durable=False)
            reach(CrashPoint.SWEEP_JUDGED)
        return True

    def _protection_holds(self, step: Step, content: str) -> bool:
        """A contract that is not judged again protects until the sign-off all the same."""
        latest = self._drive.state.record(step.id).latest
        if not step.protects or latest is None or latest.snapshot == content:
            return True
        case = self._drive.case(step, Phase.SWEEP)
        # What steers a contract matters only while it runs, and this one was judged for good.
        guard = replace(case.guard, influences=None)
        verdict = self._drive.run_judge.guard_only(replace(case, guard=guard))
        if verdict is not None:
            self._reopen(step, verdict)
        return verdict is None

    def _reopen(self, step: Step, verdict: Verdict) -> None:
        drive = self._drive
        suspects = self._suspects(step)
        drive.append(
            drive.verdict_draft(verdict),
            drive.draft(Kind.STEP_REOPENED, {"suspects": list(suspects)}, step.id),
        )
        drive.project(now=True)

    def _suspects(self, step: Step) -> tuple[str, ...]:
        drive = self._drive
        kept = drive.state.record(step.id).latest
        contract = drive.state.judged_as(step)
        assert kept is not None and contract is not None
        drive.work.reporter.tell(Doing(step.id, "looking for the change that broke it"))
        later = [
            AttemptContent(label, s) for seq, label, s in drive.state.moments if seq > kept.seq
        ]
        return find_suspects(drive.run_judge, contract, kept.snapshot, later)

    def _postconditions_hold(self, content: str) -> bool:
        drive = self._drive
        ok = True
        for post in drive.work.plan.postconditions:
            record = drive.state.record(post.id)
            if record.waived:
                continue
            if post.contract is None:
                ok = self._person_says_so(post, content) and ok
            elif record.latest is None or is_stale(post.contract, record, content):
                ok = self._judge_postcondition(post) and ok
            elif not record.latest.kept:
                self._ask(post, f"{post.text}: {record.latest.message}")
                ok = False
        return ok

    def _person_says_so(self, post: Postcondition, content: str) -> bool:
        """True when a person vouched for this content; a word about other content is not enough."""
        drive = self._drive
        vouched = drive.state.record(post.id).vouched
        if vouched is not None and vouched.snapshot == content:
            return True
        allowed = not drive.work.settings.policy.forbid_waivers
        told: tuple[str, ...] = ()
        if post.rubric:
            from signoff.orchestrator.opinions import opinion_for_person  # noqa: PLC0415 - rare

            told = opinion_for_person(drive, post, content)
        drive.append(escalations.ask_for_word(drive.state, post, content, told, allowed=allowed))
        return False

    def _judge_postcondition(self, post: Postcondition) -> bool:
        drive = self._drive
        verdict = self._judge(post)
        drive.append(drive.verdict_draft(verdict))
        if not verdict.kept:
            self._ask(post, f"{post.text}: {verdict.message}")
        return verdict.kept

    def _ask(self, post: Postcondition, why: str) -> None:
        drive = self._drive
        latest = drive.state.record(post.id).latest
        context = {
            "contract": post.contract.command if post.contract else "",
            "output_tail": latest.output_tail if latest else "",
            **escalations.held_out_output(latest),
            **escalations.opinion_beside(drive.state.record(post.id)),
        }
        undecided = drive.state.record(post.id).undecided
        cause = Cause.OPINION if undecided else Cause.POSTCONDITION
        question = f"postcondition {post.number} does not hold: {why}"
        drive.append(drive.question(cause, question, post.id, context))

    def _sign_off(self, content: str) -> None:
        """The gate has the last word, on a snapshot taken after everything was judged."""
        drive = self._drive
        report = evaluate(drive.state, content)
        if report.gate is Gate.SHUT:
            why = "; ".join(f"{m.subject}: {m.what}" for m in report.missing)
            ended = {"outcome": Outcome.FAILED, "snapshot": drive.state.snapshot, "why": why}
        else:
            reach(CrashPoint.BEFORE_FINISH)
            ended = {"outcome": Outcome.DONE, "snapshot": content}
        drive.append(drive.draft(Kind.RUN_FINISHED, {**ended, "waived": drive.waived()}))
