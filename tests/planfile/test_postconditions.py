"""Numbered items below `## Postconditions` become postconditions with or without contracts."""

from __future__ import annotations

from signoff.domain.plan import Expectation, ExpectationKind, Postcondition
from signoff.planfile.parse import parse
from tests.planfile.writing import codes, errors, plan


def _posts(section: str) -> tuple[Postcondition, ...]:
    return parse(plan(after=f"## Postconditions\n\n{section}")).plan.postconditions


def _codes(section: str) -> list[str]:
    return codes(plan(after=f"## Postconditions\n\n{section}"))


def test_an_item_carries_its_contract_expectations_and_options() -> None:
    section = (
        "1. The whole suite passes\n   and more\n   ```shell\n   uv run pytest -q\n   ```\n"
        '   stdout contains "passed"\n   **contract_timeout:** 5 min\n'
        "2) **contract:**\n   ~~~\n   make lint\n   ~~~\n"
    )
    assert _codes(section) == []
    first, second = _posts(section)
    assert first.text == "The whole suite passes\nand more"
    assert first.contract is not None and second.contract is not None
    assert first.contract.command == "uv run pytest -q"
    assert first.contract.timeout_s == 300.0
    assert first.contract.expectations == (Expectation(ExpectationKind.STDOUT_CONTAINS, "passed"),)
    assert second.contract.command == "make lint"
    assert (first.id, second.id) == ("postcondition:1", "postcondition:2")


def test_an_item_without_contract_is_left_to_a_person_and_says_so() -> None:
    section = "1. Looks good\n\n2. Reads well\n"
    assert _codes(section) == ["postcondition-without-contract"] * 2
    assert [p.contract for p in _posts(section)] == [None, None]


def test_a_fence_that_is_not_indented_still_belongs_to_the_item_above() -> None:
    section = "1. Suite\n\n```shell\nmake test\n```\n"
    (found,) = _posts(section)
    assert found.contract is not None
    assert found.contract.command == "make test"
    assert _codes(section) == []


def test_all_ones_is_how_some_people_number_lists() -> None:
    section = "1. a\n1. b\n"
    assert [p.number for p in _posts(section)] == [1, 2]


def test_a_nested_list_is_part_of_its_item() -> None:
    (found,) = _posts("1. a\n   1. b\n   2. c\n")
    assert found.text == "a\n1. b\n2. c"


def test_bullets_and_prose_are_not_taken_for_postconditions_silently() -> None:
    after = "## Postconditions\n\n- The suite passes\n"
    assert errors(plan(after=after)) == ["postcondition-not-numbered"]
    assert _codes("All must hold:\n\n1. a\n") == [
        "postcondition-not-numbered",
        "postcondition-without-contract",
    ]


def test_a_fence_in_the_text_and_a_contract_field_are_one_too_many() -> None:
    section = "1. a\n   ```\n   x\n   ```\n   **contract:**\n   ```\n   y\n   ```\n"
    assert "several-contracts" in errors(plan(after=f"## Postconditions\n\n{section}"))


def test_a_fence_below_an_option_is_no_contract() -> None:
    section = "1. a\n   **network:** no\n   ```\n   x\n   ```\n"
    assert _codes(section) == ["postcondition-without-contract"]


def test_a_step_field_in_a_postcondition_is_unknown_there() -> None:
    section = "1. a\n   ```\n   x\n   ```\n   **target:** coder\n"
    assert _codes(section) == ["unknown-field"]


def test_an_empty_section_has_no_postconditions_and_no_findings() -> None:
    assert _posts("") == ()
    assert _codes("") == []
