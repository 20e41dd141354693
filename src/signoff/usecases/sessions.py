"""`sessions`: agents' sessions folded from their entries, the plan each works on, the list."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from signoff.domain.ledger import Entry, Kind, Outcome
from signoff.domain.session import SESSION_PREFIX, SessionStanding, session_id_of
from signoff.errors import LedgerBroken, NoSuchRun, SignoffError
from signoff.gate.fold import fold
from signoff.gate.gate import Gate, GateReport, session_standing
from signoff.gate.state import State
from signoff.process.proctable import identify
from signoff.storage.active import find_vault
from signoff.storage.connected import living_client
from signoff.storage.home import holders
from signoff.usecases.harness import Harness, PlanLocation, find_plan, session_place
from signoff.usecases.history import pinned_plan, proved_history, read_history, read_pins

if TYPE_CHECKING:
    from signoff.agents.session import PlanSession, SessionReport

LIBRARY = "signoff.start_session"  # in a program of which we know nothing
LIST = "signoff sessions"
_ANSWERS = frozenset(
    {Kind.ANSWER_ACCEPTED, Kind.ANSWER_REFUSED, Kind.SESSION_ENDED, Kind.SESSION_SIGNED}
)
_WORK = frozenset({Kind.SESSION_STARTED, Kind.STEP_CLAIMED, Kind.TOOL_CALLED})


class SessionRecord(Struct, frozen=True):
    """One session folded from its entries; nothing is judged for it."""

    id: str
    started: Entry
    state: State
    newest: Entry  # of all its entries
    answer: Entry | None  # the newest final answer, end or sign-off, if there was one
    was_shut: bool  # the newest of all was a sign-off that was refused

    @property
    def workspace(self) -> Path:
        return Path(self.started.data["workspace"])

    @property
    def plan_digest(self) -> str | None:
        """Digest of the person's plan that it works on; None when the agent made its own."""
        digest: str | None = self.started.data["plan_digest"]
        return digest

    def works_on(self, place: PlanLocation, digest: str) -> bool:
        """True when it is about this very plan as it reads now; equal text elsewhere is not."""
        named = self.started.data.get("plan", place.id)
        return self.plan_digest == digest and bool(named == place.id)

    @property
    def parent(self) -> str | None:
        parent: str | None = self.started.data.get("parent")
        return parent

    @property
    def objective(self) -> str:
        plan = self.state.plan
        return plan.title if plan is not None else str(self.started.data.get("objective", ""))

    @property
    def is_accepted(self) -> bool:
        """True when its newest answer was accepted and nobody signed it since."""
        answer = self.answer
        if answer is None or answer.kind is not Kind.ANSWER_ACCEPTED:
            return False
        return bool(answer.data.get("planned"))


def find_session_record(harness: Harness, session: str) -> SessionRecord:
    """The session with this id; NoSuchRun when there is none."""
    ours = session.startswith(SESSION_PREFIX)
    found = read_session_record(harness, session_id_of(session)) if ours else None
    if found is None:
        raise NoSuchRun(f"no session has the id `{session}`", LIST)
    return found


def find_session_records(harness: Harness, workspace: Path | None) -> tuple[SessionRecord, ...]:
    """Every session of a workspace, or of all, the one that was worked on last at the end."""
    found = (
        read_session_record(harness, record.id)
        for record in harness.ledger.plans()
        if record.id.startswith(SESSION_PREFIX) and workspace in (None, Path(record.path))
    )
    return tuple(sorted((s for s in found if s is not None), key=lambda s: s.newest.at))


def read_session_record(harness: Harness, session: str) -> SessionRecord | None:
    """The session folded from its own chain; None when none was begun under this id."""
    entries = tuple(harness.ledger.entries(session))
    started = next((e for e in entries if e.kind is Kind.SESSION_STARTED), None)
    if started is None:
        return None
    told = [e for e in entries if e.kind in _ANSWERS or e.kind in _WORK]
    answers = [e for e in told if e.kind in _ANSWERS and not _was_shut(e)]
    of_person = started.data["plan_digest"] is not None
    plan = pinned_plan(read_pins(harness.ledger, started)) if of_person else None
    state = fold(State(plan, driven=False), entries)
    return SessionRecord(
        id=session,
        started=started,
        state=state,
        newest=entries[-1],
        answer=answers[-1] if answers else None,
        was_shut=_was_shut(told[-1]),
    )


def plan_of(harness: Harness, record: SessionRecord) -> PlanLocation | None:
    """The person's plan that a session works on, if it is still approved as it was then.

    Older sessions did not name it: theirs is one of the repository that they worked in.
    """
    digest, workspace = record.plan_digest, record.workspace
    if digest is None:
        return None
    named = record.started.data.get("plan")
    around = str(find_vault(workspace, harness.environ).repository)
    for known in harness.ledger.plans():
        if known.id.startswith(SESSION_PREFIX) or (named and known.id != named):
            continue
        if not named and known.repository not in (None, around):
            continue
        if not read_history(harness.ledger, known.id).approves(digest):
            continue
        with suppress(SignoffError):
            place = find_plan(workspace, known.path, workspace, harness.environ)
            if place.id == known.id:
                return place
    return None


def require_own(record: SessionRecord) -> None:
    """Refuse a delegated session: it is signed, and proved, with the one that delegated it."""
    if record.parent is not None:
        raise NoSuchRun(
            f"`{record.id}` is a part of `{record.parent}` and is signed with it",
            f"signoff status {record.parent}",
        )


def signed_place(harness: Harness, session: str) -> PlanLocation:
    """Plan under which a session's sign-off is proved: itself, or the plan that it works on."""
    record = find_session_record(harness, session)
    require_own(record)
    if record.plan_digest is None:
        return session_place(record.workspace, record.id)
    place = plan_of(harness, record)
    if place is None:
        raise NoSuchRun(f"the plan of `{record.id}` is not approved as it was then", LIST)
    return place


def _was_shut(entry: Entry) -> bool:
    """Judged and not signed: it can be signed once somebody repaired what was missing."""
    return entry.kind is Kind.SESSION_SIGNED and not entry.data["open"]


class SessionLine(Struct, frozen=True):
    """One session as `sessions` shows it, from its last record."""

    id: str
    workspace: Path
    plan: str | None  # the name of the person's plan, where there is one
    objective: str
    standing: SessionStanding
    author: str
    newest_at: str
    parent: str | None
    path: str | None = None  # of that plan


class SessionStatus(Struct, frozen=True):
    """One session looked at with its workspace; what its plan's own run says outranks it."""

    report: SessionReport
    standing: SessionStanding
    plan: str | None


def list_sessions(harness: Harness, *, everywhere: bool = False) -> tuple[SessionLine, ...]:
    """The sessions of the workspace around here, or of all, newest last."""
    here = None if everywhere else find_vault(harness.cwd, harness.environ).worktree
    return tuple(_line(harness, found) for found in find_session_records(harness, here))


def waiting_sessions(harness: Harness) -> Iterator[SessionLine]:
    """Sessions of every workspace that is there whose work a person has to sign."""
    for line in list_sessions(harness, everywhere=True):
        awaits_one = line.standing is SessionStanding.AWAITING_SIGN_OFF and line.parent is None
        if awaits_one and line.workspace.is_dir():
            yield line


def awaits(harness: Harness, record: SessionRecord, place: PlanLocation | None) -> bool:
    """True when its agent's answer was accepted, and nobody signed that since."""
    awaiting = SessionStanding.AWAITING_SIGN_OFF
    return record.is_accepted and _by_plan(harness, record, place, awaiting) is awaiting


def newest_on(harness: Harness, place: PlanLocation, digest: str) -> SessionLine | None:
    """The session that worked last on a person's plan as it is approved now; None without one."""
    found = find_session_records(harness, place.workspace)
    on_plan = [one for one in found if one.parent is None and one.works_on(place, digest)]
    return _line(harness, on_plan[-1], place) if on_plan else None


def session_status(harness: Harness, session: str) -> SessionStatus:
    """State of a session on the content as it is now; nothing is judged for it."""
    record = find_session_record(harness, session)
    place = plan_of(harness, record)
    report = _open(harness, record, place).report()
    standing = _by_plan(harness, record, place, _told(harness, record, report.standing))
    return SessionStatus(report, standing, place.name if place is not None else None)


def show_session(harness: Harness, session: str) -> str:
    record = find_session_record(harness, session)
    return _open(harness, record, plan_of(harness, record)).plan_show()


def _open(harness: Harness, record: SessionRecord, place: PlanLocation | None) -> PlanSession:
    from signoff.usecases.open_session import open_session  # noqa: PLC0415 - what judges is slow

    workspace = record.workspace
    return open_session(harness, workspace, author="status", session_id=record.id, bound=place)


def _line(
    harness: Harness, record: SessionRecord, bound: PlanLocation | None = None
) -> SessionLine:
    state = record.state
    # As recorded: nobody looks at the workspace for a list.
    gate = GateReport(Gate.OPEN, author=state.author, planned=state.plan is not None)
    place = bound if bound is not None else plan_of(harness, record)
    own = _told(harness, record, session_standing(state, gate))
    return SessionLine(
        id=record.id,
        workspace=record.workspace,
        plan=place.name if place is not None else None,
        objective=record.objective,
        standing=_by_plan(harness, record, place, own),
        author=str(record.started.data.get("author", "")),
        newest_at=record.newest.at,
        parent=record.parent,
        path=str(place.path) if place is not None else None,
    )


def _told(harness: Harness, record: SessionRecord, own: SessionStanding) -> SessionStanding:
    """State by the last record; for unfinished work, it depends on anybody still being at work."""
    if own not in (SessionStanding.WORKING, SessionStanding.AWAITING_SIGN_OFF):
        return own
    if record.was_shut:
        return SessionStanding.NOT_DONE
    if record.is_accepted:
        return SessionStanding.AWAITING_SIGN_OFF
    # Whether whoever worked on it is gone, as far as that can be told from here.
    eldest = record
    while eldest.parent and (above := read_session_record(harness, eldest.parent)):
        eldest = above
    told = eldest.started.data.get("author") not in ("", LIBRARY) and identify(os.getpid())
    drivers = [h.pid for h in holders(harness.home.locks) if h.plan == eldest.id]
    living = any(identify(pid) for pid in drivers) or living_client(harness.home.path, eldest.id)
    return SessionStanding.INTERRUPTED if told and not living else own


def _by_plan(
    harness: Harness, record: SessionRecord, place: PlanLocation | None, own: SessionStanding
) -> SessionStanding:
    """A person's plan is done when its own run says so, whatever the session's gate said."""
    decided = (SessionStanding.DONE, SessionStanding.WAITING, SessionStanding.AWAITING_SIGN_OFF)
    if record.plan_digest is None or own not in decided:
        return own
    unsigned = SessionStanding.AWAITING_SIGN_OFF if own is SessionStanding.DONE else own
    if place is None:
        return unsigned
    try:
        history = proved_history(harness.ledger, place.id, place.path)
    except LedgerBroken:
        return SessionStanding.NOT_DONE
    if own is SessionStanding.AWAITING_SIGN_OFF:
        # What another session or a run finished since then awaits nothing any more.
        finished = history.finished if history.signed_off else None
        signed = finished is not None and finished.at > record.newest.at
        return SessionStanding.DONE if signed else own
    starts = [e for e in history.entries if e.kind is Kind.RUN_STARTED]
    began = [e for e in starts if _is_run_of(record.id, e)]
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
