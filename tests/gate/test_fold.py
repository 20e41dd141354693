"""What the ledger says about a run is folded from its entries, and only facts count."""

from __future__ import annotations

import pytest

from signoff.domain.ledger import Kind, Outcome
from signoff.domain.plan import Cost
from signoff.domain.verdict import Phase, Result
from signoff.gate.fold import fold
from signoff.gate.state import State
from tests.gate.scribe import BEFORE_NOW, EARLIER_RUN, NOW, Scribe, key_of, step


def test_a_kept_verdict_that_was_accepted_makes_a_step_done() -> None:
    ledger = Scribe(step("1"))
    ledger.settle("1")
    assert ledger.record("1").done
    assert ledger.record("1").settled


def test_a_kept_verdict_alone_is_not_done() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1")
    assert not ledger.record("1").done


def test_a_step_done_without_any_verdict_counts_for_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1")
    assert not ledger.record("1").accepted


def test_a_step_done_with_the_key_of_another_step_counts_for_nothing() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.verdict("1")
    ledger.verdict("2")
    ledger.done("2", key=key_of("1", NOW))
    assert not ledger.record("2").accepted


def test_a_step_done_with_an_older_kept_key_counts_for_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", snapshot=BEFORE_NOW)
    ledger.verdict("1", Result.BROKEN)
    ledger.done("1", snapshot=BEFORE_NOW)
    assert not ledger.record("1").accepted


def test_a_step_done_must_name_the_newest_verdict_even_if_an_older_one_was_kept_too() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", snapshot=BEFORE_NOW)
    ledger.verdict("1")
    ledger.done("1", snapshot=BEFORE_NOW)
    assert not ledger.record("1").accepted


@pytest.mark.parametrize("result", [Result.BROKEN, Result.UNKNOWN])
def test_only_kept_can_be_accepted(result: Result) -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", result)
    ledger.done("1")
    assert not ledger.record("1").accepted
    assert ledger.record("1").failures == 1


def test_a_contract_that_breaks_on_the_content_it_held_on_is_no_longer_accepted() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1")
    ledger.verdict("1", Result.BROKEN)
    ledger.done("1")
    assert not ledger.record("1").accepted


def test_a_provisional_verdict_leaves_no_trace() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", provisional=True)
    ledger.done("1")
    assert ledger.record("1").latest is None
    assert not ledger.record("1").accepted
    assert ledger.state.snapshot is None


def test_a_verdict_from_before_the_attempt_cannot_be_accepted_as_work() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.done("1")
    assert ledger.record("1").held_before is True
    assert not ledger.record("1").accepted


def test_an_audit_verdict_is_a_look_and_not_a_sign_off() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", phase=Phase.AUDIT)
    ledger.done("1")
    assert ledger.record("1").latest is None
    assert not ledger.record("1").accepted


def test_what_another_run_proved_is_history_and_not_proof() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", run=EARLIER_RUN)
    ledger.done("1", run=EARLIER_RUN)
    assert ledger.state.history == {step("1").digest}
    assert not ledger.record("1").accepted
    assert ledger.record("1").latest is None


def test_nothing_else_of_another_run_is_folded() -> None:
    ledger = Scribe(step("1"))
    ledger.ask("q", "1", run=EARLIER_RUN)
    ledger.ended(Outcome.FAILED, run=EARLIER_RUN)
    assert ledger.state.outcome is None
    assert ledger.state.questions == {}
    assert ledger.state.seq == 2


def test_a_step_of_an_earlier_run_that_still_holds_is_carried() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", run=EARLIER_RUN)
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.done("1", carried=True)
    record = ledger.record("1")
    assert record.done
    assert record.carried
    assert record.held_before is None


def test_a_step_that_no_earlier_run_finished_cannot_be_carried() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.done("1", carried=True)
    assert not ledger.record("1").accepted


def test_a_step_that_no_longer_holds_cannot_be_carried() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", run=EARLIER_RUN)
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE)
    ledger.done("1", carried=True)
    assert not ledger.record("1").accepted


def test_a_carried_step_needs_the_verdict_from_before_the_attempt() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", run=EARLIER_RUN)
    ledger.verdict("1")
    ledger.done("1", carried=True)
    assert not ledger.record("1").accepted


def test_an_accepted_step_that_breaks_later_is_not_done_until_it_is_kept_again() -> None:
    ledger = Scribe(step("1"))
    ledger.settle("1")
    ledger.verdict("1", Result.BROKEN, phase=Phase.SWEEP)
    ledger.reopened("1", "step 2, attempt 1")
    record = ledger.record("1")
    assert (record.done, record.reopened) == (False, True)
    assert record.suspects == ("step 2, attempt 1",)
    ledger.verdict("1", snapshot="content-2")
    ledger.done("1", snapshot="content-2", again=True)
    assert (record.done, record.reopened) == (True, False)


def test_the_cursor_goes_back_to_a_step_that_broke_again() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.settle("1")
    ledger.settle("2")
    assert ledger.state.settle_cursor() == 2
    ledger.verdict("1", Result.BROKEN, phase=Phase.SWEEP)
    assert ledger.state.settle_cursor() == 0


def test_a_broken_postcondition_moves_no_cursor() -> None:
    ledger = Scribe(step("1"))
    ledger.settle("1")
    assert ledger.state.settle_cursor() == 1
    ledger.verdict("postcondition:1", Result.BROKEN, phase=Phase.SWEEP)
    assert ledger.state.settle_cursor() == 1


def test_an_attempt_is_in_flight_until_it_finished_and_unjudged_until_judged() -> None:
    ledger = Scribe(step("1"))
    ledger.started("1")
    record = ledger.record("1")
    assert (record.attempts, record.in_flight, record.unjudged) == (1, 1, None)
    ledger.finished("1")
    assert (record.in_flight, record.unjudged) == (None, 1)
    ledger.verdict("1", Result.BROKEN)
    assert (record.unjudged, record.failures) == (None, 1)


def test_a_lost_attempt_is_no_failure_and_not_judged() -> None:
    ledger = Scribe(step("1"))
    ledger.started("1")
    ledger.lost("1")
    record = ledger.record("1")
    assert (record.in_flight, record.unjudged, record.failures) == (None, None, 0)
    assert record.attempts == 1


def test_an_attempt_entry_without_a_number_is_counted_all_the_same() -> None:
    ledger = Scribe(step("1"))
    ledger.started("1")
    ledger.write(Kind.ATTEMPT_STARTED, {}, "1")
    assert ledger.record("1").attempts == 2


def test_cost_and_time_add_up_over_attempts_and_verdicts() -> None:
    ledger = Scribe(step("1"))
    ledger.finished("1", tokens=100, usd=0.1, duration_s=2.0)
    ledger.finished("1", 2, tokens=50, usd=0.2, duration_s=1.0)
    ledger.verdict("1", duration_s=4.0)
    assert ledger.state.spent == Cost(150, 0.3)
    assert ledger.state.spent_s == 7.0
    assert ledger.state.attempts_ended == 2


def test_a_reused_verdict_costs_no_time() -> None:
    ledger = Scribe(step("1"))
    ledger.verdict("1", duration_s=4.0, reused_from=1)
    assert ledger.state.spent_s == 0.0


def test_each_finished_attempt_is_a_moment_that_suspects_are_found_among() -> None:
    ledger = Scribe(step("1"))
    ledger.finished("1", snapshot="content-7")
    ledger.lost("1", 2)
    assert ledger.state.moments == [(1, "step 1, attempt 1", "content-7")]
    assert ledger.state.snapshot == "content-7"


def test_the_newest_step_answers_for_a_produced_file() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.verdict("1")
    ledger.done("1", produced={"a.md": "one", "b.md": "one"})
    ledger.verdict("2")
    ledger.done("2", produced={"a.md": "two"})
    assert ledger.state.produced == {"1": {"b.md": "one"}, "2": {"a.md": "two"}}


def test_a_step_done_that_does_not_count_pins_no_produced_file() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", produced={"tests/test_a.py": "forged"})
    assert ledger.state.produced == {}


def test_the_outcome_is_what_the_ledger_recorded() -> None:
    ledger = Scribe(step("1"))
    ledger.ended(Outcome.CANCELLED)
    assert ledger.state.outcome is Outcome.CANCELLED


def test_a_failed_step_fails_the_run() -> None:
    ledger = Scribe(step("1"))
    ledger.failed("1")
    assert ledger.record("1").failed
    assert ledger.state.any_failed


def test_the_first_look_at_a_list_is_remembered() -> None:
    ledger = Scribe(step("1", for_each="ls"), step("2", for_each="ls"))
    assert ledger.state.unlisted == ["1", "2"]
    ledger.listed("1", "a", "b")
    assert ledger.record("1").listed == ("a", "b")
    assert ledger.state.unlisted == ["2"]


def test_kinds_that_decide_nothing_only_move_the_sequence() -> None:
    ledger = Scribe(step("1"))
    ledger.write(Kind.RUN_STARTED, {"snapshot": NOW})
    ledger.write(Kind.RUN_RESUMED, {"token": 2})
    assert ledger.state.seq == 2
    assert ledger.state.records == {}


def test_folding_the_same_ledger_twice_gives_the_same_facts() -> None:
    ledger = Scribe(step("1"), step("2", "1"))
    ledger.started("1")
    ledger.finished("1", tokens=5)
    ledger.settle("1")
    ledger.waive("2")
    again = fold(State(ledger.plan, ledger.run), ledger.entries)
    assert again.records == ledger.state.records
    assert again.spent == ledger.state.spent
    assert again.seq == ledger.state.seq == len(ledger.entries)
