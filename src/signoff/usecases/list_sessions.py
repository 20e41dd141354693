"""`sessions`: agents' sessions as the ledger has them, and the plan of a person each works on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from signoff.agents.session import PlanSession, SessionReport
from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Entry, Kind
from signoff.domain.session import SESSION_PREFIX, SessionStanding
from signoff.errors import LedgerBroken
from signoff.gate.gate import Gate, GateReport, session_standing
from signoff.process.ancestry import identify
from signoff.storage.location import find_vault
from signoff.storage.locks import holders
from signoff.usecases.clients.connected import living_client
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import proved_history
from signoff.usecases.open_session import open_session
from signoff.usecases.session_records import (
    SessionRecord,
    find_session_record,
    find_session_records,
    plan_of,
    read_session_record,
)

LIBRARY = "signoff.start_session"  # in a program of which we know nothing


@dataclass(frozen=True)
class SessionLine:
    """What `sessions` shows of one session, as it was recorded last."""

    id: str
    workspace: Path
    plan: str | None  # the name of the person's plan, where there is one
    objective: str
    standing: SessionStanding
    author: str
    newest_at: str
    parent: str | None


@dataclass(frozen=True)
class SessionStatus:
    """One session looked at with its workspace; what its plan's own run says outranks it."""

    report: SessionReport
    standing: SessionStanding
    plan: str | None


def list_sessions(harness: Harness, *, everywhere: bool = False) -> tuple[SessionLine, ...]:
    """The sessions of the workspace around here, or of all, newest last."""
    here = find_vault(harness.cwd, harness.environ).worktree
    places = {here}
    if everywhere:
        records = [r for r in harness.ledger.plans() if r.id.startswith(SESSION_PREFIX)]
        places = {Path(record.path) for record in records}
    session_records = [
        session_record
        for place in places
        for session_record in find_session_records(harness, place)
    ]
    return tuple(
        _line(harness, one) for one in sorted(session_records, key=lambda one: one.newest.at)
    )


def session_status(harness: Harness, session: str) -> SessionStatus:
    """Where a session stands on the content as it is now; nothing is judged for it."""
    session_record = find_session_record(harness, session)
    place = plan_of(harness, session_record)
    report = _open(harness, session_record, place).report()
    standing = _by_plan(
        harness, session_record, place, _told(harness, session_record, report.standing)
    )
    return SessionStatus(report, standing, place.name if place is not None else None)


def show_session(harness: Harness, session: str) -> str:
    """The session's plan as its agent sees it."""
    session_record = find_session_record(harness, session)
    return _open(harness, session_record, plan_of(harness, session_record)).plan_show()


def _open(
    harness: Harness, session_record: SessionRecord, place: PlanLocation | None
) -> PlanSession:
    workspace = session_record.workspace
    return open_session(
        harness, workspace, author="status", session_id=session_record.id, bound=place
    )


def _line(harness: Harness, session_record: SessionRecord) -> SessionLine:
    state = session_record.state
    # As recorded: nobody looks at the workspace for a list.
    gate = GateReport(Gate.OPEN, author=state.author, planned=state.plan is not None)
    place = plan_of(harness, session_record)
    own = _told(harness, session_record, session_standing(state, gate))
    return SessionLine(
        id=session_record.id,
        workspace=session_record.workspace,
        plan=place.name if place is not None else None,
        objective=session_record.objective,
        standing=_by_plan(harness, session_record, place, own),
        author=str(session_record.started.data.get("author", "")),
        newest_at=session_record.newest.at,
        parent=session_record.parent,
    )


def _told(harness: Harness, session_record: SessionRecord, own: SessionStanding) -> SessionStanding:
    """What was recorded last counts; of work that nobody finished, whether anybody still works."""
    if own not in (SessionStanding.WORKING, SessionStanding.AWAITING_SIGN_OFF):
        return own
    if session_record.was_shut:
        return SessionStanding.NOT_DONE
    if session_record.is_accepted:
        return SessionStanding.AWAITING_SIGN_OFF
    return SessionStanding.INTERRUPTED if _is_left(harness, session_record) else own


def _is_left(harness: Harness, session_record: SessionRecord) -> bool:
    """Whether whoever worked on it is gone, as far as that can be told from here."""
    eldest = session_record
    while (
        eldest.parent is not None
        and (above := read_session_record(harness, eldest.parent)) is not None
    ):
        eldest = above
    told = eldest.started.data.get("author") not in ("", LIBRARY) and identify(os.getpid())
    drivers = [h.pid for h in holders(harness.home.locks) if h.plan == eldest.id]
    living = any(identify(pid) for pid in drivers) or living_client(harness.home.path, eldest.id)
    return bool(told and not living)


def _by_plan(
    harness: Harness,
    session_record: SessionRecord,
    place: PlanLocation | None,
    own: SessionStanding,
) -> SessionStanding:
    """A person's plan is done when its own run says so, whatever the session's gate said."""
    if session_record.plan_digest is None or own not in (
        SessionStanding.DONE,
        SessionStanding.WAITING,
    ):
        return own
    unsigned = SessionStanding.AWAITING_SIGN_OFF if own is SessionStanding.DONE else own
    if place is None:
        return unsigned
    try:
        history = proved_history(harness.ledger, place.record.id, place.path)
    except LedgerBroken:
        return SessionStanding.NOT_DONE
    began = [
        e
        for e in history.entries
        if e.kind is Kind.RUN_STARTED and _is_run_of(session_record.id, e)
    ]
    if not began:
        return unsigned
    over = [e for e in history.entries if e.kind is Kind.RUN_FINISHED and e.run == began[-1].run]
    if not over:
        return SessionStanding.WAITING
    done = Outcome(over[-1].data["outcome"]) is Outcome.DONE
    return SessionStanding.DONE if done else SessionStanding.NOT_DONE


def _is_run_of(session: str, started: Entry) -> bool:
    if said := started.data.get("session"):
        return bool(said["id"] == session)
    # Older runs named the session as a command that stood for every role.
    return f"true {session}" in started.data.get("roles", {}).values()
