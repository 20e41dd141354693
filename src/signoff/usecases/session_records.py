"""Sessions folded from their entries, and the plan of a person that each works on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from signoff.domain.ledger import Entry, Kind
from signoff.domain.session import SESSION_PREFIX, session_id_of
from signoff.errors import NoSuchRun, SignoffError
from signoff.gate.fold import fold
from signoff.gate.state import State
from signoff.planfile.parse import parse
from signoff.usecases.harness import Harness, PlanLocation, find_plan, session_place
from signoff.usecases.history import read_history
from signoff.verification.pins import Pins

LIST = "signoff sessions"
_ANSWERS = frozenset(
    {Kind.ANSWER_ACCEPTED, Kind.ANSWER_REFUSED, Kind.SESSION_ENDED, Kind.SESSION_SIGNED}
)
_WORK = frozenset({Kind.SESSION_STARTED, Kind.STEP_CLAIMED, Kind.TOOL_CALLED})


@dataclass(frozen=True)
class SessionRecord:
    """One session folded from its entries; nothing is judged for it."""

    id: str
    started: Entry
    state: State
    newest: Entry  # of all its entries
    answer: Entry | None  # the newest final answer, end or sign-off, if there was one
    was_shut: bool  # the newest of all was a sign-off that was refused

    @property
    def workspace(self) -> Path:
        """Where the agent works."""
        return Path(self.started.data["workspace"])

    @property
    def plan_digest(self) -> str | None:
        """Of the person's plan that it works on; None when the agent made its own."""
        digest: str | None = self.started.data["plan_digest"]
        return digest

    @property
    def parent(self) -> str | None:
        """The session that delegated it."""
        parent: str | None = self.started.data.get("parent")
        return parent

    @property
    def objective(self) -> str:
        """What it is for, as far as anybody said."""
        plan = self.state.plan
        return plan.title if plan is not None else str(self.started.data.get("objective", ""))

    @property
    def is_accepted(self) -> bool:
        """Whether its newest answer was accepted and nobody signed it since."""
        answer = self.answer
        accepted = answer is not None and answer.kind is Kind.ANSWER_ACCEPTED
        return accepted and bool(answer is not None and answer.data.get("planned"))


def find_session_record(harness: Harness, session: str) -> SessionRecord:
    """The session with this id; NoSuchRun when there is none."""
    found = (
        read_session_record(harness, session_id_of(session))
        if session.startswith(SESSION_PREFIX)
        else None
    )
    if found is None:
        raise NoSuchRun(f"no session has the id `{session}`", LIST)
    return found


def find_session_records(harness: Harness, workspace: Path) -> tuple[SessionRecord, ...]:
    """Every session of a workspace, the one that was worked on last at the end."""
    ids = [
        record.id
        for record in harness.ledger.plans()
        if record.id.startswith(SESSION_PREFIX) and record.path == str(workspace)
    ]
    found = (read_session_record(harness, session) for session in ids)
    return tuple(sorted((s for s in found if s is not None), key=lambda s: s.newest.at))


def read_session_record(harness: Harness, session: str) -> SessionRecord | None:
    """The session folded from its own chain; None when none was begun under this id."""
    entries = tuple(harness.ledger.entries(session))
    started = next((e for e in entries if e.kind is Kind.SESSION_STARTED), None)
    if started is None:
        return None
    told = [e for e in entries if e.kind in _ANSWERS or e.kind in _WORK]
    answers = [e for e in told if e.kind in _ANSWERS and not _was_shut(e)]
    state = fold(_first_state(harness, started), entries)
    return SessionRecord(
        id=session,
        started=started,
        state=state,
        newest=entries[-1],
        answer=answers[-1] if answers else None,
        was_shut=_was_shut(told[-1]),
    )


def plan_of(harness: Harness, session_record: SessionRecord) -> PlanLocation | None:
    """The person's plan that a session works on, if it is still approved as it was then."""
    digest = session_record.plan_digest
    if digest is None:
        return None
    for record in harness.ledger.plans():
        if record.id.startswith(SESSION_PREFIX):
            continue
        approval = read_history(harness.ledger, record.id).approval
        if approval is None or approval.data["plan_digest"] != digest:
            continue
        try:
            place = find_plan(
                session_record.workspace, record.path, session_record.workspace, harness.environ
            )
        except SignoffError:
            continue
        if place.record.id == record.id:
            return place
    return None


def signed_place(harness: Harness, session: str) -> PlanLocation:
    """Where the sign-off of a session is proved: by itself, or by the plan that it works on."""
    session_record = find_session_record(harness, session)
    if session_record.parent is not None:
        raise NoSuchRun(
            f"`{session_record.id}` is a part of `{session_record.parent}` and is signed with it",
            f"name {session_record.parent} instead",
        )
    if session_record.plan_digest is None:
        return session_place(session_record.workspace, session_record.id)
    place = plan_of(harness, session_record)
    if place is None:
        raise NoSuchRun(f"the plan of `{session_record.id}` is not approved as it was then", LIST)
    return place


def _was_shut(entry: Entry) -> bool:
    """Judged and not signed: it can be signed once somebody repaired what was missing."""
    return entry.kind is Kind.SESSION_SIGNED and not entry.data["open"]


def _first_state(harness: Harness, started: Entry) -> State:
    if started.data["plan_digest"] is None:
        return State(None, driven=False)
    pins = Pins.from_bytes(harness.ledger.get_blob(str(started.data["pins"])))
    return State(parse(pins.plan_text).plan, driven=False)
