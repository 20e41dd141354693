"""The gate: may this plan be called done, and if not, exactly what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from signoff.domain.counts import TestCounts
from signoff.domain.escalation import Outcome
from signoff.domain.plan import Contract, Postcondition, RedFirst, Step
from signoff.domain.verdict import Result
from signoff.gate.record import Record
from signoff.gate.state import RunState


class StepState(StrEnum):
    """Where one step stands."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    WAIVED = "waived"
    ACCEPTED = "accepted"  # a person says that it holds; nothing was judged


class Gate(StrEnum):
    """The answer for the whole plan."""

    OPEN = "open"
    OPEN_WITH_WAIVERS = "open with waivers"
    SHUT = "shut"


@dataclass(frozen=True)
class Standing:
    """One step or postcondition: computed, never set."""

    id: str
    title: str
    state: StepState
    attempts: int
    verdict: Result | None
    stale: bool
    held_before: bool | None
    carried: bool
    rerun: bool
    tests: TestCounts | None = None
    handoff: tuple[str, ...] = ()
    accepted_by: str | None = None


@dataclass(frozen=True)
class Missing:
    """One thing between the plan and `done`, and what would settle it."""

    subject: str
    what: str
    next: str


@dataclass(frozen=True)
class GateReport:
    """The gate's whole answer about one run on one content."""

    gate: Gate
    steps: tuple[Standing, ...]
    postconditions: tuple[Standing, ...]
    missing: tuple[Missing, ...]
    waived: tuple[str, ...]


def evaluate(state: RunState, snapshot: str | None) -> GateReport:
    """Ask the gate. Without a snapshot nothing can be told stale, so nothing counts as current."""
    plan = state.schedule.plan
    steps = tuple(_standing_of_step(s, state, snapshot) for s in state.schedule.steps)
    posts = tuple(_standing_of_post(p, state, snapshot) for p in plan.postconditions)
    missing: list[Missing] = []
    for step, standing in zip(state.schedule.steps, steps, strict=True):
        missing.extend(_missing_of_step(step, standing, state.record(step.id)))
    for post, standing in zip(plan.postconditions, posts, strict=True):
        missing.extend(_missing_of_post(post, standing, state.record(post.id)))
    waived = tuple(s.id for s in (*steps, *posts) if s.state is StepState.WAIVED)
    missing.extend(_missing_of_plan(state, steps))
    if _ended_unproved(state):
        missing = [replace(m, next=_next_run(state)) for m in missing]
    return GateReport(_answer(missing, waived), steps, posts, tuple(missing), waived)


def _ended_unproved(state: RunState) -> bool:
    """The run is over without a sign-off: nobody is at work on it, and nobody is asked any more."""
    return state.outcome is not None and state.outcome is not Outcome.DONE


def _next_run(state: RunState) -> str:
    return "signoff approve" if state.outcome is Outcome.REVISED else "signoff run"


def _answer(missing: list[Missing], waived: tuple[str, ...]) -> Gate:
    if missing:
        return Gate.SHUT
    return Gate.OPEN_WITH_WAIVERS if waived else Gate.OPEN


def is_stale(contract: Contract | None, record: Record, snapshot: str | None) -> bool:
    """Whether the newest verdict is about other content than the one in question, or other pins."""
    if record.latest is None or contract is None or contract.judged_once:
        return False
    return snapshot is None or record.repinned or record.latest.snapshot != snapshot


def _standing_of_step(step: Step, state: RunState, snapshot: str | None) -> Standing:
    record = state.record(step.id)
    return Standing(
        id=step.id,
        title=step.title,
        state=_step_state(record, over=_ended_unproved(state)),
        attempts=record.attempts,
        verdict=record.latest.result if record.latest else None,
        stale=is_stale(step.contract, record, snapshot),
        held_before=record.held_before,
        carried=record.carried,
        rerun=step.contract is not None and not step.contract.judged_once,
        tests=record.latest.counts if record.latest else None,
        handoff=record.handoff,
    )


def _standing_of_post(post: Postcondition, state: RunState, snapshot: str | None) -> Standing:
    record = state.record(post.id)
    vouched = record.vouched if post.contract is None else None
    kept = record.latest is not None and record.latest.kept
    stands = _step_state(record, over=_ended_unproved(state))
    if stands is StepState.PENDING and (kept or vouched):
        stands = StepState.ACCEPTED if vouched else StepState.DONE
    old_word = vouched is not None and vouched.snapshot != snapshot
    return Standing(
        id=post.id,
        title=post.text,
        state=stands,
        attempts=0,
        verdict=record.latest.result if record.latest else None,
        stale=old_word or is_stale(post.contract, record, snapshot),
        held_before=None,
        carried=False,
        rerun=post.contract is not None and not post.contract.judged_once,
        tests=record.latest.counts if record.latest else None,
        accepted_by=vouched.by if vouched else None,
    )


def _step_state(record: Record, *, over: bool) -> StepState:
    if record.waived:
        return StepState.WAIVED
    if record.failed:
        return StepState.FAILED
    if record.escalation is not None and not over:
        return StepState.BLOCKED
    if record.done:
        return StepState.DONE
    if not over and (record.in_flight is not None or record.unjudged is not None):
        return StepState.RUNNING
    return StepState.PENDING


def _missing_of_step(step: Step, standing: Standing, record: Record) -> list[Missing]:
    if standing.state is StepState.WAIVED:
        return []
    if step.for_each is not None:
        return [Missing(step.id, "its list was not read yet", "signoff run")]
    if standing.state is not StepState.DONE:
        return [Missing(step.id, _why_not_done(standing, record), _next_for(standing))]
    if standing.stale:
        return [Missing(step.id, "its verdict is about older content", "signoff run")]
    required = step.contract is not None and step.contract.red_first is RedFirst.REQUIRED
    if required and record.never_red and not record.held_before_accepted:
        return [Missing(step.id, "its contract held before any work was done", "signoff inbox")]
    return []


def _why_not_done(standing: Standing, record: Record) -> str:
    if standing.state is StepState.FAILED:
        return "it failed: " + (record.latest.message if record.latest else "no verdict")
    if standing.state is StepState.BLOCKED:
        return f"it waits for a person ({record.escalation})"
    if record.reopened:
        return "a later change broke it: " + (record.latest.message if record.latest else "")
    if record.latest is not None:
        return f"its contract is {record.latest.result}: {record.latest.message}"
    return "its contract was never kept"


def _next_for(standing: Standing) -> str:
    return "signoff inbox" if standing.state is StepState.BLOCKED else "signoff run"


def _missing_of_post(post: Postcondition, standing: Standing, record: Record) -> list[Missing]:
    if standing.state is StepState.WAIVED:
        return []
    if standing.state is StepState.ACCEPTED:
        old = Missing(post.id, "a person said so about older content", "signoff run")
        return [old] if standing.stale else []
    if post.contract is None:
        return [Missing(post.id, "it has no contract, so a person must decide", "signoff inbox")]
    if standing.state is StepState.BLOCKED:
        return [Missing(post.id, f"it waits for a person ({record.escalation})", "signoff inbox")]
    if record.latest is None:
        return [Missing(post.id, "it was not judged yet", "signoff run")]
    if not record.latest.kept:
        what = f"it is {record.latest.result}: {record.latest.message}"
        return [Missing(post.id, what, "signoff inbox")]
    if standing.stale:
        return [Missing(post.id, "its verdict is about older content", "signoff run")]
    return []


def _missing_of_plan(state: RunState, steps: tuple[Standing, ...]) -> list[Missing]:
    if state.outcome is Outcome.CANCELLED:
        return [Missing("plan", "this run was cancelled", "signoff run")]
    if state.revised:
        return [Missing("plan", "a person took it back to revise it", "signoff run")]
    if state.aborted:
        return [Missing("plan", "a person ended this run", "signoff run")]
    asked = [i for i, entry in state.escalations.items() if entry.step is None]
    if asked and not _ended_unproved(state):
        return [Missing("plan", f"it waits for a person ({asked[0]})", "signoff inbox")]
    if not steps:
        return [Missing("plan", "it has no steps, so nothing can be proved", "signoff verify")]
    if all(s.state is StepState.WAIVED for s in steps):
        return [Missing("plan", "every step was waived, so nothing was proved", "signoff run")]
    return []
