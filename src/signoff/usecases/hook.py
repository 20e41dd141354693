"""`hook`: what a client's hooks ask: may the agent stop, or write there. Never a sign-off."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.agents.session import PlanSession
from signoff.domain.digests import digest_bytes
from signoff.domain.globs import matches_any
from signoff.domain.plan import PlanStatus
from signoff.domain.session import Decision, SessionStanding, session_id_of
from signoff.domain.text import escape_line
from signoff.errors import ActivePlanError, LedgerBroken, NoVault, PlanNotFound, SignoffError
from signoff.places import ATTEMPT_VARIABLE
from signoff.storage.active import find_vault
from signoff.storage.connected import (
    ConnectedClient,
    connect_client,
    count_block,
    end_conversation,
    find_client,
    note_session,
)
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.history import (
    ApprovedPlan,
    PlanHistory,
    approved_by,
    older_pins,
    proved_history,
    read_history,
)
from signoff.usecases.open_session import open_session

LONGEST_REASON = 8_000


class StopRequest(Struct, frozen=True):
    """An agent wants to stop: in which of the client's sessions, with which last words."""

    client: str
    session: str
    message: str
    limit_s: float


class HookAnswer(Struct, frozen=True):
    """`refused`: it may not, and `text` is the reason; else a note for people, or nothing."""

    refused: bool
    text: str = ""


def may_stop(harness: Harness, request: StopRequest) -> HookAnswer:
    """Ask the gate of the plan in question; what is pending is judged, provisionally."""
    if ATTEMPT_VARIABLE in harness.environ:
        return HookAnswer(False)  # the driver of the run judges when the agent is gone
    try:
        bound = bound_plan(harness)
        if bound is None:
            return _stop_own_plan(harness, request)
        history = proved_history(harness.ledger, bound.id, bound.path)
    except (ActivePlanError, LedgerBroken) as error:
        return _block_a_while(harness, request, f"{error.message}\nnext: {error.hint}")
    digest, unreadable = "", "it changed since then"
    try:
        digest = bound.digest()
    except SignoffError as error:
        unreadable = error.message
    if history.status(digest) is PlanStatus.DONE:
        return HookAnswer(False)
    if history.approval is None:
        text = f"plan `{bound.name}` is not approved, so nothing holds the agent to it yet"
        return HookAnswer(False, text)
    if not history.approves(digest):
        return _block_a_while(
            harness,
            request,
            f"the file of plan `{bound.name}` is not as a person approved it: {unreadable}\n"
            f"next: put `{bound.path}` back as it was (signoff diff shows it), or ask a person to"
            f" approve it again: signoff approve {shlex.quote(bound.name)}",
        )
    # Every client names its conversation; who does not is a person trying the hook.
    note = connect_client(harness.home.path, bound.workspace) if request.session else None
    approved = approved_by(harness.ledger, bound, history, history.approval)
    session = bound_session(harness, approved, note, request.session, request.client)
    answer = _ask(request, session, bound.name)
    if answer.refused or older_pins(harness.ledger, history, digest) is None:
        return answer
    first = f"signoff approve {shlex.quote(bound.name)}"
    return replace(answer, text=f"{answer.text}; approved by an older version: first {first}")


def bound_plan(harness: Harness) -> PlanLocation | None:
    """The plan that this worktree works on; None when there is none."""
    try:
        return find_plan(harness.cwd, None, environ=harness.environ)
    except (PlanNotFound, NoVault):
        return None


def bound_session(
    harness: Harness,
    approved: ApprovedPlan,
    note: ConnectedClient | None,
    conversation: str,
    author: str,
) -> PlanSession:
    """The session of this client's conversation about this very plan, as it is approved now."""
    bound = approved.place
    base = note.base if note is not None else f"{author}:{conversation}:{bound.workspace}"
    session_id = _bound_id(base, bound, approved.plan.plan_digest)
    return open_for_client(harness, bound.workspace, note, session_id, author, bound)


def own_session(
    harness: Harness, workspace: Path, note: ConnectedClient | None, conversation: str, author: str
) -> PlanSession:
    """The session for a plan that the agent makes itself."""
    session_id = note.own_session if note is not None else conversation
    return open_for_client(harness, workspace, note, session_id, author)


def open_for_client(
    harness: Harness,
    workspace: Path,
    note: ConnectedClient | None,
    session_id: str,
    author: str,
    bound: PlanLocation | None = None,
) -> PlanSession:
    """Open a session, and remember that this client has it."""
    session = open_session(harness, workspace, author=author, session_id=session_id, bound=bound)
    if note is not None:
        note_session(harness.home.path, note, session.id)
    return session


def note_client(harness: Harness) -> None:
    """Note the client that has begun to work here."""
    if ATTEMPT_VARIABLE not in harness.environ:
        connect_client(harness.home.path, _workspace(harness))


def protected_by_plan(harness: Harness, paths: Iterable[str]) -> str:
    """The reason why the plan at work protects one of these files; empty when it protects none."""
    bound = bound_plan(harness)
    history = read_history(harness.ledger, bound.id) if bound is not None else PlanHistory()
    if bound is None or history.approval is None:
        return ""
    approved = approved_by(harness.ledger, bound, history, history.approval)
    globs = [glob for step in approved.plan.steps for glob in step.protects]
    root = os.path.realpath(bound.workspace)
    for path in paths:
        inside = os.path.relpath(os.path.realpath(path), root)
        if inside in approved.pins.protected or matches_any(globs, inside):
            return f"`{escape_line(inside)}` is protected by plan `{bound.name}`"
    return ""


def end_session(harness: Harness) -> HookAnswer:
    """End a conversation at the client's word; its agent can say so too.

    So it is believed only where nothing is left undone: a plan that is not finished stays with the
    client until its process is gone. Nothing is signed here, we are still inside the client.
    """
    bound = bound_plan(harness)
    workspace = bound.workspace if bound is not None else _workspace(harness)
    note = find_client(harness.home.path, workspace)
    if note is None:
        return HookAnswer(False)
    session_id = note.own_session
    if bound is not None:
        session_id = _bound_id(note.base, bound, bound.digest())
    session = None
    if session_id in note.sessions:
        session = open_session(
            harness, workspace, author="hook", session_id=session_id, bound=bound
        )
    standing = session.standing if session is not None and session.has_plan else None
    named = bound.name if bound is not None else session_id
    if standing is SessionStanding.WORKING:
        return HookAnswer(
            False, f"plan `{named}` is not done: it stays with this client until the client is gone"
        )
    end_conversation(harness.home.path, note)
    if standing is not SessionStanding.AWAITING_SIGN_OFF:
        return HookAnswer(False)
    sign = f"signoff sign {shlex.quote(named)}"
    return HookAnswer(False, f"the work awaits sign-off; next: {sign}")


def _bound_id(base: str, bound: PlanLocation, digest: str) -> str:
    return session_id_of(f"{base}\n{bound.id}\n{digest}")


def _workspace(harness: Harness) -> Path:
    return find_vault(harness.cwd, harness.environ).worktree


def _stop_own_plan(harness: Harness, request: StopRequest) -> HookAnswer:
    workspace = _workspace(harness)
    note = find_client(harness.home.path, workspace)
    if note is None or note.own_session not in note.sessions:
        return HookAnswer(False)
    session = own_session(harness, workspace, note, request.session, request.client)
    if not session.has_plan and session.gate().open:
        return HookAnswer(False)
    return _ask(request, session, session.id)


def _ask(request: StopRequest, session: PlanSession, named: str) -> HookAnswer:
    ended = session.try_finish(request.message, limit_s=request.limit_s)
    label = " (self-set checks)" if ended.gate.self_set else ""
    if ended.decision is Decision.ACCEPTED:
        sign = f"signoff sign {shlex.quote(named)}"
        note = f"plan `{named}` awaits sign-off{label}; next: end the client, {sign}"
        return HookAnswer(False, note)
    if ended.decision is Decision.ESCALATED:
        return HookAnswer(False, f"plan `{named}` is not done: {ended.text}; next: signoff inbox")
    head = f"signoff: plan `{named}` is not done{label}.\n"
    return HookAnswer(True, (head + ended.text)[:LONGEST_REASON])


def _block_a_while(harness: Harness, request: StopRequest, why: str) -> HookAnswer:
    """Block some times for what the agent may not be able to mend, then let the client stop."""
    key = f"{request.client}\n{request.session}\n{harness.cwd}\n{digest_bytes(why.encode())}"
    most = harness.settings.agent.escalate_after
    if count_block(harness.home.path, key) > most:
        return HookAnswer(
            False,
            f"{escape_line(why)}; told {most} times, so the agent may stop now; nothing is done",
        )
    return HookAnswer(True, f"signoff: {why}"[:LONGEST_REASON])
