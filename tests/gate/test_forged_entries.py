"""Entries that no honest run writes: each would open the gate, or stop the run, without proof."""

from __future__ import annotations

from signoff.domain.ledger import Choice, Kind
from signoff.domain.plan import RedFirst
from signoff.domain.verdict import Phase, Result
from signoff.gate.actions import Sweep, next_action
from signoff.gate.fold import fold
from signoff.gate.gate import Gate
from signoff.settings.policy import Policy
from tests.gate.scribe import (
    BEFORE_NOW,
    EARLIER_RUN,
    NOW,
    Scribe,
    contract,
    key_of,
    plan_of,
    post,
    step,
)


def test_a_list_that_is_said_to_be_empty_does_not_make_its_step_vanish() -> None:
    ledger = Scribe(step("1"), step("2", for_each="ls"))
    ledger.settle("1")
    ledger.expanded("2")
    assert ledger.gate().gate is Gate.SHUT


def test_an_item_that_was_listed_first_cannot_be_left_out_of_the_expansion() -> None:
    ledger = Scribe(step("1", for_each="ls"))
    ledger.listed("1", "a", "b")
    ledger.expanded("1", "a")
    ledger.settle("1[a]")
    assert ledger.gate().gate is Gate.SHUT


def test_a_step_that_is_no_list_cannot_be_expanded_away() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.settle("1")
    ledger.expanded("2")
    assert ledger.gate().gate is Gate.SHUT


def test_a_second_expansion_of_the_same_list_changes_nothing() -> None:
    ledger = Scribe(step("1", for_each="ls"))
    ledger.expanded("1", "a")
    ledger.expanded("1", "b")
    assert [s.id for s in ledger.state.schedule.steps] == ["1[a]"]


def test_an_expansion_of_an_unknown_step_changes_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.expanded("9", "a")
    assert [s.id for s in ledger.state.schedule.steps] == ["1"]


def test_a_step_cannot_be_carried_over_a_newer_broken_verdict() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", run=EARLIER_RUN)
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.verdict("1", Result.BROKEN)
    ledger.done("1", carried=True)
    assert ledger.gate().gate is Gate.SHUT


def test_a_step_cannot_be_carried_on_the_history_of_another_step() -> None:
    ledger = Scribe(step("1", judged=contract(red_first=RedFirst.REQUIRED)), step("2"))
    ledger.done("2", run=EARLIER_RUN)
    ledger.verdict("1", phase=Phase.BEFORE)
    data = {"key": key_of("1", NOW), "carried": True, "step_digest": step("2").digest}
    ledger.write(Kind.STEP_DONE, data, "1")
    assert not ledger.record("1").accepted


def test_a_forged_waiver_does_not_erase_a_persons_waiver() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.settle("1")
    ledger.settle("2")
    ledger.waive("1")
    ledger.waived("1", "q-forged")
    assert ledger.gate().gate is Gate.OPEN_WITH_WAIVERS


def test_a_verdict_filed_under_another_step_speaks_for_neither() -> None:
    ledger = Scribe(step("1"), step("2"))
    entry = ledger.verdict("2")
    ledger.write(Kind.VERDICT, entry.data, "1")
    ledger.write(Kind.STEP_DONE, {"key": entry.data["key"], "step_digest": ""}, "1")
    assert not ledger.record("1").accepted


def test_a_waiver_that_was_not_on_offer_does_not_count() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.settle("1")
    data = {"id": "q", "cause": "contract", "question": "?", "choices": ["retry", "abort"]}
    ledger.write(Kind.ESCALATION_OPENED, data, "2")
    ledger.answer("q", Choice.WAIVE)
    ledger.waived("2", "q")
    assert ledger.gate().gate is Gate.SHUT


def test_a_later_red_look_does_not_undo_that_the_contract_held_before() -> None:
    ledger = Scribe(step("1", judged=contract(red_first=RedFirst.REQUIRED)))
    ledger.verdict("1", phase=Phase.BEFORE, snapshot=BEFORE_NOW)
    ledger.verdict("1", Result.BROKEN, phase=Phase.BEFORE)
    ledger.settle("1")
    assert ledger.gate().gate is Gate.SHUT


def test_the_gate_stays_shut_while_an_attempt_is_in_flight() -> None:
    ledger = Scribe(step("1"))
    ledger.started("1")
    ledger.settle("1")
    assert ledger.gate().gate is Gate.SHUT


def test_the_gate_stays_shut_while_a_question_about_a_postcondition_is_open() -> None:
    ledger = Scribe(plan=plan_of(step("1"), posts=(post(),)))
    ledger.settle("1")
    ledger.ask("q", "postcondition:1")
    ledger.verdict("postcondition:1", phase=Phase.SWEEP)
    assert ledger.gate().gate is Gate.SHUT


def test_the_gate_stays_shut_after_a_person_aborted() -> None:
    ledger = Scribe(step("1"))
    ledger.settle("1")
    ledger.ask("q", None)
    ledger.answer("q", Choice.ABORT)
    assert ledger.gate().gate is Gate.SHUT


def test_the_same_entry_read_twice_is_counted_once() -> None:
    ledger = Scribe(step("1"))
    entry = ledger.finished("1", tokens=10)
    fold(ledger.state, (entry,))
    assert ledger.state.spent.tokens == 10


def test_a_reused_question_id_does_not_block_a_step_for_ever() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.ask("q", "1")
    ledger.ask("q", "2")
    ledger.answer("q", Choice.RETRY)
    assert ledger.record("1").question in (None, *ledger.state.questions)


def test_an_unwaived_step_is_not_skipped() -> None:
    ledger = Scribe(step("1"), step("2"))
    ledger.waive("1")
    ledger.settle("2")
    assert next_action(ledger.state, Policy()) == Sweep()
    ledger.waived("1", "q-forged")
    assert ledger.record("1").settled
