"""The budget is checked before each dispatch, against what the step is expected to cost."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from signoff.domain.ledger import Cause, Choice
from signoff.domain.plan import Budget, Cost, Step
from signoff.gate.state import Grant, attempt_limit_s, budget_left, fits_beside, shortfall
from tests.gate.scribe import Scribe, plan_of, step

ONE, TWO, THREE = step("1"), step("2"), step("3")


def ledger_with(budget: Budget, *steps: Step) -> Scribe:
    return Scribe(plan=plan_of(*(steps or (ONE, TWO, THREE)), budget=budget))


def test_without_limits_everything_fits() -> None:
    ledger = ledger_with(Budget())
    ledger.finished("1", tokens=10**9, usd=1e6, duration_s=1e6)
    assert shortfall(ledger.state, TWO) is None
    assert budget_left(ledger.state).wall_s is None


def test_the_average_so_far_is_what_the_next_step_is_expected_to_cost() -> None:
    ledger = ledger_with(Budget(tokens=300))
    ledger.finished("1", tokens=100)
    ledger.finished("1", 2, tokens=100)
    assert shortfall(ledger.state, TWO) is None
    ledger.finished("2", tokens=40)
    assert shortfall(ledger.state, THREE) is not None


def test_a_steps_own_estimate_goes_before_the_average() -> None:
    cheap = replace(TWO, estimate=Cost(tokens=10))
    dear = replace(TWO, estimate=Cost(tokens=101))
    ledger = ledger_with(Budget(tokens=200))
    ledger.finished("1", tokens=100)
    assert shortfall(ledger.state, replace(cheap, estimate=Cost(tokens=100))) is None
    assert shortfall(ledger.state, cheap) is None
    assert shortfall(ledger.state, dear) is not None


def test_the_first_step_may_always_try_when_there_is_any_budget() -> None:
    assert shortfall(ledger_with(Budget(tokens=1, usd=0.01, wall_s=1)).state, ONE) is None


@pytest.mark.parametrize("budget", [Budget(tokens=0), Budget(usd=0.0), Budget(wall_s=0.0)])
def test_a_budget_of_nothing_dispatches_nothing(budget: Budget) -> None:
    assert shortfall(ledger_with(budget).state, ONE) is not None


def test_a_step_that_says_it_costs_nothing_cannot_go_on_for_ever() -> None:
    free = replace(TWO, estimate=Cost())
    ledger = ledger_with(Budget(tokens=100))
    ledger.finished("1", tokens=100)
    assert shortfall(ledger.state, free) is not None


def test_the_shortfall_says_what_was_used_and_what_is_still_needed() -> None:
    ledger = ledger_with(Budget(tokens=200_000))
    ledger.finished("1", tokens=150_000)
    ledger.settle("1")
    ledger.state.settle_cursor()
    assert shortfall(ledger.state, TWO) == (
        "budget exceeded: 150,000 tokens of 200,000 tokens used, "
        "2 steps left, about 300,000 tokens more needed"
    )


def test_money_is_limited_too() -> None:
    ledger = ledger_with(Budget(usd=1.5))
    ledger.finished("1", usd=1.0)
    assert shortfall(ledger.state, TWO) == (
        "budget exceeded: $1.00 of $1.50 used, 3 steps left, about $3.00 more needed"
    )


@pytest.mark.parametrize(
    ("wall_s", "spent_s", "spent", "limit"),
    [(1200.0, 1200.0, "20.0 minutes", "20.0 minutes"), (50.0, 30.0, "30 seconds", "50 seconds")],
)
def test_time_is_limited_too(wall_s: float, spent_s: float, spent: str, limit: str) -> None:
    ledger = ledger_with(Budget(wall_s=wall_s))
    ledger.finished("1", duration_s=spent_s)
    assert f"{spent} of {limit} used" in str(shortfall(ledger.state, TWO))


def test_the_time_left_never_goes_below_nothing() -> None:
    ledger = ledger_with(Budget(wall_s=60))
    assert budget_left(ledger.state).wall_s == 60
    ledger.verdict("1", duration_s=45)
    assert budget_left(ledger.state).wall_s == 15
    ledger.finished("1", duration_s=100)
    assert budget_left(ledger.state).wall_s == 0


def test_a_person_who_says_go_on_grants_the_budget_once_more() -> None:
    ledger = ledger_with(Budget(tokens=100, wall_s=60))
    ledger.finished("1", tokens=90, duration_s=10)
    assert shortfall(ledger.state, TWO) is not None
    ledger.ask("q", None, Cause.BUDGET)
    ledger.answer("q", Choice.RETRY)
    assert shortfall(ledger.state, TWO) is None
    assert budget_left(ledger.state).wall_s == 110


def test_an_attempt_that_was_lost_with_its_usage_is_counted_once() -> None:
    ledger = ledger_with(Budget(tokens=100))
    ledger.started("1")
    ledger.lost("1")
    assert ledger.state.spent == Cost()
    ledger.finished("1", 2, tokens=60)
    assert ledger.state.spent == Cost(60)


def test_while_nothing_is_known_one_attempt_alone_finds_out_what_they_take() -> None:
    for budget in (Budget(tokens=100), Budget(usd=1.0), Budget(wall_s=60)):
        ledger = ledger_with(budget)
        assert fits_beside(ledger.state, ONE, [])
        assert not fits_beside(ledger.state, TWO, [ONE])
        ledger.lost("1")
        assert not fits_beside(ledger.state, TWO, [ONE])
    assert fits_beside(ledger_with(Budget()).state, TWO, [ONE])


def test_estimates_let_several_begin_at_once_as_far_as_they_fit() -> None:
    one, two, three = (replace(s, estimate=Cost(tokens=40)) for s in (ONE, TWO, THREE))
    state = ledger_with(Budget(tokens=100), one, two, three).state
    assert fits_beside(state, two, [one])
    assert not fits_beside(state, three, [one, two])
    assert not fits_beside(state, THREE, [one])


@pytest.mark.parametrize(
    ("budget", "used"),
    [(Budget(tokens=200), {"tokens": 60}), (Budget(usd=2.0), {"usd": 0.6})],
)
def test_what_is_at_work_is_expected_to_cost_what_others_did(
    budget: Budget, used: dict[str, float]
) -> None:
    ledger = ledger_with(budget)
    ledger.finished("1", **used)  # type: ignore[arg-type]
    assert fits_beside(ledger.state, TWO, [THREE])
    assert not fits_beside(ledger.state, TWO, [THREE, ONE])
    assert shortfall(ledger.state, TWO) is None


def test_side_by_side_each_attempt_has_more_time_than_the_average() -> None:
    ledger = ledger_with(Budget(wall_s=20))
    ledger.finished("1", duration_s=5)
    assert fits_beside(ledger.state, TWO, [ONE])
    assert not fits_beside(ledger.state, THREE, [ONE, TWO])
    assert budget_left(ledger.state, (), 2).wall_s == 7.5


def test_grants_of_all_at_work_never_exceed_what_is_left() -> None:
    ledger = ledger_with(Budget(tokens=100, usd=1.0, wall_s=60))
    ledger.finished("1", tokens=10, usd=0.1, duration_s=6)
    first = budget_left(ledger.state, (), 3)
    assert first == Grant(30, 0.3, 18.0)
    rest = budget_left(ledger.state, (first, first), 1)
    assert rest.tokens == 30 and rest.wall_s == 18.0
    assert budget_left(ledger.state, (Grant(90, 0.9, 54.0),), 1) == Grant(0, 0.0, 0.0)
    assert attempt_limit_s(300.0, None, rest.wall_s) == 18.0
