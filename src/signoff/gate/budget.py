"""The budget: checked before each dispatch against what the step is expected to cost."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.domain.plan import Step
from signoff.gate.state import State


@dataclass(frozen=True)
class Shortfall:
    """What the plan's budget no longer covers."""

    spent: str
    limit: str
    steps_left: int
    need: str

    def __str__(self) -> str:
        steps = f"{self.steps_left} step{'' if self.steps_left == 1 else 's'}"
        return (
            f"budget exceeded: {self.spent} of {self.limit} used, "
            f"{steps} left, about {self.need} more needed"
        )


def shortfall(state: State, step: Step) -> Shortfall | None:
    """Whether dispatching this step would go over a limit; None when it fits."""
    budget, grants = state.schedule.plan.budget, state.budget_grants
    expected = _expected(state, step)
    for limit, spent, each, show in (
        (budget.tokens, float(state.spent.tokens), expected.tokens, _tokens),
        (budget.usd, state.spent.usd, expected.usd, _usd),
        (budget.wall_s, state.spent_s, expected.wall_s, _minutes),
    ):
        if limit is None:
            continue
        allowed = limit * grants
        if spent + each > allowed or spent >= allowed:
            steps = state.schedule.steps[state.cursor :]
            left = sum(not state.record(s.id).settled for s in steps)
            need = max(each, 0.0) * left
            return Shortfall(show(spent), show(allowed), left, show(need))
    return None


def wall_left_s(state: State) -> float | None:
    """How long the run may still work; None without a limit."""
    wall_s = state.schedule.plan.budget.wall_s
    return None if wall_s is None else max(0.0, wall_s * state.budget_grants - state.spent_s)


@dataclass(frozen=True)
class _Expected:
    tokens: float
    usd: float
    wall_s: float


def _expected(state: State, step: Step) -> _Expected:
    """The step's own estimate, else the average of the attempts so far."""
    attempts = max(state.attempts_ended, 1)
    if step.estimate is not None:
        tokens, usd = float(step.estimate.tokens), step.estimate.usd
    else:
        tokens, usd = state.spent.tokens / attempts, state.spent.usd / attempts
    return _Expected(tokens, usd, state.spent_s / attempts)


def _tokens(value: float) -> str:
    return f"{value:,.0f} tokens"


def _usd(value: float) -> str:
    return f"${value:,.2f}"


def _minutes(value: float) -> str:
    return f"{value / 60:.1f} minutes" if value >= 60 else f"{value:.0f} seconds"
