"""Which accepted step answers for which file."""

from __future__ import annotations

from typing import Any

from signoff.domain.snapshot import Product
from tests.gate.scribe import Scribe, step

CHECK = "check.py"


def _accepted(ledger: Scribe, step_id: str, snapshot: str, **said: Any) -> None:
    ledger.verdict(step_id, snapshot=snapshot)
    ledger.done(step_id, snapshot=snapshot, **said)


def test_the_newest_step_that_names_a_file_answers_for_it() -> None:
    ledger = Scribe(step("1"), step("2"))
    _accepted(ledger, "1", "first", named={CHECK: "a"})
    _accepted(ledger, "2", "second", named={CHECK: "b"})
    assert ledger.state.products == {CHECK: Product("2", "second", "b")}
    assert ledger.state.produced == {}, "naming alone forbids nobody to build on it"


def test_a_file_that_an_accepted_check_relied_on_is_not_replaced_by_naming_it() -> None:
    ledger = Scribe(step("1"), step("2"), step("3"), step("4"))
    _accepted(ledger, "1", "first", named={CHECK: "a"})
    _accepted(ledger, "2", "second", relies_on=[CHECK])
    _accepted(ledger, "3", "third", named={CHECK: "rigged"})
    assert ledger.state.products[CHECK] == Product("1", "first", "a", relied_on=True)
    _accepted(ledger, "4", "fourth", produced={CHECK: "allowed"})
    assert ledger.state.products[CHECK] == Product("4", "fourth", "allowed", relied_on=True)


def test_a_step_done_that_does_not_count_owns_nothing() -> None:
    ledger = Scribe(step("1"))
    ledger.done("1", named={CHECK: "forged"}, relies_on=[CHECK])
    assert ledger.state.products == {}
