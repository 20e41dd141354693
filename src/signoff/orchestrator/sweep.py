"""The final sweep: every stale contract on the final content, the postconditions, then sign-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signoff.domain.escalation import Cause
from signoff.domain.ledger import Kind
from signoff.domain.plan import Postcondition, Step
from signoff.domain.snapshot import Change
from signoff.domain.text import storable_path
from signoff.domain.verdict import Phase, Verdict
from signoff.errors import ContentMoved
from signoff.gate.actions import Sweep
from signoff.gate.gate import Gate, evaluate
from signoff.gate.subjects import StepState, is_stale
from signoff.orchestrator import escalations
from signoff.orchestrator.events import Doing
from signoff.testing.crash import CrashPoint, reach
from signoff.verification.suspects import AttemptContent, find_suspects

if TYPE_CHECKING:
    from signoff.orchestrator.drive import Drive

MOST_ROUNDS = 5
NAMED_FILES = 10


class FinalSweep:
    """perform() → stale steps → postconditions → gate on a fresh snapshot → sign-off.

    A regression ends the round: its repair changes the content, so the rest would be stale again.
    """

    def __init__(self, drive: Drive):
        self._drive = drive

    def perform(self, _action: Sweep) -> None:
        """One or more rounds, until signed off, or until somebody must act."""
        moving: tuple[Change, ...] = ()
        for _ in range(MOST_ROUNDS):
            content = self._drive.work.workspace.snapshot().digest
            if not (self._steps_hold(content) and self._postconditions_hold(content)):
                return
            # A verdict about other content, or a change since, makes another round necessary.
            fresh = self._drive.work.workspace.snapshot().digest
            if fresh == content and not self._anything_stale(content):
                self._sign_off(content)
                return
            moving = self._drive.work.workspace.diff(content, fresh) or moving
        names = ", ".join(f"`{storable_path(c.path)}`" for c in moving[:NAMED_FILES])
        raise ContentMoved(f"the workspace keeps changing although no agent is at work: {names}")

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
            verdict = self._drive.judge(step, Phase.SWEEP)
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
        verdict = self._drive.tampered(step)
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
        assert kept is not None and step.contract is not None
        drive.work.reporter.tell(Doing(step.id, "looking for the change that broke it"))
        later = [
            AttemptContent(label, s) for seq, label, s in drive.state.moments if seq > kept.seq
        ]
        return find_suspects(drive.court, step.contract, kept.snapshot, later)

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
        """Nobody else can tell; a word about other content is asked for again."""
        drive = self._drive
        vouched = drive.state.record(post.id).vouched
        if vouched is not None and vouched.snapshot == content:
            return True
        allowed = not drive.work.settings.policy.forbid_waivers
        drive.append(escalations.ask_for_word(drive.state, post, content, allowed=allowed))
        return False

    def _judge_postcondition(self, post: Postcondition) -> bool:
        drive = self._drive
        verdict = drive.judge(post, Phase.SWEEP)
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
        }
        question = f"postcondition {post.number} does not hold: {why}"
        drive.append(drive.question(Cause.POSTCONDITION, question, post.id, context))

    def _sign_off(self, content: str) -> None:
        """The gate has the last word, on a snapshot taken after everything was judged."""
        drive = self._drive
        report = evaluate(drive.state, content)
        if report.gate is Gate.SHUT:
            drive.fail_run("; ".join(f"{m.subject}: {m.what}" for m in report.missing))
        else:
            drive.finish_done(content)
