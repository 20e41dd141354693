"""A plan of which nothing was seen red is done by a person's word only, and never plainly."""

from __future__ import annotations

from signoff.domain.facts import SessionWork
from signoff.domain.ledger import Cause, Choice, Outcome
from signoff.domain.plan import RedFirst
from signoff.domain.verdict import Phase, Result
from signoff.gate.actions import EscalateHeldBefore, Finish, Sweep, Wait, next_action
from signoff.gate.gate import ALL_HELD_BEFORE, Gate, Missing
from signoff.settings.policy import Policy
from tests.gate.scribe import EARLIER_RUN, NOW, Scribe, contract, step

FOR_THE_PLAN = (Choice.ACCEPT, Choice.REVISE, Choice.ABORT)
OFF = contract(red_first=RedFirst.OFF)


def _held(*ids: str, red: tuple[str, ...] = (), asks: bool = True, off: str = "") -> Scribe:
    """Steps that are all kept now; those of `red` were seen broken before."""
    steps = (*ids, *red)
    ledger = Scribe(*(step(i, judged=OFF if i == off else contract()) for i in steps))
    ledger.begun(asks_held_before=asks)
    for i in steps:
        result = Result.BROKEN if i in red else Result.KEPT
        if i != off:
            ledger.verdict(i, result, phase=Phase.BEFORE)
        ledger.settle(i)
    return ledger


def test_a_plan_of_which_everything_held_before_asks_before_its_sign_off() -> None:
    ledger = _held("1", "2")
    assert next_action(ledger.state, Policy()) == EscalateHeldBefore()
    assert ledger.gate().missing == (Missing("plan", ALL_HELD_BEFORE, "signoff run", waiting=True),)
    ledger.ask("q", None, Cause.HELD_BEFORE, choices=FOR_THE_PLAN)
    assert next_action(ledger.state, Policy()) == Wait(("q",))
    ledger.answer("q", Choice.ACCEPT)
    assert next_action(ledger.state, Policy()) == Sweep()
    report = ledger.gate()
    assert (report.gate, report.held_before_accepted_by) == (Gate.OPEN, "a person")


def test_to_accept_is_no_answer_to_another_question() -> None:
    ledger = _held("1")
    ledger.ask("q", None, Cause.BUDGET)
    ledger.answer("q", Choice.ACCEPT)
    assert next_action(ledger.state, Policy()) == EscalateHeldBefore()


def test_one_answer_to_a_step_does_not_speak_for_the_plan() -> None:
    ledger = _held("1", "2")
    ledger.ask("q", "1", Cause.HELD_BEFORE)
    ledger.answer("q", Choice.ACCEPT)
    assert ledger.gate().gate is Gate.SHUT


def test_a_forged_end_opens_nothing() -> None:
    ledger = _held("1")
    ledger.ended(Outcome.DONE)
    assert ledger.gate().gate is Gate.SHUT
    assert next_action(ledger.state, Policy()) == Finish(Outcome.DONE)


def test_one_step_that_was_red_or_nothing_that_was_to_be_is_enough() -> None:
    for ledger in (_held("1", red=("2",)), _held("1", off="1"), _held("1", asks=False)):
        assert next_action(ledger.state, Policy()) == Sweep()
        assert ledger.gate().gate is Gate.OPEN


def test_a_refactoring_beside_a_step_that_held_before_shows_nothing() -> None:
    ledger = _held("1", "2", off="2")
    assert next_action(ledger.state, Policy()) == EscalateHeldBefore()


def test_a_step_that_a_person_sent_on_or_let_go_is_not_asked_about_again() -> None:
    ledger = _held("1")
    ledger.ask("q", "1", Cause.HELD_BEFORE)
    ledger.answer("q", Choice.RETRY)
    assert next_action(ledger.state, Policy()) == Sweep()
    ledger = _held("1", red=("2",))
    ledger.waive("2")
    assert next_action(ledger.state, Policy()) == EscalateHeldBefore()


def test_a_step_that_was_done_in_an_earlier_run_counts_as_red() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", run=EARLIER_RUN)
    ledger.begun(asks_held_before=True)
    ledger.verdict("1", phase=Phase.BEFORE)
    ledger.done("1", carried=True)
    assert next_action(ledger.state, Policy()) == Sweep()
    assert ledger.gate().gate is Gate.OPEN


def test_a_session_that_changed_nothing_did_no_work() -> None:
    work = SessionWork(
        id="s", agent="a", model=None, tokens=None, usd=None, seq=1, hash="h", red=()
    )
    for approved, asked in ((NOW, True), ("other", False)):
        ledger = Scribe(step("1"))
        ledger.begun(asks_held_before=True, approved_content=approved, session=work)
        ledger.verdict("1", phase=Phase.BEFORE)
        ledger.settle("1")
        assert (next_action(ledger.state, Policy()) == EscalateHeldBefore()) == asked
