"""After a person says retry, the contract is judged before any agent could overwrite a repair."""

from __future__ import annotations

from signoff.domain.ledger import Cause, Choice
from signoff.domain.plan import Effects, RedFirst
from signoff.domain.verdict import Phase, Result
from signoff.gate.actions import Dispatch, JudgeStep, next_action
from signoff.settings.policy import Policy
from tests.gate.scribe import Scribe, contract, step


def used_up() -> Scribe:
    """A step without retries whose one attempt was refused and whose question was answered."""
    ledger = Scribe(step("1", retries=0))
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE)
    ledger.started("1")
    ledger.finished("1")
    ledger.verdict("1", Result.BROKEN)
    ledger.ask("q", "1", cause=Cause.CONTRACT)
    ledger.answer("q", Choice.RETRY)
    return ledger


def test_a_persons_repair_is_judged_before_an_agent_is_dispatched_again() -> None:
    action = next_action(used_up().state, Policy())
    assert action == JudgeStep(used_up().plan.steps[0], Phase.ATTEMPT, 1)


def test_looking_again_in_vain_costs_no_attempt() -> None:
    ledger = used_up()
    ledger.verdict("1", Result.BROKEN)
    assert ledger.record("1").failures == 0
    assert next_action(ledger.state, Policy()) == Dispatch(ledger.plan.steps[0], 2)


def test_the_attempt_after_looking_again_counts_as_usual() -> None:
    ledger = used_up()
    ledger.verdict("1", Result.BROKEN)
    ledger.started("1", 2)
    ledger.finished("1", 2)
    ledger.verdict("1", Result.BROKEN)
    assert ledger.record("1").failures == 1


def test_a_contract_that_reaches_outside_is_not_judged_before_the_work() -> None:
    ledger = Scribe(step("1", judged=contract(effects=Effects.EXTERNAL)))
    assert next_action(ledger.state, Policy()) == Dispatch(ledger.plan.steps[0], 1)


def test_a_plan_can_insist_on_red_first_for_a_contract_that_reaches_outside() -> None:
    judged = contract(effects=Effects.EXTERNAL, red_first=RedFirst.REQUIRED)
    ledger = Scribe(step("1", judged=judged))
    assert next_action(ledger.state, Policy()) == JudgeStep(
        ledger.plan.steps[0], Phase.BEFORE, None
    )
