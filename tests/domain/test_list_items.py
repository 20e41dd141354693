"""An item of a list stands for itself, and odd patterns can still be asked."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from signoff.domain.globs import matches
from signoff.domain.plan import Contract, Expectation, ExpectationKind, Step, expand
from signoff.domain.text import tail

TEMPLATE = Step("1", "t", contract=Contract("check {item}"), for_each="ls")


@pytest.mark.parametrize("item", ["*", "**", "?", "[a-z]", "a[b", "*.md"])
def test_an_item_is_no_wildcard_in_what_its_step_produces(item: str) -> None:
    (child,) = expand(replace(TEMPLATE, produces=("docs/{item}",)), (item,))
    assert matches(child.produces[0], f"docs/{item}")
    assert not matches(child.produces[0], "docs/protected.md")
    assert not matches(child.produces[0], "docs/b")


def test_an_item_is_filled_into_everything_a_contract_says() -> None:
    judged = Contract(
        "check {item}",
        (Expectation(ExpectationKind.STDOUT_CONTAINS, "{item} ok"),),
        writes=("out/{item}",),
        may_change=("tests/{item}",),
    )
    (child,) = expand(replace(TEMPLATE, contract=judged), ("a",))
    assert child.contract == Contract(
        "check 'a'",
        (Expectation(ExpectationKind.STDOUT_CONTAINS, "a ok"),),
        writes=("out/a",),
        may_change=("tests/a",),
    )


@pytest.mark.parametrize("pattern", ["[z-a].txt", "a[[]b"])
def test_a_bracket_that_makes_no_sense_can_still_be_asked(pattern: str) -> None:
    assert matches(pattern, "other.py") is False


def test_a_tail_of_nothing_keeps_nothing() -> None:
    assert tail("abc", 0) == "[... 3 characters cut ...]\n"
