"""Only a person's answer to an open question counts, and only about what was asked."""

from __future__ import annotations

import pytest

from signoff.domain.ledger import Cause, Choice, Kind, Outcome
from signoff.domain.verdict import Phase, Result
from signoff.gate.gate import Gate
from signoff.gate.subjects import StepState
from tests.gate.scribe import BEFORE_NOW, EARLIER_RUN, NOW, Scribe, plan_of, post, step


def test_a_waiver_needs_a_question_and_a_person_who_answered_waive() -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1")
    assert ledger.record("1").question == "q"
    ledger.answer("q", Choice.WAIVE)
    assert not ledger.record("1").waived
    ledger.waived("1", "q")
    record = ledger.record("1")
    assert (record.waived, record.settled, record.question) == (True, True, None)


def test_a_waiver_without_a_question_counts_for_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.waived("1", "q")
    assert not ledger.record("1").waived


def test_a_waiver_of_an_unanswered_question_counts_for_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1")
    ledger.waived("1", "q")
    assert not ledger.record("1").waived


@pytest.mark.parametrize("choice", [Choice.RETRY, Choice.REVISE, Choice.ABORT])
def test_no_other_answer_waives(choice: Choice) -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1")
    ledger.answer("q", choice)
    ledger.waived("1", "q")
    assert not ledger.record("1").waived


def test_a_waiver_of_one_step_does_not_waive_another() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.ask("q", "1")
    ledger.answer("q", Choice.WAIVE)
    ledger.waived("2", "q")
    assert not ledger.record("2").waived


def test_an_answer_given_before_the_question_answers_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.answer("q", Choice.WAIVE)
    ledger.ask("q", "1")
    ledger.waived("1", "q")
    assert not ledger.record("1").waived
    assert ledger.record("1").question == "q"


def test_an_answer_recorded_in_another_run_answers_nothing_here() -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1")
    ledger.answer("q", Choice.WAIVE, run=EARLIER_RUN)
    ledger.waived("1", "q")
    assert not ledger.record("1").waived


def test_a_second_answer_to_the_same_question_changes_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1")
    ledger.answer("q", Choice.RETRY)
    ledger.answer("q", Choice.WAIVE)
    ledger.waived("1", "q")
    assert not ledger.record("1").waived


def test_a_question_about_the_whole_plan_cannot_waive_a_step() -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", None, Cause.BUDGET)
    ledger.answer("q", Choice.WAIVE)
    ledger.waived("1", "q")
    assert not ledger.record("1").waived


def test_retry_gives_the_step_its_attempts_back() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", Result.BROKEN)
    ledger.ask("q", "1")
    ledger.answer("q", Choice.RETRY)
    record = ledger.record("1")
    assert (record.failures, record.question) == (0, None)


def test_retry_on_the_budget_grants_it_once_more() -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", None, Cause.BUDGET)
    ledger.answer("q", Choice.RETRY)
    assert ledger.state.budget_grants == 2


def test_retry_on_an_edited_plan_grants_no_budget() -> None:
    ledger = Scribe(step("1"))
    ledger.write(Kind.PLAN_EDITED, {"digest": "d", "difference": ""})
    ledger.ask("q", None, Cause.PLAN_EDITED)
    ledger.answer("q", Choice.RETRY)
    assert ledger.state.budget_grants == 1
    assert ledger.state.noticed == {"d"}


def test_retry_on_a_persons_step_hands_it_to_the_judge() -> None:
    ledger = Scribe(step("1"))
    ledger.started("1")
    ledger.ask("q", "1", Cause.HUMAN)
    ledger.answer("q", Choice.RETRY)
    record = ledger.record("1")
    assert (record.unjudged, record.in_flight) == (1, None)


def test_retry_on_a_contract_that_held_before_accepts_that_it_proves_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.ask("q", "1", Cause.HELD_BEFORE)
    ledger.answer("q", Choice.RETRY)
    assert ledger.record("1").held_before_accepted


def test_retry_on_another_question_does_not_accept_that_the_contract_held_before() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.ask("q", "1", Cause.CONTRACT)
    ledger.answer("q", Choice.RETRY)
    assert not ledger.record("1").held_before_accepted


def test_retry_on_a_postcondition_has_it_judged_again() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("postcondition:1", Result.BROKEN, phase=Phase.SWEEP)
    ledger.ask("q", "postcondition:1", Cause.POSTCONDITION)
    ledger.answer("q", Choice.RETRY)
    assert ledger.record("postcondition:1").latest is None


@pytest.mark.parametrize(
    ("choice", "revised", "aborted"),
    [(Choice.REVISE, True, False), (Choice.ABORT, False, True), (Choice.RETRY, False, False)],
)
def test_a_person_can_end_the_run(choice: Choice, revised: bool, aborted: bool) -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1")
    ledger.answer("q", choice)
    assert (ledger.state.revised, ledger.state.aborted) == (revised, aborted)


PROMISE = "postcondition:1"


def _settled(*, judged: bool) -> Scribe:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(judged=judged),)))
    ledger.settle("1")
    return ledger


def test_a_persons_word_opens_the_gate_where_nothing_can_be_judged() -> None:
    ledger = _settled(judged=False)
    assert ledger.gate().gate is Gate.SHUT
    ledger.accept(PROMISE)
    report = ledger.gate()
    assert report.gate is Gate.OPEN and report.waived == ()
    (said,) = report.postconditions
    assert (said.state, said.verdict, said.stale) == (StepState.ACCEPTED, None, False)


def test_a_persons_word_is_about_the_content_that_was_asked_about() -> None:
    ledger = _settled(judged=False)
    ledger.accept(PROMISE, snapshot=BEFORE_NOW)
    report = ledger.gate(NOW)
    assert report.gate is Gate.SHUT and report.postconditions[0].stale
    assert [m.what for m in report.missing] == ["a person said so about older content"]
    ledger.accept(PROMISE, "again")
    assert ledger.gate(NOW).gate is Gate.OPEN


def test_nobodys_word_replaces_a_contract() -> None:
    ledger = _settled(judged=True)
    ledger.accept(PROMISE)
    ledger.accept("1")
    assert ledger.record(PROMISE).vouched is None and ledger.record("1").vouched is None
    assert ledger.gate().gate is Gate.SHUT


@pytest.mark.parametrize("choice", [c for c in Choice if c is not Choice.ACCEPT])
def test_no_other_answer_says_that_it_holds(choice: Choice) -> None:
    ledger = _settled(judged=False)
    ledger.ask("q", PROMISE, Cause.POSTCONDITION)
    ledger.answer("q", choice)
    assert ledger.record(PROMISE).vouched is None


@pytest.mark.parametrize("outcome", [Outcome.CANCELLED, Outcome.FAILED, Outcome.REVISED])
def test_a_run_that_is_over_waits_for_nobody(outcome: Outcome) -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.ask("q", "1")
    ledger.ask("p", None, Cause.BUDGET)
    ledger.started("2")
    ledger.ended(outcome)
    report = ledger.gate()
    assert [s.state for s in report.steps] == [StepState.PENDING, StepState.PENDING]
    assert report.gate is Gate.SHUT
    wanted = "signoff approve" if outcome is Outcome.REVISED else "signoff run"
    assert {m.next for m in report.missing} == {wanted}
    assert not any("waits for a person" in m.what for m in report.missing)


def test_a_cancelled_run_is_not_open_although_everything_was_kept() -> None:
    ledger = Scribe(step("1"))
    ledger.settle("1")
    ledger.ended(Outcome.CANCELLED)
    assert [m.what for m in ledger.gate().missing] == ["this run was cancelled"]
