"""Decide the next action of a run from the fold alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from signoff.domain.ledger import Cause, Outcome
from signoff.domain.plan import Contract, Effects, RedFirst, Step, Then
from signoff.domain.second_look import DEFAULT_REQUIRED
from signoff.domain.verdict import FailureClass, Phase
from signoff.gate.beside import chosen, may_take_a_lane
from signoff.gate.record import Record
from signoff.gate.state import State, fits_beside
from signoff.settings.policy import Policy, StrengthRule
from signoff.settings.roles import HUMAN_ROLE


class Abandon(Struct, frozen=True):
    """The driver died during this attempt: clear up after it, then go on."""

    step: Step
    attempt: int


class ReadList(Struct, frozen=True):
    """Read the list of a `for_each` step: a first look as the run begins, then to expand it."""

    step: Step
    first_look: bool


class Count(Struct, frozen=True):
    """Run a contract before anybody works, to know how many tests it ran on honest ground."""

    subject: str


class JudgeStep(Struct, frozen=True):
    """Judge the step's contract now."""

    step: Step
    phase: Phase
    attempt: int | None


class Land(Struct, frozen=True):
    """Put what these steps made in their lanes onto the workspace's content."""

    steps: tuple[Step, ...]


class Carry(Struct, frozen=True):
    """Accept a step that an earlier run of the plan finished and that still holds."""

    step: Step


class Dispatch(Struct, frozen=True):
    """Give the step to its role."""

    step: Step
    attempt: int
    candidate: int = 0  # its number, where several work on the step at once


class JudgeCandidate(Struct, frozen=True):
    """Judge what one of several candidates left, by itself."""

    step: Step
    attempt: int


class PickCandidate(Struct, frozen=True):
    """Take the work of this candidate, and stop the others."""

    step: Step
    attempt: int


class Escalate(Struct, frozen=True):
    """Ask a person about this step."""

    step: Step
    cause: Cause


class EscalateObstacle(Struct, frozen=True):
    """Ask a person about what kept a check from working before anybody worked."""

    subject: str


class EscalateHeldBefore(Struct, frozen=True):
    """Ask a person about a plan all of whose contracts held before the work."""


class Fail(Struct, frozen=True):
    """End the run as failed: the policy says abort."""

    step: Step


class Wait(Struct, frozen=True):
    """Wait: nothing can go on before a person answers."""

    questions: tuple[str, ...]


class MeasureStrength(Struct, frozen=True):
    """Judge wrong versions of what the step changed."""

    step: Step


class Sweep(Struct, frozen=True):
    """Every step is settled: judge what is stale on the final content, then the postconditions."""


class Finish(Struct, frozen=True):
    """End the run."""

    outcome: Outcome


REJUDGINGS = 2  # when the harness could not judge, before it asks a person
MOST_OBSTACLES = 2  # in a row that nobody saw before the work began
TAMPERING_RETRIES = 1  # files are put back once; who changes them again is not asked a third time
# Whatever `on_fail` says.
_FOR_A_PERSON = frozenset(
    {Cause.AGENT_ANSWER, Cause.FLAKY, Cause.INFLUENCED, Cause.OBSTACLE, Cause.OPINION}
)

Action = (
    Abandon
    | ReadList
    | Count
    | JudgeStep
    | Land
    | Carry
    | Dispatch
    | JudgeCandidate
    | PickCandidate
    | Escalate
    | EscalateObstacle
    | EscalateHeldBefore
    | Fail
    | Wait
    | MeasureStrength
    | Sweep
    | Finish
)


class Underway(Struct, frozen=True):
    """Work that goes on beside the workspace while the next action is chosen."""

    busy: frozenset[str] = frozenset()  # subjects that are worked on or judged already
    looked_at: frozenset[str] = frozenset()  # steps that are judged as they were before any work
    at_work: tuple[Step, ...] = ()  # one per agent
    full: bool = False  # nobody else can be set to work
    side_by_side: bool = False  # several agents can work at once
    candidates: frozenset[tuple[str, int]] = frozenset()  # steps and attempts at work, or judged
    landing: bool = False  # what landed together is being judged; nothing else lands meanwhile
    in_line: frozenset[str] = frozenset()  # steps for which no lane can be made
    goes_on: bool = False  # any work or judging


NOTHING = Underway()


def next_action(state: State, policy: Policy, underway: Underway = NOTHING) -> Action:
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
        uncounted = (subject for subject in state.uncounted if subject not in underway.busy)
        subject = next(uncounted, None)
        return Wait(()) if subject is None else Count(subject)
    # Whoever is paid now could not be judged later.
    unmended = [s for s in state.obstacles if not state.record(s).waived]
    if unmended:
        unasked = (s for s in unmended if state.record(s).question is None)
        subject = next(unasked, None)
        return Wait(tuple(state.questions)) if subject is None else EscalateObstacle(subject)
    return _first_step_action(state, policy, underway)


def open_steps(state: State, busy: Collection[str] = ()) -> Iterator[Step]:
    """Steps for which something can be done now, in the plan's order."""
    for step in state.schedule.steps[state.settle_cursor() :]:
        record = state.record(step.id)
        if record.settled or record.question is not None or step.id in busy:
            continue
        if all(state.record(needed).settled for needed in state.schedule.needed(step)):
            yield step


def _first_step_action(state: State, policy: Policy, underway: Underway) -> Action:
    """Set everybody to work who can be; then land all that waits in lanes, together."""
    landing: list[Step] = []
    unpaid: list[Dispatch] = []  # what the budget does not allow while others are at work
    for step in open_steps(state, underway.busy):
        record, looked_at = state.record(step.id), step.id in underway.looked_at
        if not record.candidates:
            action = _action_for(step, record, state, policy, looked_at=looked_at)
        begins = not record.candidates and isinstance(action, Dispatch)
        if record.candidates or (begins and _has_candidates(step, state, underway)):
            of_candidates = _candidates_action(step, record, underway)
            if of_candidates is None:
                continue
            action = of_candidates
        if isinstance(action, JudgeStep) and action.phase is Phase.ATTEMPT and looked_at:
            continue  # first what it was before the work
        if isinstance(action, JudgeStep) and action.phase is Phase.ATTEMPT and record.base:
            landing.append(step)
        elif not isinstance(action, Dispatch) or step.target == HUMAN_ROLE:
            return action
        elif not underway.full:
            if not unpaid and fits_beside(state, step, underway.at_work):
                return action
            unpaid.append(action)
    if landing and not underway.landing:
        return Land(tuple(landing))
    if unpaid and not underway.goes_on:
        return unpaid[0]  # nothing that could still end would change it: a person is asked
    if state.questions or state.settle_cursor() < len(state.schedule.steps):
        return Wait(tuple(state.questions))
    return _last_action(state, policy)


def _last_action(state: State, policy: Policy) -> Action:
    """The next thing to do once every step is settled."""
    unmeasured = (step for step in state.schedule.steps if _is_unmeasured(step, state))
    if policy.strength is not StrengthRule.OFF and (step := next(unmeasured, None)) is not None:
        return MeasureStrength(step)
    return EscalateHeldBefore() if state.needs_word_on_held_before else Sweep()


def required_strength(step: Step, policy: Policy) -> int:
    """Per cent of wrong versions that the step's contract must reject; 0 where nobody asks."""
    if step.contract is None or step.contract.judged_once:
        return 0
    required = DEFAULT_REQUIRED if policy.strength is StrengthRule.REQUIRE else 0
    return step.contract.strength or required


def _is_unmeasured(step: Step, state: State) -> bool:
    record, contract = state.record(step.id), step.contract
    measurable = contract is not None and not contract.judged_once and not record.waived
    return measurable and bool(record.change) and record.strength is None


def _action_for(
    step: Step, record: Record, state: State, policy: Policy, *, looked_at: bool = False
) -> Action:
    if record.in_flight is not None:
        return Abandon(step, record.in_flight)
    if step.for_each is not None:
        return ReadList(step, first_look=False)
    if record.handoff and policy.escalate_handoffs:
        return Escalate(step, Cause.HANDOFF)
    if record.unjudgeable > REJUDGINGS:
        return Escalate(step, Cause.INFRASTRUCTURE)
    if record.obstacles >= MOST_OBSTACLES:
        return Escalate(step, Cause.OBSTACLE)
    if record.unjudged is not None:
        return JudgeStep(step, Phase.ATTEMPT, record.unjudged or None)
    if record.attempts == 0 and not record.accepted and not looked_at:
        before = _action_before_first_attempt(step, record, state, policy)
        if before is not None:
            return before
    cause = _used_up(step, record)
    if cause is None:
        return Dispatch(step, record.attempts + 1)
    aborts = step.on_fail.then is Then.ABORT and cause not in _FOR_A_PERSON
    return Fail(step) if aborts else Escalate(step, cause)


def _has_candidates(step: Step, state: State, underway: Underway) -> bool:
    """True when several agents are to work on the step at once; else they do in turn."""
    several = len(step.candidates) > 1 and underway.side_by_side
    return several and step.id not in underway.in_line and may_take_a_lane(step, state)


def _candidates_action(step: Step, record: Record, underway: Underway) -> Action | None:
    """The next thing to do for a step with candidates; None while they work."""
    several = record.candidates
    idle = [attempt for attempt in several if (step.id, attempt) not in underway.candidates]
    lost = next((attempt for attempt in idle if several[attempt].ended is None), None)
    if lost is not None:
        return Abandon(step, lost)
    more = underway.side_by_side and step.id not in underway.in_line
    count = len(step.candidates) if more else len(several)
    picked = chosen(step, several, all_in=len(several) >= count)
    if picked is not None:
        return PickCandidate(step, picked)
    unjudged = next((attempt for attempt in idle if several[attempt].verdict is None), None)
    if unjudged is not None:
        return JudgeCandidate(step, unjudged)
    if len(several) >= count or underway.full:
        return None
    numbers = {candidate.number for candidate in several.values()}
    number = next(n for n in range(1, count + 1) if n not in numbers)
    return Dispatch(step, record.attempts + 1, number)


def _used_up(step: Step, record: Record) -> Cause | None:
    """The reason for making no further attempt; None while the budget of every class allows one."""
    retries = step.on_fail.retries
    if record.answer is not None:
        return Cause.AGENT_ANSWER
    if record.flaky:
        return Cause.FLAKY
    if record.hindered:
        return Cause.OBSTACLE
    if record.influenced:
        return Cause.INFLUENCED
    if record.undecided:
        return Cause.OPINION
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
    if record.before is not None and record.before.failure is FailureClass.OBSTACLE:
        return Escalate(step, Cause.OBSTACLE)
    held = record.before is not None and record.before.kept
    if known and held and record.held_before is not False:
        return Carry(step)
    required = contract.red_first is RedFirst.REQUIRED or policy.require_red_first
    required = required and contract.red_first is not RedFirst.OFF
    if required and record.never_red and not record.held_before_accepted:
        return Escalate(step, Cause.HELD_BEFORE)
    return None
