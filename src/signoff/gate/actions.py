"""What a run does next, decided from the fold alone, and whether its budget allows it."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.domain.escalation import Cause, Outcome
from signoff.domain.plan import Contract, Cost, Effects, RedFirst, Step, Then
from signoff.domain.verdict import FailureClass, Phase
from signoff.gate.record import Record
from signoff.gate.state import State
from signoff.settings.loading import Policy


@dataclass(frozen=True)
class Abandon:
    """The driver died during this attempt: clear up after it, then go on."""

    step: Step
    attempt: int


@dataclass(frozen=True)
class ReadList:
    """Read the list of a `for_each` step: a first look as the run begins, then to expand it."""

    step: Step
    first_look: bool


@dataclass(frozen=True)
class Count:
    """Run a contract before anybody works, to know how many tests it ran on honest ground."""

    subject: str


@dataclass(frozen=True)
class JudgeStep:
    """Judge the step's contract now."""

    step: Step
    phase: Phase
    attempt: int | None


@dataclass(frozen=True)
class Carry:
    """Accept a step that an earlier run of the plan finished and that still holds."""

    step: Step


@dataclass(frozen=True)
class Dispatch:
    """Give the step to its role."""

    step: Step
    attempt: int


@dataclass(frozen=True)
class Escalate:
    """Ask a person about this step."""

    step: Step
    cause: Cause


@dataclass(frozen=True)
class Fail:
    """The policy says abort."""

    step: Step


@dataclass(frozen=True)
class Wait:
    """Nothing can go on before a person answers."""

    questions: tuple[str, ...]


@dataclass(frozen=True)
class Sweep:
    """Every step is settled: judge what is stale on the final content, then the postconditions."""


@dataclass(frozen=True)
class Finish:
    """The run is over."""

    outcome: Outcome


REJUDGINGS = 2  # when the harness could not judge, before it asks a person
TAMPERING_RETRIES = 1  # files are put back once; who changes them again is not asked a third time
# Whatever `on_fail` says.
_FOR_A_PERSON = frozenset({Cause.AGENT_ANSWER, Cause.FLAKY, Cause.INFLUENCED})

Action = (
    Abandon
    | ReadList
    | Count
    | JudgeStep
    | Carry
    | Dispatch
    | Escalate
    | Fail
    | Wait
    | Sweep
    | Finish
)


def next_action(state: State, policy: Policy) -> Action:
    """The one next thing to do in this run."""
    if state.outcome is not None:
        return Finish(state.outcome)
    if state.revised:
        return Finish(Outcome.REVISED)
    if state.aborted or state.any_failed:
        return Finish(Outcome.FAILED)
    for_all = tuple(i for i, asked in state.questions.items() if asked.subject is None)
    if for_all:
        return Wait(for_all)
    if state.unlisted:
        return ReadList(state.schedule.step(state.unlisted[0]), first_look=True)
    if state.uncounted:
        return Count(state.uncounted[0])
    return _first_step_action(state, policy)


def _first_step_action(state: State, policy: Policy) -> Action:
    steps = state.schedule.steps
    blocked = False
    for step in steps[state.settle_cursor() :]:
        record = state.record(step.id)
        if record.settled:
            continue
        if record.question is not None or not _needs_settled(state, step):
            blocked = True
            continue
        return _action_for(step, record, state, policy)
    if blocked or state.questions:
        return Wait(tuple(state.questions))
    return Sweep()


def _needs_settled(state: State, step: Step) -> bool:
    return all(state.record(need).settled for need in state.schedule.needed(step))


def _action_for(step: Step, record: Record, state: State, policy: Policy) -> Action:
    if record.in_flight is not None:
        return Abandon(step, record.in_flight)
    if step.for_each is not None:
        return ReadList(step, first_look=False)
    if record.handoff and policy.escalate_handoffs:
        return Escalate(step, Cause.HANDOFF)
    if record.unjudgeable > REJUDGINGS:
        return Escalate(step, Cause.INFRASTRUCTURE)
    if record.unjudged is not None:
        return JudgeStep(step, Phase.ATTEMPT, record.unjudged or None)
    if record.attempts == 0 and not record.accepted:
        before = _action_before_first_attempt(step, record, state, policy)
        if before is not None:
            return before
    cause = _used_up(step, record)
    if cause is None:
        return Dispatch(step, record.attempts + 1)
    aborts = step.on_fail.then is Then.ABORT and cause not in _FOR_A_PERSON
    return Fail(step) if aborts else Escalate(step, cause)


def _used_up(step: Step, record: Record) -> Cause | None:
    """Why no further attempt is made; None while the budget of every class allows one."""
    retries = step.on_fail.retries
    if record.answer is not None:
        return Cause.AGENT_ANSWER
    if record.flaky:
        return Cause.FLAKY
    if record.influenced:
        return Cause.INFLUENCED
    if record.failures > retries:
        return Cause.CONTRACT
    if record.tamperings > min(retries, TAMPERING_RETRIES):
        return Cause.TAMPERED
    if record.repeated:
        return Cause.REPEATED
    return None


def _looks_first(contract: Contract) -> bool:
    """A contract that reaches outside is judged once, unless the plan insists on red first."""
    if contract.effects is Effects.EXTERNAL:
        return contract.red_first is RedFirst.REQUIRED
    return contract.red_first is not RedFirst.OFF


def _action_before_first_attempt(
    step: Step, record: Record, state: State, policy: Policy
) -> Action | None:
    """Red first, and steps that an earlier run already finished."""
    contract = step.contract
    known = step.digest in state.history
    if contract is None:
        return None
    if record.before is None and (known or _looks_first(contract)):
        return JudgeStep(step, Phase.BEFORE, None)
    if record.before is not None and record.before.failure is FailureClass.INFRASTRUCTURE:
        # An attempt costs money; what cannot be judged now could not be judged after it.
        return Escalate(step, Cause.INFRASTRUCTURE)
    held = record.before is not None and record.before.kept
    if known and held and record.held_before is not False:
        return Carry(step)
    required = contract.red_first is RedFirst.REQUIRED or policy.require_red_first
    required = required and contract.red_first is not RedFirst.OFF
    if required and record.never_red and not record.held_before_accepted:
        return Escalate(step, Cause.HELD_BEFORE)
    return None


def shortfall(state: State, step: Step) -> str | None:
    """What the budget no longer covers if this step is dispatched; None when it fits.

    A step is expected to take its own estimate, else the average of the attempts so far.
    """
    budget, spent, attempts = state.schedule.plan.budget, state.spent, max(state.attempts_ended, 1)
    estimate = step.estimate or Cost(spent.tokens, spent.usd)
    share = 1 if step.estimate is not None else attempts
    for limit, used, each, show in (
        (budget.tokens, spent.tokens, estimate.tokens / share, "{:,.0f} tokens".format),
        (budget.usd, spent.usd, estimate.usd / share, "${:,.2f}".format),
        (budget.wall_s, state.spent_s, state.spent_s / attempts, _minutes),
    ):
        allowed = None if limit is None else limit * state.budget_grants
        if allowed is not None and (used + each > allowed or used >= allowed):
            left = sum(not state.record(s.id).settled for s in state.schedule.steps)
            return (
                f"budget exceeded: {show(used)} of {show(allowed)} used, {left}"
                f" step{'' if left == 1 else 's'} left, about {show(each * left)} more needed"
            )
    return None


def wall_left_s(state: State) -> float | None:
    """How long the run may still work; None without a limit."""
    wall_s = state.schedule.plan.budget.wall_s
    return None if wall_s is None else max(0.0, wall_s * state.budget_grants - state.spent_s)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"
