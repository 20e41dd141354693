"""After a person says retry, the contract is judged before any agent could overwrite a repair."""

from __future__ import annotations

from signoff.domain.escalation import Cause, Choice
from signoff.domain.verdict import Phase, Result
from signoff.gate import Dispatch, Judge, next_action
from signoff.settings import Policy
from tests.gate.scribe import Scribe, step


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
    assert action == Judge(used_up().plan.steps[0], Phase.ATTEMPT, 1)


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
