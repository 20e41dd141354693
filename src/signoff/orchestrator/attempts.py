"""Attempts: a step given to its role, and what is left of one when the driver died."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signoff.agents.assignment import ATTEMPT_VARIABLE, Assignment, AttemptReport, read_usage
from signoff.agents.prompt import Setback, build_prompt, gather
from signoff.domain.digests import digest_bytes
from signoff.domain.escalation import Cause
from signoff.domain.facts import SessionWork
from signoff.domain.globs import matches_any
from signoff.domain.ledger import Draft, Kind
from signoff.domain.observation import Ending
from signoff.domain.plan import Step
from signoff.domain.snapshot import Change, ChangeKind
from signoff.domain.text import storable_path
from signoff.domain.verdict import Reason
from signoff.errors import Interrupted, SnapshotTooSlow, StorageFailed, WorkspaceMissing
from signoff.gate.actions import Abandon, Dispatch, shortfall, wall_left_s
from signoff.gate.record import Judged, Record
from signoff.gate.state import State
from signoff.orchestrator import escalations
from signoff.orchestrator.events import Doing, Printed
from signoff.orchestrator.openrun import OpenRun
from signoff.process.leftovers import kill_marked
from signoff.settings.loading import HUMAN_ROLE, RoleKind
from signoff.testing.crash import CrashPoint, reach
from signoff.verification.handoff import changed_handoffs, handoff_files
from signoff.verification.protection import file_of
from signoff.verification.verdicts import output_tail

if TYPE_CHECKING:
    from signoff.orchestrator.drive import Drive

COSTLY_ATTEMPT_S = 1.0
IN_SESSION = "in-session"
_CHANGED_THE_CHECK = frozenset({Reason.TAMPERED, Reason.INFLUENCED, Reason.OUTSIDE})


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
            self._let_agent_work(step, action.attempt)

    def abandon(self, action: Abandon) -> None:
        """Clear up after an attempt whose driver died; it is repeated, not counted as a failure."""
        work = self._drive.work
        self._drive.append(_lost(work.run, work.exchange, action.step, action.attempt))

    def abandon_all(self) -> None:
        """Before a run ends early: no agent of a driver that died may outlive it."""
        for draft in lost_attempts(self._drive.state, self._drive.work.exchange):
            self._drive.append(draft)

    def _ask_person(self, step: Step, attempt: int) -> None:
        drive = self._drive
        question, context = escalations.about_human(step, drive.state.record(step.id))
        started = drive.draft(Kind.ATTEMPT_STARTED, {"role": HUMAN_ROLE}, step.id, attempt)
        drive.append(started, drive.question(Cause.HUMAN, question, step.id, context))
        drive.project(now=True)

    def _let_agent_work(self, step: Step, attempt: int) -> None:
        drive, work = self._drive, self._drive.work
        role = work.settings.roles[step.target]
        record = drive.state.record(step.id)
        restored = self._restore_protected(step)
        if restored is None:
            return
        prompt = build_prompt(
            work.plan.title,
            work.plan.context,
            replace(step, protects=work.guards.protected_from(step)),
            gather(step.subscriptions, work.root, work.read_topic),
            _setback(record, restored),
            record.advice,
            reviews=role.kind is RoleKind.REVIEW,
            deciding=work.guards.deciding(step),
            bound=work.guards.bound_of(step),
        )
        timeout_s = self._timeout_s(step, role.timeout_s)
        reach(CrashPoint.BEFORE_ATTEMPT)
        stored = work.ledger.redactor.text(prompt).encode("utf-8", "replace")
        started = self._started(step, attempt, digest_bytes(stored), timeout_s, restored)
        drive.append(started, durable=False, blobs=(stored,))
        drive.project()
        reach(CrashPoint.ATTEMPT_STARTED)
        work.reporter.tell(Doing(step.id, f"{role.name} works"))
        report = work.agent.work(
            Assignment(
                role=role,
                prompt=prompt,
                workspace=work.root,
                usage_file=self._clean_report_file(step, attempt, "usage"),
                answer_file=self._clean_report_file(step, attempt, "answer"),
                timeout_s=timeout_s,
                variables={
                    "SIGNOFF_PLAN": str(work.plan_path),
                    "SIGNOFF_STEP": step.id,
                    ATTEMPT_VARIABLE: _marker(work.run, step.id, attempt),
                },
                cancelled=work.cancelled,
                on_output=lambda chunk: work.reporter.tell(Printed(chunk)),
                prompt_file=self._clean_report_file(step, attempt, "prompt"),
            )
        )
        if report.observation.ending is Ending.CANCELLED:
            if not work.ousted():
                drive.append(self._interrupted(step, attempt, report))
            raise Interrupted(f"step {step.id} was interrupted")
        reach(CrashPoint.AGENT_ENDED)
        ended = self._finished(step, attempt, report)
        # After a power cut a short attempt is cheaper to repeat than every attempt is to sync.
        costly = report.observation.duration_s >= COSTLY_ATTEMPT_S or report.usage is not None
        drive.append(*ended, durable=costly or len(ended) > 1)
        for what in ("answer", "prompt"):  # as they were said; the ledger has them without secrets
            self._clean_report_file(step, attempt, what)
        reach(CrashPoint.ATTEMPT_FINISHED)

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

    def _take_work(self, session: SessionWork, step: Step, attempt: int) -> None:
        """The step was worked on in a session that is over: nobody is asked, only judged."""
        drive = self._drive
        restored = self._restore_protected(step)
        if restored is None:
            return
        content = self._content(step)
        began = {"role": step.target, "session": session.id, "restored": list(restored.paths)}
        # A session counts what it used as a whole, so one attempt tells it and no other.
        told = session.id in drive.state.usage_told
        ended: dict[str, Any] = {
            "session": session.id,
            "ending": IN_SESSION,
            "duration_s": 0.0,
            "usage": None if told else session.usage,
            "handoff": self._handoff(step, content),
            "snapshot": content,
        }
        drive.append(
            drive.draft(Kind.ATTEMPT_STARTED, began, step.id, attempt),
            drive.draft(Kind.ATTEMPT_FINISHED, ended, step.id, attempt),
            *self.notice_edits(),
        )

    def _started(
        self, step: Step, attempt: int, prompt: str, timeout_s: float, restored: Restored
    ) -> Draft:
        data = {
            "role": step.target,
            "role_kind": self._drive.work.settings.roles[step.target].kind,
            "prompt": prompt,
            "timeout_s": timeout_s,
            "restored": list(restored.paths),
        }
        return self._drive.draft(Kind.ATTEMPT_STARTED, data, step.id, attempt)

    def _finished(self, step: Step, attempt: int, report: AttemptReport) -> list[Draft]:
        """The attempt's end, and a pause when plan or configuration were edited meanwhile."""
        drive, seen, answer = self._drive, report.observation, report.answer
        content = self._content(step)
        data: dict[str, Any] = {
            "ending": seen.ending,
            "exit_code": seen.exit_code,
            "why": report.why,
            "duration_s": round(seen.duration_s, 6),
            "leftovers_killed": seen.leftovers_killed,
            "output_tail": output_tail(seen, drive.work.ledger.redactor),
            "stdout_sha256": seen.stdout.sha256,
            "stderr_sha256": seen.stderr.sha256,
            "usage": report.usage and report.usage.to_data(),
            "usage_unreadable": report.usage_unreadable,
            "answer": answer and {"kind": answer.kind, "reason": answer.reason},
            "isolation": drive.work.agent_isolation,
            "handoff": self._handoff(step, content),
            "snapshot": content,
        }
        finished = drive.draft(Kind.ATTEMPT_FINISHED, data, step.id, attempt)
        return [finished, *self.notice_edits()]

    def _content(self, step: Step) -> str:
        """The content that an attempt left; the one before it where looking takes too long.

        Judging it then says so: the verdict is unknown.
        """
        work = self._drive.work
        try:
            with work.workspace.time_limit(step.timeout_s):
                return work.workspace.snapshot().digest
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
        question = drive.work.watch.question()
        return [
            drive.draft(Kind.PLAN_EDITED, {"digest": digest, "difference": difference}),
            drive.question(Cause.PLAN_EDITED, question, None, {"difference": difference}),
        ]

    def clear_ground(self, step: Step) -> None:
        """No step answers for what the agent of another tampered with.

        Until somebody else goes on, it stays as it is for the person to see.
        """
        drive = self._drive
        for subject, record in left_tampered(drive.state, step.id):
            try:
                restored = restore_tampered(drive.work, drive.state, record)
            except StorageFailed:
                continue  # this step will be told, and ask what is to be done
            if restored.paths:
                drive.append(
                    drive.draft(Kind.STEP_CLEARED, {"paths": list(restored.paths)}, subject)
                )

    def _restore_protected(self, step: Step) -> Restored | None:
        """Put tampered files back; None when something is in the way and a person was asked."""
        drive, record = self._drive, self._drive.state.record(step.id)
        try:
            return restore_tampered(drive.work, drive.state, record)
        except StorageFailed as error:
            question, context = escalations.about_blocked(step, record, error)
            drive.ask(Cause.TAMPERED, question, step, context)
            return None

    def _timeout_s(self, step: Step, role_s: float | None) -> float:
        left_s = wall_left_s(self._drive.state)
        limits = (step.timeout_s, role_s, left_s)
        return max(1.0, min(limit for limit in limits if limit is not None))

    def _clean_report_file(self, step: Step, attempt: int, what: str) -> Path:
        """The same before the attempt: after a power cut its number may have been used before."""
        work = self._drive.work
        file = _report_file(work.exchange, _marker(work.run, step.id, attempt), what)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            file.unlink(missing_ok=True)
        except IsADirectoryError:
            # Names can be foreseen: an earlier agent may have put a folder in the way.
            shutil.rmtree(file)
        return file

    def _handoff(self, step: Step, content: str) -> dict[str, str]:
        """Files that make other programs act, unless the step is there to change them."""
        work, state = self._drive.work, self._drive.state
        known = {**work.pins.handoff, **state.handoff}
        changes = work.workspace.diff(state.snapshot or work.pins.snapshot, content)
        found = changed_handoffs(known, handoff_files(work.root), changes)
        may_change = step.contract.may_change if step.contract else ()
        meant = (*step.produces, *may_change)
        return {path: seen for path, seen in found.items() if not matches_any(meant, path)}


def lost_attempts(state: State, exchange: Path) -> Iterator[Draft]:
    """What agents of a driver that died left in flight: each is ended, then told."""
    for step in state.schedule.steps:
        attempt = state.record(step.id).in_flight
        if attempt is not None and step.target != HUMAN_ROLE:
            yield _lost(state.run, exchange, step, attempt)


def _lost(run: str, exchange: Path, step: Step, attempt: int) -> Draft:
    marker = _marker(run, step.id, attempt)
    killed = kill_marked(ATTEMPT_VARIABLE, marker)
    usage = read_usage(_report_file(exchange, marker, "usage"))
    data = {"lost": True, "leftovers_killed": killed, "usage": usage and usage.to_data()}
    return Draft(Kind.ATTEMPT_FINISHED, data, run=run, step=step.id, attempt=attempt)


def _report_file(exchange: Path, marker: str, what: str) -> Path:
    """A name for this attempt alone; the step's id may hold anything, so it is hashed."""
    return exchange / f"{digest_bytes(marker.encode('utf-8', 'replace'))[:24]}.{what}"


def _marker(run: str, step: str, attempt: int) -> str:
    return f"{run}:{step}:{attempt}"


def _setback(record: Record, restored: Restored) -> Setback | None:
    latest = record.latest
    if latest is None or latest.kept:
        return None
    return Setback(
        message=latest.message,
        exit_code=latest.exit_code,
        output_tail=latest.output_tail,
        tampered=latest.tampered,
        restored=restored.put_back,
        removed=restored.removed,
        broke_later=record.reopened,
        suspects=record.suspects,
    )


@dataclass(frozen=True)
class Restored:
    """What the harness undid: contents put back, and files removed that had been added."""

    put_back: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All of it."""
        return tuple(sorted((*self.put_back, *self.removed)))


def restore_tampered(work: OpenRun, state: State, record: Record) -> Restored:
    """Make every file that the latest verdict calls tampered what it has to be.

    As approved, or as the accepted step left it that made it. What the agent made of them stays in
    the attempt's snapshot. Raises StorageFailed for what cannot be put back, after all the rest.
    """
    latest = record.latest
    if latest is None or latest.reason not in _CHANGED_THE_CHECK:
        return Restored()
    wanted: dict[str, set[str]] = {}
    approved = work.pins.snapshot
    if latest.reason is Reason.OUTSIDE and record.spans:
        # What earlier steps made of it stays: the step goes back to where it began.
        approved = record.spans[0][0] or approved
    for path in _files(work, latest):
        product = state.products.get(path)
        snapshot = approved if product is None else product.snapshot
        wanted.setdefault(snapshot, set()).add(path)
    undone: list[Change] = []
    for snapshot, paths in wanted.items():
        undone += work.workspace.revert(snapshot, only=paths)
    added = [change for change in undone if change.kind is ChangeKind.ADDED]
    return Restored(_names(c for c in undone if c not in added), _names(added))


def left_tampered(state: State, besides: str) -> list[tuple[str, Record]]:
    """Other steps that wait for a person, with what their agents tampered with still in place."""
    return [
        (subject, record)
        for subject, record in state.records.items()
        if subject != besides
        and record.question is not None
        and record.latest is not None
        and record.latest.reason in _CHANGED_THE_CHECK
        and record.cleared < record.latest.seq
    ]


def _files(work: OpenRun, latest: Judged) -> set[str]:
    """The tampered files; of a part, such as `Makefile#target:test`, the file it belongs to."""
    manifest = work.workspace.manifest
    known = {*manifest(work.pins.snapshot), *manifest(latest.snapshot)}
    names = {storable_path(path): path for path in known}
    return {names.get(name, file_of(name)) for name in latest.tampered}


def _names(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(sorted(storable_path(change.path) for change in changes))
