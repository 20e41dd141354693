"""`status`: where a plan stands, from the ledger; shown as of the newest recorded content."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from signoff.domain.ledger import Entry, Kind, Outcome
from signoff.domain.plan import Cost, Plan, PlanStatus
from signoff.domain.verdict import Isolation, weakest
from signoff.errors import PlanNotFound, PlanUnreadable
from signoff.gate.gate import GateReport, evaluate
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import (
    Driver,
    PlanHistory,
    driver_of,
    fold_run,
    intact_history,
    older_pins,
    pinned_plan,
    read_pins,
    require_proved,
    role_words,
    roles_given,
)
from signoff.usecases.questions import ways_to_end

if TYPE_CHECKING:
    from signoff.usecases.sessions import SessionLine


class Spending(Struct, frozen=True):
    """Usage of the newest run so far; None where some attempt did not tell."""

    tokens: int | None
    usd: float | None
    work_s: float
    known: Cost  # what the others told


class Waiting(Struct, frozen=True):
    """An open question; about the whole plan when it names no step."""

    id: str
    step: str | None
    until: float | None = None  # it goes on by itself then, in seconds since 1970


class ContentStatus(Struct, frozen=True):
    """Content of the workspace, compared with what was signed off."""

    differs: bool | None  # None: it could not be compared
    judged_again_at: str | None = None  # everything was kept on what is there now, in an audit


class StatusReport(Struct, frozen=True):
    place: PlanLocation
    title: str
    status: PlanStatus
    run: str | None
    gate: GateReport
    as_of: str | None
    edited: bool
    waiting: tuple[Waiting, ...]
    spent: Spending
    isolation: Isolation | None  # None while nothing was judged
    signed_off_at: str | None
    signed_off_on: str | None
    since_sign_off: tuple[str, ...] = ()
    next_for_edit: str = ""  # how the edited plan can be taken
    driver: Driver | None = None  # of a run that is not over; None when nobody has it
    content: ContentStatus | None = None  # None when nobody looked
    unproven: int = 0  # decisions that an agent could have typed
    session: SessionLine | None = None  # the newest that worked on it, while it is not signed off
    older: bool = False  # approved by an older version, which pinned less: to be approved again
    outgrew_room: Mapping[str, str] = {}  # subjects that no clean room judges, and why


def status_of(harness: Harness, place: PlanLocation) -> StatusReport:
    """Fold the ledger; the plan that counts is the pinned one, once there is a run."""
    history = intact_history(harness.ledger, place.id, place.path)
    written, pinned = written_and_pinned(harness, place, history)
    plan = pinned or written
    if plan is None:
        place.parse()  # says what is wrong with it
        raise PlanNotFound(f"no readable plan at `{place.path}`", f"signoff log {place.quoted}")
    state = fold_run(history, plan)
    if pinned is not None:
        require_proved(history, state, place.path)
    digest = written.plan_digest if written is not None else plan.plan_digest
    edited = pinned is not None and digest != pinned.plan_digest
    # It does not un-happen, whatever came after it.
    ends = (e for e in reversed(history.entries) if e.kind is Kind.RUN_FINISHED)
    signed = next((e for e in ends if e.data.get("outcome") == Outcome.DONE), None)
    return StatusReport(
        place=place,
        title=plan.title,
        status=history.status(digest),
        run=history.run_id,
        gate=evaluate(state, state.snapshot),
        as_of=state.snapshot,
        edited=edited,
        waiting=tuple(
            Waiting(item, asked.subject, asked.until)
            for item, asked in (state.questions.items() if history.running else ())
        ),
        spent=Spending(
            None if state.untold_tokens else state.spent.tokens,
            None if state.untold_usd else state.spent.usd,
            round(state.spent_s, 3),
            state.spent,
        ),
        isolation=weakest(state.isolations) if state.isolations else None,
        signed_off_at=signed.at if signed else None,
        signed_off_on=signed.data["snapshot"] if signed else None,
        since_sign_off=_since(history, signed, digest) if signed else (),
        next_for_edit=how_to_take_edit(harness, place, history) if edited else "",
        driver=driver_of(harness, place.id) if history.running else None,
        unproven=sum("open_sockets" in entry.data for entry in history.entries),
        session=_session(harness, place, history, digest),
        older=older_pins(harness.ledger, history, digest) is not None,
        outgrew_room=state.outgrew_room,
    )


def written_and_pinned(
    harness: Harness, place: PlanLocation, history: PlanHistory
) -> tuple[Plan | None, Plan | None]:
    """The plan as it is written, if it can be read, and as its newest run pinned it."""
    written = pinned = None
    with suppress(PlanNotFound, PlanUnreadable):
        written = place.parse().plan
    if history.run is not None and not history.approved_anew:
        pinned = pinned_plan(read_pins(harness.ledger, history.run))
    return written, pinned


def _session(
    harness: Harness, place: PlanLocation, history: PlanHistory, digest: str
) -> SessionLine | None:
    """Work in a client leaves no run behind, and must be seen all the same."""
    if history.status(digest) is not PlanStatus.APPROVED:
        return None
    from signoff.usecases.sessions import newest_on  # noqa: PLC0415 - approved plans only

    return newest_on(harness, place, digest)


def how_to_take_edit(harness: Harness, place: PlanLocation, history: PlanHistory) -> str:
    """The command for a plan that was edited since its run was approved."""
    given = role_words(roles_given(harness, history))
    approve = f"signoff approve {place.quoted}{given}"
    return f"{ways_to_end(harness.ledger, place)}, then {approve}" if history.running else approve


def _since(history: PlanHistory, signed: Entry, digest: str) -> tuple[str, ...]:
    """Events after the sign-off of the plan, in words."""
    later = {e.kind for e in history.entries if e.seq > signed.seq}
    began = (e for e in history.entries if e.kind is Kind.RUN_STARTED and e.run == signed.run)
    edited = any(entry.data["plan_digest"] != digest for entry in began)
    said = {
        "edited": edited,
        "rejected": Kind.PLAN_REJECTED in later,
        "approved again": Kind.PLAN_APPROVED in later,
        "run again": Kind.RUN_STARTED in later,
    }
    return tuple(word for word, happened in said.items() if happened)
