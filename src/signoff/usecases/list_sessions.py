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
from signoff.usecases.clients.seats import living_client
from signoff.usecases.history import proved_history
from signoff.usecases.open_session import open_session
from signoff.usecases.site import Harness, PlanLocation
from signoff.usecases.sittings import (
    SessionRecord,
    find_sitting,
    find_sittings,
    plan_of,
    read_sitting,
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


def list_sessions(site: Harness, *, everywhere: bool = False) -> tuple[SessionLine, ...]:
    """The sessions of the workspace around here, or of all, newest last."""
    here = find_vault(site.cwd, site.environ).worktree
    places = {here}
    if everywhere:
        records = [r for r in site.ledger.plans() if r.id.startswith(SESSION_PREFIX)]
        places = {Path(record.path) for record in records}
    sittings = [sitting for place in places for sitting in find_sittings(site, place)]
    return tuple(_line(site, one) for one in sorted(sittings, key=lambda one: one.newest.at))


def session_status(site: Harness, session: str) -> SessionStatus:
    """Where a session stands on the content as it is now; nothing is judged for it."""
    sitting = find_sitting(site, session)
    place = plan_of(site, sitting)
    report = _open(site, sitting, place).report()
    standing = _by_plan(site, sitting, place, _told(site, sitting, report.standing))
    return SessionStatus(report, standing, place.name if place is not None else None)


def show_session(site: Harness, session: str) -> str:
    """The session's plan as its agent sees it."""
    sitting = find_sitting(site, session)
    return _open(site, sitting, plan_of(site, sitting)).plan_show()


def _open(site: Harness, sitting: SessionRecord, place: PlanLocation | None) -> PlanSession:
    workspace = sitting.workspace
    return open_session(site, workspace, author="status", session_id=sitting.id, bound=place)


def _line(site: Harness, sitting: SessionRecord) -> SessionLine:
    state = sitting.state
    # As recorded: nobody looks at the workspace for a list.
    gate = GateReport(Gate.OPEN, author=state.author, planned=state.plan is not None)
    place = plan_of(site, sitting)
    own = _told(site, sitting, session_standing(state, gate))
    return SessionLine(
        id=sitting.id,
        workspace=sitting.workspace,
        plan=place.name if place is not None else None,
        objective=sitting.objective,
        standing=_by_plan(site, sitting, place, own),
        author=str(sitting.started.data.get("author", "")),
        newest_at=sitting.newest.at,
        parent=sitting.parent,
    )


def _told(site: Harness, sitting: SessionRecord, own: SessionStanding) -> SessionStanding:
    """What was recorded last counts; of work that nobody finished, whether anybody still works."""
    if own not in (SessionStanding.WORKING, SessionStanding.AWAITING_SIGN_OFF):
        return own
    if sitting.was_shut:
        return SessionStanding.NOT_DONE
    if sitting.is_accepted:
        return SessionStanding.AWAITING_SIGN_OFF
    return SessionStanding.INTERRUPTED if _is_left(site, sitting) else own


def _is_left(site: Harness, sitting: SessionRecord) -> bool:
    """Whether whoever worked on it is gone, as far as that can be told from here."""
    eldest = sitting
    while eldest.parent is not None and (above := read_sitting(site, eldest.parent)) is not None:
        eldest = above
    told = eldest.started.data.get("author") not in ("", LIBRARY) and identify(os.getpid())
    drivers = [h.pid for h in holders(site.home.locks) if h.plan == eldest.id]
    living = any(identify(pid) for pid in drivers) or living_client(site.home.path, eldest.id)
    return bool(told and not living)


def _by_plan(
    site: Harness, sitting: SessionRecord, place: PlanLocation | None, own: SessionStanding
) -> SessionStanding:
    """A person's plan is done when its own run says so, whatever the session's gate said."""
    if sitting.plan_digest is None or own not in (SessionStanding.DONE, SessionStanding.WAITING):
        return own
    unsigned = SessionStanding.AWAITING_SIGN_OFF if own is SessionStanding.DONE else own
    if place is None:
        return unsigned
    try:
        history = proved_history(site.ledger, place.record.id, place.path)
    except LedgerBroken:
        return SessionStanding.NOT_DONE
    began = [e for e in history.entries if e.kind is Kind.RUN_STARTED and _is_run_of(sitting.id, e)]
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
