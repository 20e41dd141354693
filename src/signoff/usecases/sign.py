"""`sign`: work that awaits sign-off is judged once more with the agent gone, and signed.

A plan of a person is signed by a run of its own, through the same gate as every run: its steps are
not given to anybody, because the work was done in a session, which the run records. So the plan's
chain tells the same as the session's, and what only a person can judge is asked there.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import Kind
from signoff.domain.plan import PlanStatus
from signoff.errors import Held, NoSuchRun
from signoff.gate.record import Record
from signoff.storage.active import find_vault
from signoff.storage.connected import living_client
from signoff.usecases.approve import propose
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import older_pins, read_history, read_pins
from signoff.usecases.person import require_person
from signoff.usecases.pinning import not_approved
from signoff.usecases.run import RunOptions, RunReport, run_plan
from signoff.usecases.sessions import (
    LIST,
    SessionRecord,
    awaits,
    find_session_record,
    find_session_records,
    plan_of,
    require_own,
)
from signoff.usecases.worked import read_work

if TYPE_CHECKING:
    from signoff.agents.session import SessionReport

_AT_A_TERMINAL = "end the client, then signoff sign at a terminal of your own"


class SignReport(Struct, frozen=True):
    """Result for one session; `run` is the plan's own run, where a person's plan was signed.

    `run` is None while the session's own gate stays shut: then no run is begun.
    """

    session: SessionReport
    run: RunReport | None = None
    older: bool = False  # it began under an older version, which pinned less


def sign_plan(harness: Harness, place: PlanLocation, options: RunOptions) -> SignReport:
    """Sign a person's plan that an agent worked on in a session; NoSuchRun when none did."""
    _require_no_agent(harness)
    session = _awaiting_plan(harness, place)
    if session is None:
        raise NoSuchRun(
            f"plan `{place.name}` does not await sign-off: no agent finished it in a client",
            f"signoff run {shlex.quote(place.name)}, or work on it in a client",
        )
    return sign_work(harness, place, session, options)


def run_or_sign(harness: Harness, place: PlanLocation, options: RunOptions) -> RunReport:
    """Run a plan; work on it that awaits sign-off is judged first, and given to nobody if it holds.

    Like every sign-off that happens with the agent gone: refused inside an attempt or a client, and
    while the client of that session lives.
    """
    history = read_history(harness.ledger, place.id)
    session = None if history.running else _awaiting_plan(harness, place)
    if session is None or history.status(place.digest()) is PlanStatus.DONE:
        return run_plan(harness, place, options)
    options.tell(f"work in `{session}` awaits sign-off, so it is judged before any agent starts")
    signed = sign_work(harness, place, session, options)
    if signed.run is not None:
        return signed.run
    for missing in signed.session.gate.missing:
        options.tell(f"not signed: {missing.subject}: {missing.what}")
    return run_plan(harness, place, options)


def sign_sessions(harness: Harness, options: RunOptions) -> tuple[SignReport, ...]:
    """Sign every session that waits in this workspace; of a person's plan the newest."""
    _require_no_agent(harness)
    waiting = _awaiting(harness, find_vault(harness.cwd, harness.environ).worktree)
    newest = {(one.started.data.get("plan"), one.plan_digest or one.id): one for one in waiting}
    if not newest:
        raise NoSuchRun("no session awaits sign-off here", LIST)
    for record in newest.values():
        _require_client_gone(harness, record.id)
    return tuple(_sign(harness, record, options) for record in newest.values())


def sign_named(harness: Harness, session: str, options: RunOptions) -> SignReport:
    """Sign one session, whatever its hooks saw; one that works on a person's plan, by that plan."""
    _require_no_agent(harness)
    record = find_session_record(harness, session)
    require_own(record)
    return _sign(harness, record, options)


def sign_work(
    harness: Harness, place: PlanLocation, session: str, options: RunOptions
) -> SignReport:
    """Judge a session's work on a person's plan, then have the plan's own run sign it."""
    by = _require_no_agent(harness)
    _require_client_gone(harness, session)
    history = read_history(harness.ledger, place.id)
    older = older_pins(harness.ledger, history, place.digest()) is not None
    if older and not (options.yes or harness.settings.auto_approve):
        # Before anything is judged by what an older version pinned.
        upgrade = propose(harness, place).upgrade
        assert upgrade is not None, "its pins are of an older version"
        raise not_approved(place, upgrade)
    report = _sign_session(harness, session, by, place)
    if not report.gate.open:
        return SignReport(report)
    work = read_work(harness.ledger, session)
    ran = run_plan(harness, place, replace(options, roles=None, session=work))
    return SignReport(report, ran)


def _sign_session(
    harness: Harness, session: str, by: str, bound: PlanLocation | None = None
) -> SessionReport:
    # Every `run` comes through this module, and most find no session: its tools load slowly.
    from signoff.usecases.open_session import sign  # noqa: PLC0415

    return sign(harness, session, by=by, bound=bound)


def _sign(harness: Harness, record: SessionRecord, options: RunOptions) -> SignReport:
    if record.plan_digest is None:
        by = _require_no_agent(harness)
        _require_client_gone(harness, record.id)
        older = read_pins(harness.ledger, record.started).outdated
        return SignReport(_sign_session(harness, record.id, by), older=older)
    place = plan_of(harness, record)
    if place is None:
        raise NoSuchRun(
            f"`{record.id}` worked on a plan that nobody has approved as it was then, so it"
            " cannot be signed",
            "signoff list-plans",
        )
    return sign_work(harness, place, record.id, options)


def _awaiting_plan(harness: Harness, place: PlanLocation) -> str | None:
    """The newest session whose work on this very plan, as it is approved, awaits sign-off."""
    digest = place.digest()
    if not read_history(harness.ledger, place.id).approves(digest):
        return None
    found = _awaiting(harness, place.workspace, place)
    waiting = [one.id for one in found if one.works_on(place, digest)]
    return waiting[-1] if waiting else None


def _awaiting(
    harness: Harness, workspace: Path, place: PlanLocation | None = None
) -> list[SessionRecord]:
    """Sessions of a workspace to be signed, oldest first; children are signed with their parents.

    Those whose newest answer was accepted; and those of clients that are gone whose gate is open,
    because without a hook nobody tells us that the agent is finished.
    """
    return [
        record
        for record in find_session_records(harness, workspace)
        if record.parent is None
        and (
            awaits(harness, record, place or plan_of(harness, record)) or _is_open(harness, record)
        )
    ]


def _is_open(harness: Harness, record: SessionRecord) -> bool:
    state, answer = record.state, record.answer
    if state.plan is None or state.aborted or (answer and answer.kind is Kind.SESSION_SIGNED):
        return False
    # Before the workspace is looked at: most sessions that were left are not finished.
    if not all(_may_stand(state.record(s.id), s.contract is None) for s in state.plan.subjects):
        return False
    if living_client(harness.home.path, record.id) is not None:
        return False
    from signoff.usecases.open_session import open_session  # noqa: PLC0415 - as above

    place = plan_of(harness, record)
    session = open_session(
        harness, record.workspace, author="sign", session_id=record.id, bound=place
    )
    return session.gate().open


def _may_stand(record: Record, unchecked: bool) -> bool:
    kept = record.latest is not None and record.latest.kept
    return unchecked or record.waived or record.let_go or kept


def _require_no_agent(harness: Harness) -> str:
    """Name of the person who signs; ApprovalRefused from inside an attempt or a client."""
    return require_person(harness.environ, harness.home.path, _AT_A_TERMINAL)


def _require_client_gone(harness: Harness, session: str) -> None:
    client = living_client(harness.home.path, session)
    if client is not None:
        raise Held(
            f"the client of `{session}` still runs (process {client.pid}); what it may still write"
            " cannot be signed",
            "end the client, then signoff sign; if it hangs, signoff sessions end",
            {"pid": client.pid},
        )
