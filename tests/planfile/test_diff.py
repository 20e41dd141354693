"""Two plans are compared by meaning, and two texts line by line."""

from __future__ import annotations

import time

from signoff.domain.plan import Mark, PlanStatus
from signoff.planfile.diff import Changed, diff_plans, unified
from signoff.planfile.marks import mark_text
from signoff.planfile.parse import parse
from tests.planfile.writing import plan, step

_POST = "## Postconditions\n\n1. a\n   ```\n   x\n   ```\n2. b\n"
_OLD = plan(step("1"), step("2"), step("3"), header="**Context:** c\n", after=_POST)


def test_what_was_added_removed_and_changed_is_named_field_by_field() -> None:
    new = (
        plan(step("1", title="Other"), step("3"), step("4"), header="**Context:** d\n", after=_POST)
        .replace("test -f out.txt", "true", 1)
        .replace("   x\n", "   y\n")
        .replace("2. b\n", "2. b\n3. c\n")
    )
    found = diff_plans(parse(_OLD).plan, parse(new).plan)
    assert found.header == ("context",)
    assert (found.added_steps, found.removed_steps) == (("4",), ("2",))
    assert found.changed_steps == (
        Changed("1", ("title", "contract.command")),
        Changed("3", ("needs",)),
    )
    assert found.unchanged_steps == ("3",)
    assert found.added_postconditions == ("postcondition:3",)
    assert found.removed_postconditions == ()
    assert found.changed_postconditions == (Changed("postcondition:1", ("contract.command",)),)
    assert not found.reordered


def test_progress_is_no_difference() -> None:
    text = "---\nstatus: draft\n---\n" + _OLD
    marked = mark_text(text, {"1": Mark.DONE}, PlanStatus.DONE)
    found = diff_plans(parse(text).plan, parse(marked).plan)
    assert not found.changed_steps and not found.header
    assert found.unchanged_steps == ("1", "2", "3")


def test_a_contract_that_appears_or_goes_is_a_change_of_the_contract() -> None:
    old, new = plan(step("1")), plan(step("1", contract=""))
    assert diff_plans(parse(old).plan, parse(new).plan).changed_steps == (
        Changed("1", ("contract",)),
    )


def test_steps_in_another_order_are_told() -> None:
    old = plan(step("1", extra="**needs:** none\n"), step("2", extra="**needs:** none\n"))
    new = plan(step("2", extra="**needs:** none\n"), step("1", extra="**needs:** none\n"))
    found = diff_plans(parse(old).plan, parse(new).plan)
    assert found.reordered
    assert found.changed_steps == ()


def test_the_text_difference_is_a_unified_diff() -> None:
    assert unified("a\nb\n", "a\nc\n", "P.md") == (
        "--- P.md (before)\n+++ P.md (now)\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    )


def test_equal_texts_have_no_difference_and_a_missing_last_newline_is_one() -> None:
    assert unified("a\n", "a\n", "P.md") == ""
    assert "\\ no newline at the end of the file" in unified("a\n", "a", "P.md")


def test_a_rewritten_huge_file_is_shown_without_comparing_every_pair_of_lines() -> None:
    old = "same\n" + "".join(f"a{n}\n" for n in range(20_000)) + "end\n"
    new = "same\n" + "".join(f"b{n}\n" for n in range(20_000)) + "end\n"
    started = time.process_time()
    shown = unified(old, new, "P.md")
    assert time.process_time() - started < 10
    assert shown.split("\n")[2] == "@@ -2,20000 +2,20000 @@"
    assert shown.count("\n") == 40_003
