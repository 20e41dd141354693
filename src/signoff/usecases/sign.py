"""`sign`: work that awaits sign-off is judged once more with the agent gone, and signed.

A plan of a person is signed by a run of its own, through the same gate as every run: its steps are
not given to anybody, because the work was done in a session, which the run records. So the plan's
chain tells the same as the session's, and what only a person can judge is asked there.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from signoff.domain.ledger import Kind
from signoff.domain.plan import PlanStatus
from signoff.errors import Held, NoSuchRun
from signoff.gate.record import Record
from signoff.storage.location import find_vault
from signoff.usecases.approve import propose
from signoff.usecases.clients.connected import living_client
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import older_pins, read_history
from signoff.usecases.person import require_person
from signoff.usecases.pinning import not_approved
from signoff.usecases.run import RunOptions, RunReport, run_plan
from signoff.usecases.session_records import (
    LIST,
    SessionRecord,
    find_session_record,
    find_session_records,
    plan_of,
)
from signoff.usecases.worked import read_work
from signoff.verification.pins import Pins

if TYPE_CHECKING:
    from signoff.agents.session import SessionReport

_AT_A_TERMINAL = "end the client, then signoff sign at a terminal of your own"


@dataclass(frozen=True)
class SignReport:
    """What came of one session; `run` is the plan's own run, where a plan of a person was signed.

    `run` is None while the session's own gate stays shut: then no run is begun.
    """

    session: SessionReport
    run: RunReport | None = None
    of_person: bool = False  # the plan is a person's: only its own run makes it done
    older: bool = False  # it began under an older version, which pinned less


def sign_plan(
    harness: Harness,
    place: PlanLocation,
    options: RunOptions,
) -> SignReport:
    """Sign a person's plan that an agent worked on in a session; NoSuchRun when none did."""
    _require_no_agent(harness)
    session = _awaiting_plan(harness, place)
    if session is None:
        raise NoSuchRun(
            f"plan `{place.name}` does not await sign-off: no agent's session opened its gate",
            f"signoff run {shlex.quote(place.name)}, or work on it in a client",
        )
    return sign_work(harness, place, session, options)


def run_or_sign(
    harness: Harness,
    place: PlanLocation,
    options: RunOptions,
) -> RunReport:
    """Run a plan; work on it that awaits sign-off is judged first, and given to nobody if it holds.

    Like every sign-off that happens with the agent gone: refused inside an attempt or a client, and
    while the client of that session lives.
    """
    history = read_history(harness.ledger, place.record.id)
    session = None if history.running else _awaiting_plan(harness, place)
    if session is None or history.status(place.digest()) is PlanStatus.DONE:
        return run_plan(harness, place, options)
    options.tell(f"work in `{session}` awaits sign-off: it is judged before anybody is asked")
    signed = sign_work(harness, place, session, options)
    if signed.run is not None:
        return signed.run
    for missing in signed.session.gate.missing:
        options.tell(f"not signed: {missing.subject}: {missing.what}")
    return run_plan(harness, place, options)


def sign_sessions(
    harness: Harness,
    options: RunOptions,
) -> tuple[SignReport, ...]:
    """Sign every session that waits in this workspace; of a person's plan the newest."""
    _require_no_agent(harness)
    waiting = _awaiting(harness, find_vault(harness.cwd, harness.environ).worktree)
    newest = {
        session_record.plan_digest or session_record.id: session_record
        for session_record in waiting
    }
    if not newest:
        raise NoSuchRun("no session awaits sign-off here", LIST)
    for session_record in newest.values():
        _require_client_gone(harness, session_record.id)
    return tuple(_sign(harness, session_record, options) for session_record in newest.values())


def sign_named(
    harness: Harness,
    session: str,
    options: RunOptions,
) -> SignReport:
    """Sign one session, whatever its hooks saw; one that works on a person's plan, by that plan."""
    _require_no_agent(harness)
    session_record = find_session_record(harness, session)
    if session_record.parent is not None:
        raise NoSuchRun(
            f"`{session_record.id}` is a part of `{session_record.parent}` and is signed with it",
            f"signoff sign {session_record.parent}",
        )
    return _sign(harness, session_record, options)


def sign_work(
    harness: Harness,
    place: PlanLocation,
    session: str,
    options: RunOptions,
) -> SignReport:
    """Judge a session's work on a person's plan, then have the plan's own run sign it."""
    by = _require_no_agent(harness)
    _require_client_gone(harness, session)
    history = read_history(harness.ledger, place.record.id)
    older = older_pins(harness.ledger, history, place.digest()) is not None
    if older and not (options.yes or harness.settings.auto_approve):
        # Before anything is judged by what an older version pinned.
        upgrade = propose(harness, place).upgrade
        assert upgrade is not None, "its pins are of an older version"
        raise not_approved(place, upgrade)
    report = _sign_session(harness, session, by, place)
    if not report.gate.open:
        return SignReport(report, of_person=True)
    work = read_work(harness.ledger, session)
    ran = run_plan(harness, place, replace(options, roles=None, session=work))
    return SignReport(report, ran, of_person=True)


def _sign_session(
    harness: Harness, session: str, by: str, bound: PlanLocation | None = None
) -> SessionReport:
    # Every `run` comes through this module, and most find no session: its tools load slowly.
    from signoff.usecases.open_session import sign  # noqa: PLC0415

    return sign(harness, session, by=by, bound=bound)


def _sign(
    harness: Harness,
    session_record: SessionRecord,
    options: RunOptions,
) -> SignReport:
    if session_record.plan_digest is None:
        by = _require_no_agent(harness)
        _require_client_gone(harness, session_record.id)
        pins = Pins.from_bytes(harness.ledger.get_blob(str(session_record.started.data["pins"])))
        return SignReport(_sign_session(harness, session_record.id, by), older=pins.outdated)
    place = plan_of(harness, session_record)
    if place is None:
        raise NoSuchRun(
            f"`{session_record.id}` worked on a plan that nobody has approved as it was then, so it"
            " cannot be signed",
            "signoff list-plans",
        )
    return sign_work(harness, place, session_record.id, options)


def _awaiting_plan(harness: Harness, place: PlanLocation) -> str | None:
    """The newest session whose work on this very plan, as it is approved, awaits sign-off."""
    digest = place.digest()
    if not read_history(harness.ledger, place.record.id).approves(digest):
        return None
    waiting = [one.id for one in _awaiting(harness, place.workspace) if one.plan_digest == digest]
    return waiting[-1] if waiting else None


def _awaiting(harness: Harness, workspace: Path) -> list[SessionRecord]:
    """Sessions of a workspace to be signed, oldest first; children are signed with their parents.

    Those whose newest answer was accepted; and those of clients that are gone whose gate is open,
    because without a hook nobody tells us that the agent is finished.
    """
    return [
        session_record
        for session_record in find_session_records(harness, workspace)
        if session_record.parent is None
        and (session_record.is_accepted or _is_open(harness, session_record))
    ]


def _is_open(harness: Harness, session_record: SessionRecord) -> bool:
    state, answer = session_record.state, session_record.answer
    if state.plan is None or state.aborted or (answer and answer.kind is Kind.SESSION_SIGNED):
        return False
    # Before the workspace is looked at: most sessions that were left are not finished.
    if not all(_may_stand(state.record(s.id), s.contract is None) for s in state.plan.subjects):
        return False
    if living_client(harness.home.path, session_record.id) is not None:
        return False
    from signoff.usecases.open_session import open_session  # noqa: PLC0415 - as above

    place = plan_of(harness, session_record)
    session = open_session(
        harness, session_record.workspace, author="sign", session_id=session_record.id, bound=place
    )
    return session.gate().open


def _may_stand(record: Record, unchecked: bool) -> bool:
    kept = record.latest is not None and record.latest.kept
    return unchecked or record.waived or record.let_go or kept


def _require_no_agent(harness: Harness) -> str:
    """Who signs, by name; ApprovalRefused from inside an attempt or a client."""
    return require_person(harness.environ, harness.home.path, _AT_A_TERMINAL)


def _require_client_gone(harness: Harness, session: str) -> None:
    client = living_client(harness.home.path, session)
    if client is not None:
        raise Held(
            f"the client of `{session}` still runs (process {client.pid}); what it may still write"
            " cannot be signed",
            "end the client, then signoff sign",
            {"pid": client.pid},
        )
