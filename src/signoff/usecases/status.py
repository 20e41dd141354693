"""`status`: where a plan stands, from the ledger; shown as of the newest recorded content."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Plan, PlanStatus
from signoff.domain.verdict import Isolation, weakest
from signoff.errors import PlanNotFound, PlanUnreadable
from signoff.gate.gate import GateReport, evaluate
from signoff.gate.state import State
from signoff.planfile.parse import parse
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


@dataclass(frozen=True)
class Spending:
    """What the newest run used so far."""

    tokens: int
    usd: float
    work_s: float


@dataclass(frozen=True)
class Waiting:
    """An open question; about the whole plan when it names no step."""

    id: str
    step: str | None


@dataclass(frozen=True)
class ContentStatus:
    """What lies in the workspace, beside what was signed off."""

    differs: bool | None  # None: it could not be compared
    judged_again_at: str | None = None  # everything was kept on what is there now, in an audit


@dataclass(frozen=True)
class StatusReport:
    """Everything `status` shows; every line is computed."""

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
    older: bool = False  # approved by an older version, which pinned less: to be approved again


def status_of(harness: Harness, place: PlanLocation) -> StatusReport:
    """Fold the ledger; the plan that counts is the pinned one, once there is a run."""
    history = intact_history(harness.ledger, place.record.id, place.path)
    written = _written_plan(place)
    pinned = _pinned(harness, history)
    plan = pinned or written
    if plan is None:
        place.parse()  # says what is wrong with it
        raise PlanNotFound(
            f"no readable plan at `{place.path}`", f"signoff log {shlex.quote(str(place.path))}"
        )
    state = fold_run(history, plan)
    if pinned is not None:
        require_proved(history, state, place.path)
    digest = written.plan_digest if written is not None else plan.plan_digest
    edited = pinned is not None and digest != pinned.plan_digest
    signed = _newest_sign_off(history)
    return StatusReport(
        place=place,
        title=plan.title,
        status=history.status(digest),
        run=history.run_id,
        gate=evaluate(state, state.snapshot),
        as_of=state.snapshot,
        edited=edited,
        waiting=_open_questions(state) if history.running else (),
        spent=Spending(state.spent.tokens, state.spent.usd, round(state.spent_s, 3)),
        isolation=weakest(state.isolations) if state.isolations else None,
        signed_off_at=signed.at if signed else None,
        signed_off_on=signed.data["snapshot"] if signed else None,
        since_sign_off=_since(history, signed, digest) if signed else (),
        next_for_edit=how_to_take_edit(harness, place, history) if edited else "",
        driver=driver_of(harness, place.record.id) if history.running else None,
        unproven=sum("open_sockets" in entry.data for entry in history.entries),
        older=older_pins(harness.ledger, history, digest) is not None,
    )


def how_to_take_edit(harness: Harness, place: PlanLocation, history: PlanHistory) -> str:
    """What to do with a plan that was edited since its run was approved."""
    given = role_words(roles_given(harness, history))
    approve = f"signoff approve {shlex.quote(str(place.path))}{given}"
    return f"{ways_to_end(harness.ledger, place)}, then {approve}" if history.running else approve


def _newest_sign_off(history: PlanHistory) -> Entry | None:
    """It does not un-happen, whatever came after it."""
    ends = (e for e in reversed(history.entries) if e.kind is Kind.RUN_FINISHED)
    return next((e for e in ends if e.data.get("outcome") == Outcome.DONE), None)


def _since(history: PlanHistory, signed: Entry, digest: str) -> tuple[str, ...]:
    """What happened to the plan after it was signed off, in words."""
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


def _open_questions(state: State) -> tuple[Waiting, ...]:
    return tuple(Waiting(item, asked.subject) for item, asked in state.questions.items())


def _written_plan(place: PlanLocation) -> Plan | None:
    try:
        return parse(place.read()).plan
    except (PlanNotFound, PlanUnreadable):
        return None


def _pinned(harness: Harness, history: PlanHistory) -> Plan | None:
    """The plan of the newest run, unless a newer approval stands; None without either."""
    newest = history.run
    if history.approval is not None and (newest is None or newest.seq < history.approval.seq):
        return None
    return pinned_plan(read_pins(harness.ledger, newest)) if newest is not None else None
