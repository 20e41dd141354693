"""Each class of refusal has a budget of its own, and an honest exit ends the attempts at once."""

from __future__ import annotations

import pytest

from signoff.domain.ledger import Cause, Choice, Kind
from signoff.domain.plan import Then
from signoff.domain.verdict import Phase, Reason, Result
from signoff.gate.actions import Count, Dispatch, Escalate, Fail, JudgeStep, next_action
from signoff.settings.policy import Policy
from tests.gate.scribe import EARLIER_RUN, Scribe, plan_of, post, step


def begun(retries: int = 3, then: Then = Then.ESCALATE) -> Scribe:
    """A step whose contract was broken before the first attempt."""
    ledger = Scribe(step("1", retries=retries, then=then))
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE, snapshot="start")
    return ledger


def attempt(
    ledger: Scribe,
    number: int,
    reason: Reason = Reason.EXPECTATION,
    *,
    snapshot: str | None = None,
    **finished: dict[str, str],
) -> None:
    """One attempt that was refused for this reason, each on content of its own."""
    content = snapshot or f"content-{number}"
    ledger.started("1", number)
    ledger.finished("1", number, snapshot=content, **finished)  # type: ignore[arg-type]
    result = Result.BROKEN if reason in (Reason.EXPECTATION, Reason.TAMPERED) else Result.UNKNOWN
    ledger.verdict("1", result, reason=reason, snapshot=content)


def test_the_same_failure_on_the_same_content_is_not_tried_a_third_time() -> None:
    ledger = begun()
    attempt(ledger, 1, snapshot="same")
    assert next_action(ledger.state, Policy()) == Dispatch(ledger.plan.steps[0], 2)
    attempt(ledger, 2, snapshot="same")
    assert next_action(ledger.state, Policy()) == Escalate(ledger.plan.steps[0], Cause.REPEATED)


def test_another_failure_on_the_same_content_is_no_repeat() -> None:
    ledger = begun()
    attempt(ledger, 1, Reason.TIMED_OUT, snapshot="same")
    attempt(ledger, 2, snapshot="same")
    assert next_action(ledger.state, Policy()) == Dispatch(ledger.plan.steps[0], 3)


def test_a_repeat_fails_the_step_where_the_plan_says_abort() -> None:
    ledger = begun(then=Then.ABORT)
    attempt(ledger, 1, snapshot="same")
    attempt(ledger, 2, snapshot="same")
    assert next_action(ledger.state, Policy()) == Fail(ledger.plan.steps[0])


def test_who_tampers_twice_is_not_asked_a_third_time() -> None:
    ledger = begun()
    attempt(ledger, 1, Reason.TAMPERED)
    assert next_action(ledger.state, Policy()) == Dispatch(ledger.plan.steps[0], 2)
    attempt(ledger, 2, Reason.TAMPERED)
    assert next_action(ledger.state, Policy()) == Escalate(ledger.plan.steps[0], Cause.TAMPERED)


def test_tampering_does_not_use_up_the_retries_of_honest_failures() -> None:
    ledger = begun(retries=1)
    attempt(ledger, 1, Reason.TAMPERED)
    attempt(ledger, 2)
    assert next_action(ledger.state, Policy()) == Dispatch(ledger.plan.steps[0], 3)
    attempt(ledger, 3)
    assert next_action(ledger.state, Policy()) == Escalate(ledger.plan.steps[0], Cause.CONTRACT)


def test_what_could_not_be_judged_is_judged_again_and_costs_no_attempt() -> None:
    ledger = begun()
    attempt(ledger, 1, Reason.INFRASTRUCTURE)
    one = ledger.plan.steps[0]
    for _ in range(2):
        assert next_action(ledger.state, Policy()) == JudgeStep(one, Phase.ATTEMPT, 1)
        ledger.verdict("1", Result.UNKNOWN, reason=Reason.INFRASTRUCTURE, snapshot="content-1")
    assert next_action(ledger.state, Policy()) == Escalate(one, Cause.INFRASTRUCTURE)
    assert (ledger.record("1").failures, ledger.record("1").attempts) == (0, 1)


def test_an_answered_infrastructure_question_judges_again() -> None:
    ledger = begun()
    attempt(ledger, 1, Reason.SANDBOX_MISSING)
    ledger.ask("q", "1", Cause.INFRASTRUCTURE)
    ledger.answer("q", Choice.RETRY)
    assert next_action(ledger.state, Policy()) == JudgeStep(ledger.plan.steps[0], Phase.ATTEMPT, 1)


def test_nobody_is_paid_for_a_step_that_cannot_be_judged() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", Result.UNKNOWN, phase=Phase.BEFORE, reason=Reason.SANDBOX_MISSING)
    one = ledger.plan.steps[0]
    assert next_action(ledger.state, Policy()) == Escalate(one, Cause.INFRASTRUCTURE)
    ledger.ask("q", "1", Cause.INFRASTRUCTURE)
    ledger.answer("q", Choice.RETRY)
    assert next_action(ledger.state, Policy()) == JudgeStep(one, Phase.BEFORE, None)


@pytest.mark.parametrize("then", Then)
def test_a_contract_that_contradicts_itself_goes_to_a_person_at_once(then: Then) -> None:
    ledger = begun(then=then)
    attempt(ledger, 1, Reason.FLAKY)
    assert next_action(ledger.state, Policy()) == Escalate(ledger.plan.steps[0], Cause.FLAKY)


@pytest.mark.parametrize("then", Then)
def test_an_agent_that_says_it_is_blocked_is_heard_by_a_person(then: Then) -> None:
    ledger = begun(then=then)
    attempt(ledger, 1, answer={"kind": "blocked", "reason": "no licence key"})
    assert next_action(ledger.state, Policy()) == Escalate(ledger.plan.steps[0], Cause.AGENT_ANSWER)
    assert ledger.record("1").answer_reason == "no licence key"


def test_saying_blocked_never_counts_as_done_nor_against_work_that_is() -> None:
    ledger = begun()
    ledger.started("1")
    ledger.finished("1", answer={"kind": "blocked", "reason": "?"})
    assert next_action(ledger.state, Policy()) == JudgeStep(ledger.plan.steps[0], Phase.ATTEMPT, 1)
    assert not ledger.record("1").done
    ledger.settle("1")
    assert ledger.record("1").done


def test_a_persons_retry_forgives_every_budget() -> None:
    ledger = begun()
    attempt(ledger, 1, snapshot="same", answer={"kind": "impossible", "reason": "?"})
    ledger.ask("q", "1", Cause.AGENT_ANSWER)
    ledger.answer("q", Choice.RETRY)
    ledger.verdict("1", Result.BROKEN, snapshot="same")
    assert next_action(ledger.state, Policy()) == Dispatch(ledger.plan.steps[0], 2)


def test_files_that_make_others_act_wait_for_a_person_where_the_policy_says_so() -> None:
    strict, one = Policy(escalate_handoffs=True), step("1")
    ledger = Scribe(one)
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE)
    ledger.started("1")
    ledger.finished("1", handoff={".envrc": "file:1"})
    assert next_action(ledger.state, Policy()) == JudgeStep(one, Phase.ATTEMPT, 1)
    assert next_action(ledger.state, strict) == Escalate(one, Cause.HANDOFF)
    ledger.ask("q", "1", Cause.HANDOFF)
    ledger.answer("q", Choice.RETRY)
    assert next_action(ledger.state, strict) == JudgeStep(one, Phase.ATTEMPT, 1)


def test_tests_are_counted_before_anybody_works() -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(1),)))
    ledger.begun("1", "postcondition:1")
    assert next_action(ledger.state, Policy()) == Count("1")
    counts = {"source": "pytest", "passed": 4, "failed": 1, "skipped": 0, "deselected": 0}
    ledger.verdict("1", Result.BROKEN, phase=Phase.BASELINE, counts=counts)
    assert next_action(ledger.state, Policy()) == Count("postcondition:1")
    ledger.verdict("postcondition:1", phase=Phase.BASELINE)
    assert next_action(ledger.state, Policy()) == JudgeStep(
        ledger.plan.steps[0], Phase.BEFORE, None
    )
    baseline = ledger.record("1").baseline
    assert baseline is not None and baseline.executed == 5
    assert not ledger.record("1").held_before
    assert ledger.record("postcondition:1").latest is None


def test_a_second_count_cannot_lower_the_first() -> None:
    ledger = Scribe(step("1"))
    ledger.begun("1")
    for passed in (5, 1):
        counts = {"source": "pytest", "passed": passed, "failed": 0, "skipped": 0, "deselected": 0}
        ledger.verdict("1", phase=Phase.BASELINE, counts=counts)
    baseline = ledger.record("1").baseline
    assert baseline is not None and baseline.passed == 5


def test_items_of_a_list_are_counted_once_they_are_known() -> None:
    ledger = Scribe(step("1", for_each="ls"))
    ledger.begun("1")
    ledger.listed("1", "a")
    ledger.expanded("1", "a", "b")
    assert next_action(ledger.state, Policy()) == Count("1[a]")


PYTEST = {"source": "pytest", "failed": 0, "skipped": 0, "deselected": 0}


def test_a_run_that_failed_cannot_lower_the_count_of_the_next_one() -> None:
    ledger = Scribe(step("1"))
    counts = {**PYTEST, "passed": 5}
    ledger.verdict("1", phase=Phase.BASELINE, counts=counts, run=EARLIER_RUN)
    ledger.begun("1")
    baseline = ledger.record("1").baseline
    assert baseline is not None and baseline.passed == 5
    assert next_action(ledger.state, Policy()) == JudgeStep(
        ledger.plan.steps[0], Phase.BEFORE, None
    )


def test_a_new_approval_starts_the_count_again() -> None:
    ledger = Scribe(step("1"))
    counts = {**PYTEST, "passed": 5}
    ledger.verdict("1", phase=Phase.BASELINE, counts=counts, run=EARLIER_RUN)
    ledger.write(Kind.PLAN_APPROVED, {}, run="none")
    ledger.begun("1")
    assert next_action(ledger.state, Policy()) == Count("1")


def test_a_runner_that_only_its_output_shows_is_held_to_the_judging_before_the_work() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", phase=Phase.BEFORE, counts={**PYTEST, "passed": 5}, run=EARLIER_RUN)
    ledger.begun()
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE, counts={**PYTEST, "passed": 1})
    baseline = ledger.record("1").baseline
    assert baseline is not None and baseline.passed == 5
    fresh = Scribe(step("1"))
    fresh.begun()
    fresh.verdict("1", Result.BROKEN, phase=Phase.BEFORE, counts={**PYTEST, "passed": 1})
    baseline = fresh.record("1").baseline
    assert baseline is not None and baseline.passed == 1
