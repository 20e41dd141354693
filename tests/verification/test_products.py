"""Whose a file is that steers a check: what an accepted step may be said to have made."""

from __future__ import annotations

import pytest

from signoff.domain.plan import Contract, Step
from signoff.domain.snapshot import Product
from signoff.domain.verdict import Reason
from signoff.verification.guards import Guards
from signoff.verification.pins import Pins
from tests.verification.courtroom import Courtroom

CHECK = "check.sh"
HONEST = "grep -qx works product.txt\n"


def _guards(court: Courtroom) -> Guards:
    """Approved on the content as it is; nothing steers any check yet."""
    pins = Pins(
        plan_digest="p",
        plan_text="",
        settings={},
        config_text="",
        search_path=court.search_path,
        workspace=str(court.root),
        ignore_rules={},
        snapshot=court.snapshot(),
        protected={},
        steering={},
    )
    return Guards(pins, court.workspace)


def _step(command: str) -> Step:
    return Step("1", "make", contract=Contract(command))


def test_a_step_made_the_new_files_that_its_contract_cannot_do_without(court: Courtroom) -> None:
    court.write("old.sh")
    guards = _guards(court)
    court.write(CHECK, HONEST)
    court.write("other.sh")
    made = guards.named_by(_step("test -s check.sh && test -s old.sh"), court.snapshot())
    assert list(made) == [CHECK]


@pytest.mark.parametrize(
    "command",
    [
        "test -s check.sh && bash check.sh",
        "test -s check.sh && ./run.sh",
        "test -s check.sh && . ./check.sh",
    ],
)
def test_a_step_does_not_own_what_steers_its_own_check(court: Courtroom, command: str) -> None:
    court.write("run.sh", "bash check.sh\n")
    guards = _guards(court)
    court.write(CHECK, "exit 0\n")
    assert guards.named_by(_step(command), court.snapshot()) == {}


def test_a_link_is_nothing_that_a_step_made(court: Courtroom) -> None:
    guards = _guards(court)
    court.write("real.sh", HONEST)
    (court.root / CHECK).symlink_to("real.sh")
    assert guards.named_by(_step("test -s check.sh"), court.snapshot()) == {}


def test_what_a_step_declares_takes_the_place_of_what_its_contract_names(court: Courtroom) -> None:
    guards = _guards(court)
    court.write(CHECK, HONEST)
    declared = Step("1", "make", produces=("docs/**",), contract=Contract("test -s check.sh"))
    assert guards.named_by(declared, court.snapshot()) == {}


def test_a_check_of_an_earlier_step_counts_exactly_as_it_was_accepted(court: Courtroom) -> None:
    guards = _guards(court)
    court.write(CHECK, HONEST)
    court.write("product.txt", "works\n")
    content = court.snapshot()
    seen = guards.named_by(_step("test -s check.sh"), content)[CHECK]
    products = {CHECK: Product("1", content, seen)}
    contract = Contract("bash check.sh")
    later = Step("2", "use it", contract=contract)
    assert court.judge(contract, guard=guards.of(later, {}, products)).kept
    assert guards.relied_on_by(later, content, products) == [CHECK]
    without = court.judge(contract, guard=guards.of(later, {}))
    assert without.reason is Reason.TAMPERED, "a file that nobody was accepted with is a plant"
    own = Step("1", "make", contract=contract)
    assert court.judge(contract, guard=guards.of(own, {}, products)).reason is Reason.TAMPERED
    court.write(CHECK, "exit 0\n")
    assert court.judge(contract, guard=guards.of(later, {}, products)).tampered == (CHECK,)
    (court.root / CHECK).unlink()
    assert court.judge(contract, guard=guards.of(later, {}, products)).tampered == (CHECK,)


def test_only_the_part_that_steers_counts_of_a_file_that_an_earlier_step_made(
    court: Courtroom,
) -> None:
    guards = _guards(court)
    court.write("Makefile", "test:\n\ttrue\n")
    content = court.snapshot()
    products = {"Makefile": Product("1", content, "as accepted")}
    later = Step("2", "use it", contract=Contract("make test"))
    guard = guards.of(later, {}, products)
    court.write("Makefile", "test:\n\ttrue\n\nother:\n\tfalse\n")
    assert court.judge("make test", guard=guard).kept
    court.write("Makefile", "test:\n\techo rigged\n")
    assert court.judge("make test", guard=guard).tampered == ("Makefile#target:test",)


def test_who_may_change_a_file_of_an_earlier_step_answers_for_it_then(court: Courtroom) -> None:
    guards = _guards(court)
    court.write(CHECK, HONEST)
    content = court.snapshot()
    allowed = Step("2", "edit", contract=Contract("test -s notes", may_change=(CHECK,)))
    loose = {CHECK: Product("1", content, "x")}
    assert list(guards.named_by(allowed, content, loose)) == [CHECK]
    assert guards.owned_by(allowed, content, {}, loose) == {}
    relied_on = {CHECK: Product("1", content, "x", relied_on=True)}
    assert list(guards.owned_by(allowed, content, {}, relied_on)) == [CHECK]


@pytest.mark.parametrize("command", ["bash -n check.sh", "sh -n check.sh", "node --check check.sh"])
def test_a_script_whose_syntax_alone_is_checked_does_not_steer(
    court: Courtroom, command: str
) -> None:
    guards = _guards(court)
    court.write(CHECK, HONEST)
    assert list(guards.named_by(_step(command), court.snapshot())) == [CHECK]


@pytest.mark.parametrize("command", ["bash -n -i check.sh", "bash -n check.sh x", "bash check.sh"])
def test_a_script_that_may_be_run_does(court: Courtroom, command: str) -> None:
    guards = _guards(court)
    court.write(CHECK, HONEST)
    contract = Contract(command)
    guard = guards.of(Step("1", "make", contract=contract), {})
    assert court.judge(contract, guard=guard).reason is Reason.TAMPERED
