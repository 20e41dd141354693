"""`agent`: the built-in loop on a task, in a session whose gate decides, signed when it is over."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from signoff.agents.loop.asking import open_model
from signoff.agents.loop.limits import Ended, LoopReport
from signoff.agents.session import PlanSession, SessionReport
from signoff.domain.ledger import Outcome
from signoff.domain.plan import PlanStatus
from signoff.domain.session import SESSION_PREFIX, SessionStanding, session_id_of
from signoff.errors import (
    ApprovalRefused,
    Exit,
    Held,
    NoSuchRun,
    NotApproved,
    PlanConflict,
    UsageError,
)
from signoff.storage.records import Holder
from signoff.usecases.harness import Harness, PlanLocation, session_place
from signoff.usecases.history import read_history
from signoff.usecases.open_session import sign
from signoff.usecases.openwork import taken
from signoff.usecases.person import require_person
from signoff.usecases.pinning import refuse_foreign_worktree
from signoff.usecases.playing import AUTHOR, AgentRequest, Play
from signoff.usecases.ready import refuse_unready
from signoff.usecases.run import RunOptions, RunReport
from signoff.usecases.sessions import find_session_record, plan_of
from signoff.usecases.sign import sign_work
from signoff.usecases.undo import UndoReport, restore_step

__all__ = ["AgentReport", "AgentRequest", "work"]


class AgentReport(Struct, frozen=True):
    """Acts of the loop, and the gate's answer when the agent was gone.

    `run` is the run that signed a person's plan: then it says how that plan stands.
    """

    loop: LoopReport
    plan: SessionReport | None
    run: RunReport | None = None
    restored: UndoReport | None = None

    @property
    def standing(self) -> SessionStanding:
        """State of the session; without a plan nothing was proved."""
        if self.run is not None:
            return _RUN_STANDINGS.get(self.run.outcome, SessionStanding.WORKING)
        if self.plan is not None:
            return self.plan.standing
        answered = self.loop.ended is Ended.ANSWERED
        return SessionStanding.UNPLANNED if answered else SessionStanding.WORKING

    @property
    def done(self) -> bool:
        """True when it was signed off, by checks that count."""
        return self.standing is SessionStanding.DONE

    @property
    def exit_code(self) -> Exit:
        """Exit code: 0 is signed off, and nothing else is."""
        if self.done:
            return Exit.YES
        if self.loop.ended is Ended.INTERRUPTED:
            return Exit.INTERRUPTED
        return _CODES.get(self.standing, _ENDS.get(self.loop.ended, Exit.NOT_DONE))


_CODES = {
    SessionStanding.WAITING: Exit.WAITING,
    SessionStanding.ESCALATED: Exit.WAITING,
    SessionStanding.KEPT_SELF_SET: Exit.WAITING,
    SessionStanding.AWAITING_SIGN_OFF: Exit.WAITING,
    # There is no plan, so there is nothing to judge: neither yes nor no.
    SessionStanding.UNPLANNED: Exit.CANNOT_JUDGE,
}
_GAVE_UP = frozenset({Ended.STUCK, Ended.ESCALATED})
_ENDS = {Ended.MODEL_FAILED: Exit.CANNOT_JUDGE}
_RUN_STANDINGS = {None: SessionStanding.WAITING, Outcome.DONE: SessionStanding.DONE}
_SIGNED = {
    SessionStanding.DONE: "the answer was accepted, and the work is signed off",
    SessionStanding.KEPT_SELF_SET: "the answer was accepted; every check held once more",
    SessionStanding.WAITING: "the answer was accepted; the rest is a person's to decide",
}


def work(harness: Harness, request: AgentRequest) -> AgentReport:
    """Run the loop with the workspace taken; then, with the agent gone, sign what it proved."""
    harness.home.keep_apart(request.workspace)
    if request.bound is None and request.resume is not None:
        with suppress(NoSuchRun):  # begun without a plan, or there is none: its transcript says
            past = find_session_record(harness, request.resume)
            request = replace(request, bound=plan_of(harness, past))
    if request.bound is not None:
        _require_workable(harness, request.bound)
    model = request.model
    if isinstance(model, str):
        model = open_model(model, request.base_url, harness.environ)
    if request.resume is None and not request.task.strip():
        raise UsageError("the task is empty", "signoff agent 'WHAT TO DO' --model PROVIDER:NAME")
    name = session_id_of(request.resume or f"{SESSION_PREFIX}{secrets.token_hex(8)}")
    if request.session is not None:
        name = request.session.id
    place = request.bound or session_place(request.workspace, name)
    with taken(harness, place, Holder.current(name)), asyncio.Runner() as runner:
        played = Play(harness, replace(request, model=model), place, name, runner)
        loop = played.run()
    session = played.session
    if session is None:
        return AgentReport(loop, None)
    if loop.ended in _GAVE_UP and request.restore:
        # What its unfinished step changed is put back, unless somebody else changed it since.
        restored = None
        try:
            restored = restore_step(harness, session.id)
        except PlanConflict as error:
            request.reporter.noted(f"nothing was put back: {error}")
        return AgentReport(loop, session.report(), restored=restored)
    if loop.ended is not Ended.ANSWERED or not session.has_plan:
        return AgentReport(loop, session.report())
    report = _signed(harness, request, session, loop)
    return replace(report, loop=replace(loop, reason=_SIGNED.get(report.standing, loop.reason)))


def _signed(
    harness: Harness, request: AgentRequest, session: PlanSession, loop: LoopReport
) -> AgentReport:
    """An agent's own plan by its session; a person's by a run of that plan, which people watch."""
    if request.bound is None:
        return AgentReport(loop, sign(harness, session.id, by=AUTHOR))
    try:
        require_person(harness.environ, harness.home.path)
    except ApprovalRefused:
        return AgentReport(loop, session.report())  # it awaits a sign-off at a terminal
    assert request.engine is not None
    signed = sign_work(
        harness, request.bound, session.id, RunOptions(request.run_reporter, request.engine)
    )
    return AgentReport(loop, signed.session, signed.run)


def _require_workable(harness: Harness, place: PlanLocation) -> None:
    """Refuse a plan that nobody approved as it is now, or that is running or done."""
    history = read_history(harness.ledger, place.id)
    status = history.status(place.parse().plan.plan_digest)
    named = shlex.quote(place.record.name or str(place.path))
    if status is PlanStatus.IN_PROGRESS:
        raise Held(
            f"run `{history.run_id}` of plan `{place.name}` is not over",
            f"signoff run {named}, or signoff cancel {named}",
        )
    if status is PlanStatus.DONE:
        raise UsageError(
            f"plan `{place.name}` is signed off already",
            f"signoff approve {named}, to have it worked on once more",
        )
    if status not in (PlanStatus.APPROVED, PlanStatus.FAILED):
        raise NotApproved(
            f"plan `{place.name}` is not approved as it is now, so nobody works on it",
            f"signoff approve {named}",
        )
    refuse_foreign_worktree(harness, place)
    refuse_unready(harness, place, "run")
