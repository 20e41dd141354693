"""Attempts: a step given to its role, and what is left of one when the driver died."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from signoff.agents.assignment import Assignment, AttemptReport, UsageLimit
from signoff.agents.prompt import build_prompt, gather
from signoff.domain.digests import digest_bytes
from signoff.domain.facts import SessionWork
from signoff.domain.globs import matches_any
from signoff.domain.ledger import Cause, Draft, Kind
from signoff.domain.plan import Step
from signoff.domain.snapshot import Snapshot
from signoff.domain.text import storable_path
from signoff.domain.verdict import Ending
from signoff.errors import Interrupted, SnapshotTooSlow, StorageFailed, WorkspaceMissing
from signoff.gate.actions import Abandon, Dispatch
from signoff.gate.state import Grant, attempt_limit_s, shortfall
from signoff.orchestrator import escalations
from signoff.orchestrator.events import Doing, Printed
from signoff.orchestrator.landing import changed_lines
from signoff.orchestrator.openrun import (
    Lane,
    OpenRun,
    Restored,
    clean_report_file,
    left_tampered,
    lost_attempt,
    lost_attempts,
    marker,
    meter_file,
    restore_tampered,
    setback_of,
)
from signoff.places import ATTEMPT_VARIABLE
from signoff.settings.roles import HUMAN_ROLE, Role, RoleKind
from signoff.testing.crash import CrashPoint, reach
from signoff.verification.handoff import changed_handoffs, handoff_files
from signoff.verification.verdicts import output_tail

if TYPE_CHECKING:
    from signoff.orchestrator.drive import Drive

COSTLY_ATTEMPT_S = 1.0
IN_SESSION = "in-session"


class Attempts:
    """dispatch() → budget? → restore protected files → prompt → agent → snapshot → edits?"""

    def __init__(self, drive: Drive):
        self._drive = drive

    def dispatch(self, action: Dispatch) -> None:
        """Give the step to its role, or say why that cannot be."""
        drive, step = self._drive, action.step
        self.clear_ground(step)
        short = shortfall(drive.state, step)
        if drive.work.session is not None and step.target != HUMAN_ROLE:
            self._take_work(drive.work.session, step, action.attempt)
        elif short is not None:
            drive.ask(Cause.BUDGET, short, None, {"step": step.id})
        elif step.target == HUMAN_ROLE:
            self._ask_person(step, action.attempt)
        else:
            self._choose_place(step, action.attempt, action.candidate)

    def _choose_place(self, step: Step, attempt: int, candidate: int) -> None:
        """Let the agent work in a lane once there is one, else in the workspace now."""
        drive = self._drive
        if candidate or drive.lanes.wants(step):
            drive.lanes.enter(step, partial(self._let_agent_work, step, attempt, candidate))
        elif drive.landing.steps or (drive.state.record(step.id).turned_back and drive.lanes.busy):
            drive.lanes.wait()  # until nothing can land while it works; then it is chosen again
        else:
            self._let_agent_work(step, attempt, 0, None, drive.work, None)

    def abandon(self, action: Abandon) -> None:
        """Clear up after an attempt whose driver died; it is repeated, not counted as a failure."""
        work = self._drive.work
        self._drive.append(lost_attempt(work.run, work.exchange, action.step, action.attempt))

    def abandon_all(self) -> None:
        """End the agents of a driver that died, before a run ends early: none may outlive it."""
        for draft in lost_attempts(self._drive.state, self._drive.work.exchange):
            self._drive.append(draft)

    def _ask_person(self, step: Step, attempt: int) -> None:
        drive = self._drive
        question, context = escalations.about_human(step, drive.state.record(step.id))
        started = drive.draft(Kind.ATTEMPT_STARTED, {"role": HUMAN_ROLE}, step.id, attempt)
        drive.append(started, drive.question(Cause.HUMAN, question, step.id, context))
        drive.project(now=True)

    def _let_agent_work(
        self,
        step: Step,
        attempt: int,
        candidate: int,
        lane: Lane | None,
        work: OpenRun,
        base: Snapshot | None,
    ) -> None:
        drive = self._drive
        record = drive.state.record(step.id)
        # One after the other, candidates take turns.
        name = step.roles[((candidate or attempt) - 1) % len(step.roles)]
        role = work.settings.roles[name]
        restored = self._restore_protected(step, work)
        if restored is None:
            if lane is not None:
                drive.lanes.leave(lane)
            return
        prompt = build_prompt(
            work.plan.title,
            work.plan.context,
            replace(step, protects=work.guards.protected_from(step)),
            gather(step.subscriptions, work.root, work.read_topic),
            setback_of(record, restored),
            record.advice,
            reviews=role.kind is RoleKind.REVIEW,
            deciding=work.guards.deciding(step),
            bound=work.guards.bound_of(step),
        )
        grant = drive.lanes.grant(step, alone=lane is None)
        timeout_s = attempt_limit_s(step.timeout_s, role.timeout_s, grant.wall_s)
        reach(CrashPoint.BEFORE_ATTEMPT)
        stored = work.ledger.redactor.text(prompt).encode("utf-8", "replace")
        started = self._started(step, role, attempt, digest_bytes(stored), timeout_s, restored)
        if lane is not None and base is not None:
            started.data.update(lane=lane.number, base=base.digest)
            started.data.update({"candidate": candidate} if candidate else {})
        drive.append(started, durable=False, blobs=(stored,))
        drive.project()
        reach(CrashPoint.ATTEMPT_STARTED)
        where = f" in lane {lane.number}" if lane is not None else ""
        work.reporter.tell(Doing(step.id, f"{role.name} works{where}"))
        assignment = self._assignment(step, attempt, role, prompt, timeout_s, grant, work)
        if lane is None or base is None:
            self._ended(step, attempt, work, None, work.agent.work(assignment))
            return
        take = partial(self._ended, step, attempt, work, (lane.number, base.environment))
        drive.lanes.start(step, lane, work.agent, assignment, take, attempt if candidate else 0)

    def _ended(
        self,
        step: Step,
        attempt: int,
        work: OpenRun,
        lane: tuple[int, str] | None,
        report: AttemptReport,
    ) -> None:
        """Note down how the attempt ended and what it left; of a lane, beside its content too."""
        drive = self._drive
        if report.observation.ending is Ending.CANCELLED:
            if not work.ousted():
                drive.append(self._interrupted(step, attempt, report))
            raise Interrupted(f"step {step.id} was interrupted")
        reach(CrashPoint.AGENT_ENDED)
        if report.limit is not None:
            self._park(step, attempt, report, report.limit)
            return
        ended = self._finished(step, attempt, work, report)
        if lane is not None:
            number, environment = lane
            now = work.workspace.digest_now().environment
            ended[0].data.update(lane=number, left_ignored=now != environment)
            candidate = drive.state.record(step.id).candidates.get(attempt)
            if candidate is not None:
                lines = changed_lines(work.workspace, candidate.base, ended[0].data["snapshot"])
                ended[0].data.update(changed_lines=lines)
        # After a power cut a short attempt is cheaper to repeat than every attempt is to sync.
        costly = report.observation.duration_s >= COSTLY_ATTEMPT_S or report.usage is not None
        drive.append(*ended, durable=costly or len(ended) > 1)
        meter_file(work.exchange, marker(work.run, step.id, attempt)).unlink(missing_ok=True)
        for what in ("answer", "prompt"):  # as they were said; the ledger has them without secrets
            self._report_file(step, attempt, what)
        reach(CrashPoint.ATTEMPT_FINISHED)

    def _assignment(
        self,
        step: Step,
        attempt: int,
        role: Role,
        prompt: str,
        timeout_s: float,
        grant: Grant,
        work: OpenRun,
    ) -> Assignment:
        """The agent's assignment, with files of its own that are not there yet."""
        metered = meter_file(work.exchange, marker(work.run, step.id, attempt))
        metered.unlink(missing_ok=True)  # of the attempt before
        return Assignment(
            role=role,
            prompt=prompt,
            workspace=work.shown_at or work.root,
            usage_file=self._report_file(step, attempt, "usage"),
            answer_file=self._report_file(step, attempt, "answer"),
            timeout_s=timeout_s,
            variables={
                "SIGNOFF_PLAN": str(work.plan_path),
                "SIGNOFF_STEP": step.id,
                ATTEMPT_VARIABLE: marker(work.run, step.id, attempt),
            },
            cancelled=work.cancelled,
            on_output=lambda chunk: work.reporter.tell(Printed(chunk)),
            prompt_file=self._report_file(step, attempt, "prompt"),
            meter_file=metered,
            tokens_left=grant.tokens,
            usd_left=grant.usd,
        )

    def _interrupted(self, step: Step, attempt: int, report: AttemptReport) -> Draft:
        """An attempt that somebody stopped is repeated; what it cost is counted."""
        seen = report.observation
        data = {
            "lost": True,
            "ending": seen.ending,
            "duration_s": round(seen.duration_s, 6),
            "leftovers_killed": seen.leftovers_killed,
            "usage": report.usage and report.usage.to_data(),
        }
        return self._drive.draft(Kind.ATTEMPT_FINISHED, data, step.id, attempt)

    def _park(self, step: Step, attempt: int, report: AttemptReport, limit: UsageLimit) -> None:
        """The model would not serve it: no attempt is counted, what was used is; try again later.

        An agent may have made it up, so a person is asked in the end.
        """
        drive = self._drive
        ended = self._interrupted(step, attempt, report)
        ended = replace(ended, data={**ended.data, "limited": limit.said})
        asked = escalations.park(drive.state, step, limit, drive.work.clock())
        drive.append(ended, asked, *self.notice_edits())
        self._report_file(step, attempt, "prompt")
        reach(CrashPoint.ESCALATED)
        drive.project(now=True)

    def _take_work(self, session: SessionWork, step: Step, attempt: int) -> None:
        """The step was worked on in a session that is over: nobody is asked, only judged."""
        drive = self._drive
        restored = self._restore_protected(step, drive.work)
        if restored is None:
            return
        content = self._content(step, drive.work)
        began = {"role": step.target, "session": session.id, "restored": list(restored.paths)}
        # A session counts what it used as a whole, so one attempt tells it and no other.
        told = session.id in drive.state.usage_told
        ended: dict[str, Any] = {
            "session": session.id,
            "ending": IN_SESSION,
            "duration_s": 0.0,
            "usage": None if told else session.usage,
            "handoff": self._handoff(step, content, drive.work),
            "snapshot": content,
        }
        drive.append(
            drive.draft(Kind.ATTEMPT_STARTED, began, step.id, attempt),
            drive.draft(Kind.ATTEMPT_FINISHED, ended, step.id, attempt),
            *self.notice_edits(),
        )

    def _started(
        self,
        step: Step,
        role: Role,
        attempt: int,
        prompt: str,
        timeout_s: float,
        restored: Restored,
    ) -> Draft:
        data = {
            "role": role.name,
            "role_kind": role.kind,
            "prompt": prompt,
            "timeout_s": timeout_s,
            "restored": list(restored.paths),
        }
        return self._drive.draft(Kind.ATTEMPT_STARTED, data, step.id, attempt)

    def _finished(
        self, step: Step, attempt: int, work: OpenRun, report: AttemptReport
    ) -> list[Draft]:
        """The attempt's end, and a pause when plan or configuration were edited meanwhile."""
        drive, seen, answer = self._drive, report.observation, report.answer
        content = self._content(step, work)
        unchanged = content == (drive.state.record(step.id).began_on(attempt) or work.pins.snapshot)
        data: dict[str, Any] = {
            "ending": seen.ending,
            "exit_code": seen.exit_code,
            "why": report.why,
            **({"obstacle": report.obstacle} if unchanged else {}),
            "duration_s": round(seen.duration_s, 6),
            "leftovers_killed": seen.leftovers_killed,
            "output_tail": report.words or output_tail(seen, drive.work.ledger.redactor),
            "stdout_sha256": seen.stdout.sha256,
            "stderr_sha256": seen.stderr.sha256,
            "usage": report.usage and report.usage.to_data(),
            "usage_unreadable": report.usage_unreadable,
            "answer": answer and {"kind": answer.kind, "reason": answer.reason},
            "isolation": drive.work.agent_isolation,
            "handoff": self._handoff(step, content, work),
            "snapshot": content,
            **({"denied_hosts": list(seen.denied_hosts)} if seen.denied_hosts else {}),
        }
        return [drive.draft(Kind.ATTEMPT_FINISHED, data, step.id, attempt), *self.notice_edits()]

    def _content(self, step: Step, work: OpenRun) -> str:
        """The content that an attempt left; the one before it where looking takes too long.

        Judging it then says so: the verdict is unknown.
        """
        try:
            with work.workspace.time_limit(step.timeout_s):
                taken = work.workspace.snapshot()
                self._drive.left = taken if work is self._drive.work else None
                return taken.digest
        except SnapshotTooSlow:
            return self._drive.state.snapshot or work.pins.snapshot

    def notice_edits(self) -> list[Draft]:
        """Entries that pause the run when what was pinned is not what lies there now."""
        drive = self._drive
        edited = drive.work.watch.edited()
        if edited is None or edited[0] in drive.state.noticed:
            return []
        if not drive.work.root.is_dir():
            raise WorkspaceMissing(f"the workspace `{drive.work.root}` is gone")
        digest, difference = edited
        told, question = {"difference": difference}, drive.work.watch.question()
        return [
            drive.draft(Kind.PLAN_EDITED, {"digest": digest, **told}),
            drive.question(Cause.PLAN_EDITED, question, None, told),
        ]

    def clear_ground(self, step: Step) -> None:
        """Put back what another step's agent tampered with: this step does not answer for it.

        Until somebody else goes on, it stays as it is for the person to see.
        """
        drive = self._drive
        for subject, record in left_tampered(drive.state, step.id):
            try:
                paths = list(restore_tampered(drive.work, drive.state, record).paths)
            except StorageFailed:
                continue  # this step will be told, and ask what is to be done
            if paths:
                drive.append(drive.draft(Kind.STEP_CLEARED, {"paths": paths}, subject))

    def _restore_protected(self, step: Step, work: OpenRun) -> Restored | None:
        """Put tampered files back; None when something is in the way and a person was asked."""
        drive, record = self._drive, self._drive.state.record(step.id)
        try:
            return restore_tampered(work, drive.state, record)
        except StorageFailed as error:
            question, context = escalations.about_blocked(step, record, error)
            drive.ask(Cause.TAMPERED, question, step, context)
            return None

    def _report_file(self, step: Step, attempt: int, what: str) -> Path:
        work = self._drive.work
        return clean_report_file(work.exchange, marker(work.run, step.id, attempt), what)

    def _handoff(self, step: Step, content: str, work: OpenRun) -> dict[str, str]:
        """Changed files that other tools execute, unless the step is there to change them."""
        state = self._drive.state
        known = {**work.pins.handoff, **state.handoff}
        before = state.record(step.id).base or state.snapshot or work.pins.snapshot
        changes = work.workspace.diff(before, content)
        now, installed = handoff_files(work.root), work.guards.installed
        if work is not self._drive.work:
            # Nothing but content lands: whatever else lies in a lane makes no program act.
            moved = {storable_path(change.path) for change in changes}
            elsewhere = {name: seen for name, seen in known.items() if name not in moved}
            now = elsewhere | {name: seen for name, seen in now.items() if name in moved}
        found = changed_handoffs(known, now, changes, installed)
        meant = (*step.produces, *(step.contract.may_change if step.contract else ()))
        return {path: seen for path, seen in found.items() if not matches_any(meant, path)}
