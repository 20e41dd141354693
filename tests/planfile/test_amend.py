"""The line that lets a step change more files: added where it belongs, and nothing else moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.planfile.marks import with_may_change
from signoff.planfile.parse import parse
from tests.cli.plans import plan_text, step

TWO = plan_text([step("One", "true"), step("Two", "make test", protects=["tests/**"])])


def test_the_line_stands_before_the_contract_of_its_step() -> None:
    text = with_may_change(TWO, "2", ("rules.yml", "data/a.json"))
    assert text is not None
    added = set(text.split("\n")) - set(TWO.split("\n"))
    assert added == {"**may_change:** rules.yml, data/a.json"}
    one, two = parse(text).plan.steps
    assert one.contract is not None and two.contract is not None
    assert one.contract.may_change == ()
    assert two.contract.may_change == ("rules.yml", "data/a.json")


@pytest.mark.parametrize("given", ["a.toml", ["a.toml", "b.toml"]])
def test_what_is_allowed_already_stays_allowed(given: str | list[str]) -> None:
    text = with_may_change(plan_text([step("One", "true", may_change=given)]), "1", ("new.yml",))
    assert text is not None
    contract = parse(text).plan.steps[0].contract
    before = (given,) if isinstance(given, str) else tuple(given)
    assert contract is not None and set(contract.may_change) == {*before, "new.yml"}


def test_line_ends_stay_as_they_are() -> None:
    text = with_may_change(TWO.replace("\n", "\r\n"), "1", ("a.yml",))
    assert text is not None and text.count("\r\n") == text.count("\n")


@pytest.mark.parametrize(
    ("step_id", "paths"),
    [("3", ("a",)), ("1", ()), ("1", ("a b",)), ("1", ("a,b",)), ("1", ("`",))],
)
def test_what_cannot_be_written_plainly_is_left_to_a_person(
    step_id: str, paths: tuple[str, ...]
) -> None:
    assert with_may_change(TWO, step_id, paths) is None


@given(name=st.from_regex(r"[a-z][a-z0-9_./-]{0,20}[a-z0-9]", fullmatch=True))
def test_only_that_one_option_changes(name: str) -> None:
    text = with_may_change(TWO, "2", (name,))
    if text is not None:
        assert parse(text).plan.steps[0] == parse(TWO).plan.steps[0]
