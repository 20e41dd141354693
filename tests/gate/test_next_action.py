"""What a run does next follows from the ledger alone, and never goes around a person."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from signoff.domain.ledger import Cause, Choice, Outcome
from signoff.domain.plan import RedFirst, Then
from signoff.domain.verdict import Phase, Result
from signoff.gate.actions import (
    Abandon,
    Action,
    Carry,
    Dispatch,
    Escalate,
    Fail,
    Finish,
    JudgeStep,
    ReadList,
    Sweep,
    Wait,
    next_action,
)
from signoff.settings.policy import Policy
from tests.gate.scribe import EARLIER_RUN, Scribe, contract, plan_of, post, step

STRICT = Policy(require_red_first=True)


def next_of(ledger: Scribe, policy: Policy | None = None) -> Action:
    return next_action(ledger.state, policy or Policy())


def test_a_step_is_judged_before_its_first_attempt_and_then_dispatched() -> None:
    one = step("1")
    ledger = Scribe(one)
    assert next_of(ledger) == JudgeStep(one, Phase.BEFORE, None)
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE)
    assert next_of(ledger) == Dispatch(one, 1)


def test_an_attempt_that_ended_is_judged_whatever_the_agent_said() -> None:
    one = step("1")
    ledger = Scribe(one)
    ledger.started("1")
    ledger.finished("1")
    assert next_of(ledger) == JudgeStep(one, Phase.ATTEMPT, 1)


def test_an_attempt_whose_driver_died_is_cleared_up_and_repeated() -> None:
    one = step("1")
    ledger = Scribe(one)
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE)
    ledger.started("1")
    assert next_of(ledger) == Abandon(one, 1)
    ledger.lost("1")
    assert next_of(ledger) == Dispatch(one, 2)


def test_a_broken_contract_is_retried_as_often_as_the_policy_says_then_a_person_is_asked() -> None:
    one = step("1", retries=1)
    ledger = Scribe(one)
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE)
    for attempt in (1, 2):
        assert next_of(ledger) == Dispatch(one, attempt)
        ledger.started("1", attempt)
        ledger.finished("1", attempt)
        ledger.verdict("1", Result.BROKEN)
    assert next_of(ledger) == Escalate(one, Cause.CONTRACT)


def test_an_unknown_verdict_uses_up_a_retry_like_a_broken_one() -> None:
    one = step("1", retries=0)
    ledger = Scribe(one)
    ledger.started("1")
    ledger.finished("1")
    ledger.verdict("1", Result.UNKNOWN)
    assert next_of(ledger) == Escalate(one, Cause.CONTRACT)


def test_a_policy_of_abort_fails_the_step_and_then_the_run() -> None:
    one = step("1", retries=0, then=Then.ABORT)
    ledger = Scribe(one)
    ledger.started("1")
    ledger.finished("1")
    ledger.verdict("1", Result.BROKEN)
    assert next_of(ledger) == Fail(one)
    ledger.failed("1")
    assert next_of(ledger) == Finish(Outcome.FAILED)


def test_an_open_question_about_a_step_makes_the_run_wait() -> None:
    ledger = Scribe(step("1"), step("2", "1"))
    ledger.ask("q", "1")
    assert next_of(ledger) == Wait(("q",))


def test_a_step_that_does_not_need_the_blocked_one_goes_on() -> None:
    two = step("2")
    ledger = Scribe(step("1"), two)
    ledger.ask("q", "1")
    assert next_of(ledger) == JudgeStep(two, Phase.BEFORE, None)


def test_a_question_about_the_whole_plan_stops_everything() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.ask("q", "1")
    ledger.ask("p", None, Cause.PLAN_EDITED)
    assert next_of(ledger) == Wait(("p",))
    ledger.answer("p", Choice.RETRY)
    assert isinstance(next_of(ledger), JudgeStep)


def test_an_open_question_about_a_postcondition_makes_the_run_wait() -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(),)))
    ledger.settle("1")
    ledger.ask("q", "postcondition:1", Cause.POSTCONDITION)
    assert next_of(ledger) == Wait(("q",))
    ledger.answer("q", Choice.RETRY)
    assert next_of(ledger) == Sweep()


def test_a_step_waits_until_everything_it_needs_is_settled() -> None:
    one, two, three = step("1"), step("2"), step("3", "1", "2")
    ledger = Scribe(three, one, two)
    assert next_of(ledger) == JudgeStep(one, Phase.BEFORE, None)
    ledger.settle("1")
    assert next_of(ledger) == JudgeStep(two, Phase.BEFORE, None)
    ledger.waive("2")
    assert next_of(ledger) == JudgeStep(three, Phase.BEFORE, None)


def test_when_every_step_is_settled_the_sweep_follows() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.settle("1")
    ledger.waive("2")
    assert next_of(ledger) == Sweep()


def test_a_regression_found_by_the_sweep_goes_back_to_its_step() -> None:
    one = step("1")
    ledger = Scribe(one, step("2"))
    ledger.started("1")
    ledger.finished("1")
    ledger.settle("1")
    ledger.settle("2")
    assert next_of(ledger) == Sweep()
    ledger.verdict("1", Result.BROKEN, phase=Phase.SWEEP)
    ledger.reopened("1")
    assert next_of(ledger) == Dispatch(one, 2)


def test_a_regression_is_not_judged_before_its_repair() -> None:
    one = step("1")
    ledger = Scribe(one)
    ledger.done("1", run=EARLIER_RUN)
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.done("1", carried=True)
    ledger.verdict("1", Result.BROKEN, phase=Phase.SWEEP)
    assert next_of(ledger) == Dispatch(one, 1)


def test_red_first_off_dispatches_without_judging_before() -> None:
    one = step("1", judged=contract(red_first=RedFirst.OFF))
    assert next_of(Scribe(one)) == Dispatch(one, 1)


def test_a_contract_that_held_before_is_recorded_and_the_step_goes_on() -> None:
    one = step("1")
    ledger = Scribe(one)
    ledger.verdict("1", phase=Phase.BEFORE)
    assert next_of(ledger) == Dispatch(one, 1)


def test_a_contract_that_must_be_red_first_asks_when_it_held() -> None:
    one = step("1", judged=contract(red_first=RedFirst.REQUIRED))
    ledger = Scribe(one)
    ledger.verdict("1", phase=Phase.BEFORE)
    assert next_of(ledger) == Escalate(one, Cause.HELD_BEFORE)
    ledger.ask("q", "1", Cause.HELD_BEFORE)
    ledger.answer("q", Choice.RETRY)
    assert next_of(ledger) == Dispatch(one, 1)


def test_a_policy_can_require_red_first_of_every_step() -> None:
    one = step("1")
    ledger = Scribe(one)
    ledger.verdict("1", phase=Phase.BEFORE)
    assert next_of(ledger, STRICT) == Escalate(one, Cause.HELD_BEFORE)


def test_red_first_off_in_the_approved_plan_stands_against_the_policy() -> None:
    one = step("1", judged=contract(red_first=RedFirst.OFF))
    ledger = Scribe(one)
    ledger.verdict("1", phase=Phase.BEFORE)
    assert next_of(ledger, STRICT) == Dispatch(one, 1)


@pytest.mark.parametrize("red_first", list(RedFirst))
def test_a_step_of_an_earlier_run_is_judged_again_and_carried_when_it_holds(
    red_first: RedFirst,
) -> None:
    one = step("1", judged=contract(red_first=red_first))
    ledger = Scribe(one)
    ledger.done("1", run=EARLIER_RUN)
    assert next_of(ledger) == JudgeStep(one, Phase.BEFORE, None)
    ledger.verdict("1", phase=Phase.BEFORE)
    assert next_of(ledger) == Carry(one)
    ledger.done("1", carried=True)
    assert next_of(ledger) == Sweep()


def test_a_step_of_an_earlier_run_that_no_longer_holds_is_dispatched() -> None:
    one = step("1")
    ledger = Scribe(one)
    ledger.done("1", run=EARLIER_RUN)
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE)
    assert next_of(ledger) == Dispatch(one, 1)


def test_every_list_gets_a_first_look_before_any_agent_works() -> None:
    one, two = step("1"), step("2", "1", for_each="ls")
    ledger = Scribe(one, two)
    assert next_of(ledger) == ReadList(two, first_look=True)
    ledger.listed("2", "a")
    assert next_of(ledger) == JudgeStep(one, Phase.BEFORE, None)


def test_a_list_is_read_again_when_its_turn_has_come_and_then_each_item_is_a_step() -> None:
    one = step("1", for_each="ls")
    ledger = Scribe(one)
    ledger.listed("1", "a")
    assert next_of(ledger) == ReadList(one, first_look=False)
    ledger.expanded("1", "a", "b")
    first = ledger.state.schedule.step("1[a]")
    assert next_of(ledger) == JudgeStep(first, Phase.BEFORE, None)


def test_what_needs_a_list_waits_for_every_item() -> None:
    two = step("2", "1")
    ledger = Scribe(step("1", for_each="ls"), two)
    ledger.listed("1", "a", "b")
    ledger.expanded("1", "a", "b")
    ledger.settle("1[a]")
    action = next_of(ledger)
    assert isinstance(action, JudgeStep) and action.step.id == "1[b]"
    ledger.settle("1[b]")
    assert next_of(ledger) == JudgeStep(two, Phase.BEFORE, None)


def test_a_step_without_contract_is_dispatched_without_judging_before() -> None:
    bare = replace(step("1"), contract=None)
    assert next_of(Scribe(bare), STRICT) == Dispatch(bare, 1)


@pytest.mark.parametrize(
    ("choice", "outcome"), [(Choice.REVISE, Outcome.REVISED), (Choice.ABORT, Outcome.FAILED)]
)
def test_a_person_ends_the_run(choice: Choice, outcome: Outcome) -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1")
    ledger.answer("q", choice)
    assert next_of(ledger) == Finish(outcome)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_run_that_ended_stays_ended(outcome: Outcome) -> None:
    ledger = Scribe(step("1"))
    ledger.ended(outcome)
    assert next_of(ledger) == Finish(outcome)
