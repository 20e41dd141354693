"""The gate says open only with proof, and when shut it names exactly what is missing."""

from __future__ import annotations

import pytest

from signoff.domain.ledger import Cause, Choice, Outcome
from signoff.domain.plan import Contract, Effects, Holds, RedFirst
from signoff.domain.verdict import Phase, Result
from signoff.gate.gate import Gate, Missing
from signoff.gate.subjects import Standing, StepState, is_stale
from tests.gate.scribe import (
    BEFORE_NOW,
    EARLIER_RUN,
    NOW,
    Scribe,
    contract,
    plan_of,
    post,
    step,
)

POST = "postcondition:1"


def test_the_gate_opens_when_every_step_and_postcondition_is_kept_on_this_content() -> None:
    ledger = Scribe(plan=plan_of(step("1"), step("2", "1"), posts=(post(),)))
    ledger.settle("1")
    ledger.settle("2")
    ledger.verdict(POST, phase=Phase.SWEEP)
    report = ledger.gate()
    assert report.gate is Gate.OPEN
    assert report.missing == ()
    assert [s.state for s in (*report.steps, *report.postconditions)] == [StepState.DONE] * 3


def test_the_whole_standing_of_a_step_is_reported() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE, snapshot=BEFORE_NOW)
    ledger.started("1")
    ledger.finished("1")
    ledger.settle("1")
    assert ledger.gate().steps == (
        Standing(
            id="1",
            title="title 1",
            state=StepState.DONE,
            attempts=1,
            verdict=Result.KEPT,
            stale=False,
            held_before=False,
            carried=False,
        ),
    )


def test_a_fresh_plan_misses_every_step_and_postcondition() -> None:
    ledger = Scribe(plan=plan_of(step("1"), step("2"), posts=(post(),)))
    report = ledger.gate()
    assert report.gate is Gate.SHUT
    assert report.missing == (
        Missing("1", "its contract was never kept", "signoff run"),
        Missing("2", "its contract was never kept", "signoff run"),
        Missing(POST, "it was not judged yet", "signoff run"),
    )


def test_asking_the_gate_changes_no_answer() -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(),)))
    assert ledger.gate() == ledger.gate()


def test_a_plan_without_steps_proves_nothing() -> None:
    report = Scribe(plan=plan_of()).gate()
    assert report.gate is Gate.SHUT
    assert report.missing == (
        Missing("plan", "it has no steps, so nothing can be proved", "signoff verify"),
    )


def test_a_plan_of_which_everything_was_waived_proves_nothing() -> None:
    ledger = Scribe(plan=plan_of(step("1"), step("2"), posts=(post(),)))
    ledger.waive("1", "q1")
    ledger.waive("2", "q2")
    ledger.verdict(POST, phase=Phase.SWEEP)
    report = ledger.gate()
    assert report.gate is Gate.SHUT
    assert report.missing == (
        Missing("plan", "every step was waived, so nothing was proved", "signoff run"),
    )


def test_a_waived_step_opens_the_gate_only_with_waivers_and_is_named() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.settle("1")
    ledger.waive("2")
    report = ledger.gate()
    assert report.gate is Gate.OPEN_WITH_WAIVERS
    assert report.waived == ("2",)
    assert report.steps[1].state is StepState.WAIVED


def test_a_waived_postcondition_is_named_too() -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(judged=False),)))
    ledger.settle("1")
    ledger.waive(POST)
    report = ledger.gate()
    assert report.gate is Gate.OPEN_WITH_WAIVERS
    assert report.waived == (POST,)


def test_a_verdict_about_older_content_is_stale_and_shuts_the_gate() -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(),)))
    ledger.settle("1", BEFORE_NOW)
    ledger.verdict(POST, phase=Phase.SWEEP, snapshot=BEFORE_NOW)
    report = ledger.gate()
    assert report.missing == (
        Missing("1", "its verdict is about older content", "signoff run"),
        Missing(POST, "its verdict is about older content", "signoff run"),
    )
    assert report.steps[0].stale
    assert ledger.gate(BEFORE_NOW).gate is Gate.OPEN


def test_without_knowing_the_content_nothing_counts_as_current() -> None:
    ledger = Scribe(step("1"))
    ledger.settle("1")
    assert ledger.gate(None).gate is Gate.SHUT


@pytest.mark.parametrize(
    "once", [contract(effects=Effects.EXTERNAL), contract(holds=Holds.AT_STEP)]
)
def test_a_contract_that_is_judged_once_is_never_stale_and_shown_as_not_run_again(
    once: Contract,
) -> None:
    ledger = Scribe(step("1", judged=once))
    ledger.settle("1", BEFORE_NOW)
    report = ledger.gate()
    assert report.gate is Gate.OPEN
    assert not report.steps[0].stale


def test_a_contract_that_is_judged_once_must_still_have_been_kept() -> None:
    ledger = Scribe(step("1", judged=contract(effects=Effects.EXTERNAL)))
    assert ledger.gate().gate is Gate.SHUT
    ledger.verdict("1", Result.UNKNOWN)
    ledger.done("1")
    assert ledger.gate().gate is Gate.SHUT


@pytest.mark.parametrize("result", [Result.BROKEN, Result.UNKNOWN])
def test_a_broken_or_unknown_verdict_is_named_with_its_message(result: Result) -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(),)))
    ledger.verdict("1", result)
    ledger.verdict(POST, result, phase=Phase.SWEEP)
    assert ledger.gate().missing == (
        Missing("1", f"its contract is {result}: exit code 1", "signoff run"),
        Missing(POST, f"it is {result}: exit code 1", "signoff inbox"),
    )


def test_a_kept_verdict_that_nobody_accepted_is_not_enough() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1")
    assert ledger.gate().missing == (
        Missing("1", "its contract is kept: exit code 0", "signoff run"),
    )


def test_a_step_that_waits_for_a_person_is_blocked() -> None:
    ledger = Scribe(step("1"))
    ledger.settle("1")
    ledger.ask("q7", "1", Cause.HELD_BEFORE)
    report = ledger.gate()
    assert report.steps[0].state is StepState.BLOCKED
    assert report.missing == (Missing("1", "it waits for a person (q7)", "signoff inbox"),)


def test_a_failed_step_names_its_last_verdict() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.verdict("1", Result.BROKEN)
    ledger.failed("1")
    ledger.failed("2")
    report = ledger.gate()
    assert report.steps[0].state is StepState.FAILED
    assert report.missing == (
        Missing("1", "it failed: exit code 1", "signoff run"),
        Missing("2", "it failed: no verdict", "signoff run"),
    )


def test_a_failed_step_stays_failed_whatever_verdict_comes_later() -> None:
    ledger = Scribe(step("1"))
    ledger.failed("1")
    ledger.settle("1")
    assert ledger.gate().gate is Gate.SHUT


def test_a_step_that_a_later_change_broke_says_so() -> None:
    ledger = Scribe(step("1"))
    ledger.settle("1", BEFORE_NOW)
    ledger.verdict("1", Result.BROKEN, phase=Phase.SWEEP)
    ledger.reopened("1")
    assert ledger.gate().missing == (
        Missing("1", "a later change broke it: exit code 1", "signoff run"),
    )


def test_a_reopened_entry_without_a_verdict_still_shuts_nothing_open() -> None:
    ledger = Scribe(step("1"))
    ledger.reopened("1")
    assert ledger.gate().missing == (Missing("1", "a later change broke it: ", "signoff run"),)


def test_a_step_under_way_is_running_until_it_is_judged() -> None:
    ledger = Scribe(step("1"))
    assert ledger.gate().steps[0].state is StepState.PENDING
    ledger.started("1")
    assert ledger.gate().steps[0].state is StepState.RUNNING
    ledger.finished("1")
    assert ledger.gate().steps[0].state is StepState.RUNNING
    ledger.settle("1")
    assert ledger.gate().steps[0].state is StepState.DONE


def test_a_postcondition_without_contract_is_a_persons_to_decide_whatever_was_judged() -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(judged=False),)))
    ledger.settle("1")
    ledger.verdict(POST, phase=Phase.SWEEP)
    assert ledger.gate().missing == (
        Missing(POST, "it has no contract, so a person must decide", "signoff inbox"),
    )


def test_the_verdict_of_a_step_does_not_speak_for_a_postcondition() -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(),)))
    ledger.settle("1")
    assert [m.subject for m in ledger.gate().missing] == [POST]


def test_a_list_that_was_never_read_shuts_the_gate_even_with_a_forged_acceptance() -> None:
    ledger = Scribe(step("1", for_each="ls"))
    ledger.settle("1")
    assert ledger.gate().missing == (Missing("1", "its list was not read yet", "signoff run"),)


def test_every_item_of_a_list_must_be_kept() -> None:
    ledger = Scribe(step("1", for_each="ls"))
    ledger.listed("1", "a", "b", "c")
    ledger.expanded("1", "a", "b", "c")
    ledger.settle("1[a]")
    ledger.settle("1[c]")
    assert [m.subject for m in ledger.gate().missing] == ["1[b]"]
    ledger.settle("1[b]")
    assert ledger.gate().gate is Gate.OPEN


def test_a_waived_list_opens_the_gate_with_waivers() -> None:
    ledger = Scribe(step("1"), step("2", for_each="ls"))
    ledger.settle("1")
    ledger.waive("2")
    assert ledger.gate().gate is Gate.OPEN_WITH_WAIVERS


def test_a_contract_that_must_be_red_first_shuts_the_gate_when_it_held_before() -> None:
    ledger = Scribe(step("1", judged=contract(red_first=RedFirst.REQUIRED)))
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.settle("1")
    assert ledger.gate().missing == (
        Missing("1", "its contract held before any work was done", "signoff inbox"),
    )


def test_a_person_can_accept_that_a_contract_held_before() -> None:
    ledger = Scribe(step("1", judged=contract(red_first=RedFirst.REQUIRED)))
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.ask("q", "1", Cause.HELD_BEFORE)
    ledger.answer("q", Choice.RETRY)
    ledger.settle("1")
    report = ledger.gate()
    assert report.gate is Gate.OPEN
    assert report.steps[0].held_before is True


@pytest.mark.parametrize("red_first", [RedFirst.RECORD, RedFirst.OFF])
def test_unless_required_a_contract_that_held_before_is_shown_and_not_an_error(
    red_first: RedFirst,
) -> None:
    ledger = Scribe(step("1", judged=contract(red_first=red_first)))
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.settle("1")
    report = ledger.gate()
    assert report.gate is Gate.OPEN
    assert report.steps[0].held_before is True


def test_a_carried_step_is_shown_as_carried() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", run=EARLIER_RUN)
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.done("1", carried=True)
    report = ledger.gate()
    assert report.gate is Gate.OPEN
    assert (report.steps[0].carried, report.steps[0].held_before) == (True, None)


def test_a_carried_step_goes_stale_like_any_other() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", run=EARLIER_RUN)
    ledger.verdict("1", phase=Phase.BEFORE, snapshot=BEFORE_NOW)
    ledger.done("1", carried=True, snapshot=BEFORE_NOW)
    assert ledger.gate().missing == (
        Missing("1", "its verdict is about older content", "signoff run"),
    )


def test_saying_that_the_run_is_done_does_not_open_the_gate() -> None:
    ledger = Scribe(step("1"))
    ledger.ended(Outcome.DONE)
    assert ledger.gate().gate is Gate.SHUT


def test_what_was_never_judged_is_not_called_stale() -> None:
    ledger = Scribe(step("1"))
    assert not is_stale(contract(), ledger.record("1"), NOW)
    ledger.verdict("1", snapshot=BEFORE_NOW)
    assert is_stale(contract(), ledger.record("1"), NOW)
    assert is_stale(contract(), ledger.record("1"), None)
    assert not is_stale(None, ledger.record("1"), NOW)
