"""Only a person's answer to an open question counts, and only about what was asked."""

from __future__ import annotations

import pytest

from signoff.domain.escalation import Cause, Choice
from signoff.domain.ledger import Kind
from signoff.domain.verdict import Phase, Result
from tests.gate.scribe import EARLIER_RUN, Scribe, step


def test_a_waiver_needs_a_question_and_a_person_who_answered_waive() -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1")
    assert ledger.record("1").escalation == "q"
    ledger.answer("q", Choice.WAIVE)
    assert not ledger.record("1").waived
    ledger.waived("1", "q")
    record = ledger.record("1")
    assert (record.waived, record.settled, record.escalation) == (True, True, None)


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
    assert ledger.record("1").escalation == "q"


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
    assert (record.failures, record.escalation) == (0, None)


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
