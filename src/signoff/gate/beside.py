"""Work beside the workspace: which steps can be done there, and which candidate is picked."""

from __future__ import annotations

from collections.abc import Mapping

from signoff.domain.facts import AttemptFinished, UsageTold
from signoff.domain.globs import intersect
from signoff.domain.plan import (
    Contract,
    Effects,
    Holds,
    JudgeIn,
    PickBy,
    Postcondition,
    RedFirst,
    Step,
)
from signoff.domain.verdict import FailureClass
from signoff.gate.record import MOST_TURNED_BACK, CandidateAttempt
from signoff.gate.state import State
from signoff.settings.policy import Policy
from signoff.settings.roles import HUMAN_ROLE


def chosen(step: Step, several: Mapping[int, CandidateAttempt], *, all_in: bool) -> int | None:
    """The candidate to pick: of those kept, by the plan's rule; when none is, a broken one."""
    judged = {attempt: c.verdict for attempt, c in several.items() if c.verdict is not None}
    kept = [attempt for attempt, verdict in judged.items() if verdict.kept]
    if kept and step.pick is PickBy.FIRST:
        return min(kept, key=lambda attempt: judged[attempt].seq)
    if not all_in or len(judged) < len(several):
        return None
    if step.pick is PickBy.SMALLEST and kept:
        return min(kept, key=lambda attempt: (_ended(several[attempt]).changed_lines, attempt))
    if kept:
        return min(kept, key=lambda attempt: (*_price(several, attempt), attempt))
    # Work that is merely wrong teaches the next attempt more than work that was tampered with.
    wrong = [a for a, verdict in judged.items() if verdict.failure is FailureClass.BROKEN]
    return max(wrong or judged)


def _price(several: Mapping[int, CandidateAttempt], attempt: int) -> tuple[float, float]:
    """Cost of a candidate, in dollars where all of them told theirs, else in tokens."""
    told = {a: _ended(c).usage or UsageTold() for a, c in several.items()}
    in_usd = all(used.usd is not None for used in told.values())
    usd, tokens = told[attempt].usd, told[attempt].tokens
    return (usd or 0.0) if in_usd else 0.0, float("inf") if tokens is None else float(tokens)


def _ended(candidate: CandidateAttempt) -> AttemptFinished:
    assert candidate.ended is not None, "only what ended is judged"
    return candidate.ended


def works_while_looked_at(step: Step, state: State, policy: Policy) -> bool:
    """True when the agent may start before the step's check was judged on the content so far.

    False where that judging decides if the step is worked on at all.
    """
    contract = step.contract
    required = policy.require_red_first or (contract and contract.red_first is RedFirst.REQUIRED)
    return not required and step.digest not in state.history and judged_beside(step, state)


def judged_beside(subject: Step | Postcondition, state: State) -> bool:
    """True when the check can run beside the workspace: it needs nothing of the place itself.

    What is judged once is judged where it stays, and what reaches outside exists only once. Who has
    a network of its own meets nobody on a port; who shares the machine's might.
    """
    contract = state.judged_as(subject)
    return contract is not None and not needs_the_line(contract)


def needs_the_line(contract: Contract) -> str:
    """The line of the contract because of which it is not judged beside others; empty if none."""
    if contract.judge_in is JudgeIn.WORKSPACE:
        return "judge_in: workspace"
    if contract.effects is Effects.EXTERNAL:
        return "effects: external"
    if contract.holds is Holds.AT_STEP:
        return "holds: at_step"
    return "network: yes" if contract.network else ""


def may_take_a_lane(step: Step, state: State) -> bool:
    """True when the step can be worked on beside the workspace."""
    in_vain = state.record(step.id).turned_back >= MOST_TURNED_BACK
    return judged_beside(step, state) and step.target != HUMAN_ROLE and not in_vain


def keep_apart(one: Step, other: Step) -> bool:
    """True when both steps say what they change, and it can be the same files."""
    return any(
        intersect(mine, theirs)
        for mine in (*one.touches, *one.produces)
        for theirs in (*other.touches, *other.produces)
    )
