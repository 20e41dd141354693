"""Marks and status are written back byte for byte: only the lines that change change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.plan import Mark, PlanStatus
from signoff.planfile.marks import mark_text
from signoff.planfile.outline import file_digest, plan_digest
from signoff.planfile.parse import parse
from tests.planfile.writing import documents, plan, step

_ids = st.sampled_from(["1", "2", "3–N", "N+1", "4", "5", "unknown"])
_marks = st.dictionaries(_ids, st.sampled_from(list(Mark)))
_statuses = st.none() | st.sampled_from(list(PlanStatus))


@pytest.mark.parametrize(
    ("before", "mark", "after"),
    [
        ("### 1. Work", Mark.DONE, "### 1. ✅ Work"),
        ("### 1. ✅ Work", Mark.FAILED, "### 1. ❌ Work"),
        ("### 1. ✅ Work", Mark.NONE, "### 1. Work"),
        ("### 1.   Work  ", Mark.RUNNING, "### 1.   ⏳ Work  "),
        ("### 1. ⛔\ufe0fWork", Mark.DONE, "### 1. ✅ Work"),
        ("###\t1.\tWork ###", Mark.BLOCKED, "###\t1.\t⛔ Work ###"),
        ("  ### 1. Work", Mark.DONE, "  ### 1. ✅ Work"),
        ("### 1.", Mark.DONE, "### 1. ✅"),
        ("### 1. ✅", Mark.NONE, "### 1."),
        ("### 1. ✅❌ Work", Mark.NONE, "### 1. Work"),
        ("### 1. ✅ ❌ Work", Mark.DONE, "### 1. ✅ ❌ Work"),
        ("### 1. ✅Work", Mark.DONE, "### 1. ✅Work"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_mark_goes_before_the_title_and_leaves_the_rest_alone(
    before: str, mark: Mark, after: str, newline: str
) -> None:
    text = plan(step().replace("### 1. Work", before)).replace("\n", newline)
    expected = plan(step().replace("### 1. Work", after)).replace("\n", newline)
    assert mark_text(text, {"1": mark}, None) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("status: draft", "status: done"),
        ("status:   draft   # draft | done", "status:   done   # draft | done"),
        ("status: 'draft'", "status: 'done'"),
        ('status: "draft" # x', 'status: "done" # x'),
        ("status:", "status: done"),
        ("status: ", "status: done "),
        ("status:   # none yet", "status: done   # none yet"),
        ("status: what ever", "status: done"),
        ("status: ~", "status: done"),
        ("type: plan", "type: plan\nstatus: done"),
        ("touches:\n  - a", "touches:\n  - a\nstatus: done"),
        ("# comment", "# comment\nstatus: done"),
        ("owner: é\nstatus: draft", "owner: é\nstatus: done"),
        ("'status': draft", "'status': done"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_the_status_is_edited_in_its_place_or_added(
    before: str, after: str, newline: str, bom: str
) -> None:
    text = bom + f"---\n{before}\n---\n{plan()}".replace("\n", newline)
    expected = bom + f"---\n{after}\n---\n{plan()}".replace("\n", newline)
    assert mark_text(text, {}, PlanStatus.DONE) == expected
    assert parse(expected).plan.status is PlanStatus.DONE


def test_an_indented_frontmatter_keeps_its_indentation() -> None:
    text = f"---\n  type: plan\n---\n{plan()}"
    assert mark_text(text, {}, PlanStatus.DONE).startswith("---\n  type: plan\n  status: done\n---")


@pytest.mark.parametrize(
    "front",
    [
        "",
        "---\n{status: draft}\n---\n",
        "---\n- a\n---\n",
        "---\na: [\n---\n",
        "---\nstatus: |\n  draft\n---\n",
        "---\nstatus: draft\nstatus: draft\n---\n",
        "---\nnever closed\n",
    ],
)
def test_where_a_status_cannot_be_written_safely_nothing_is_written(front: str) -> None:
    text = front + plan()
    assert mark_text(text, {}, PlanStatus.DONE) == text


def test_every_heading_of_a_repeated_id_is_marked_and_those_in_fences_are_not() -> None:
    fence = "```\n### 1. In a fence\n```\n"
    text = plan(step("1"), step("1"), header=fence)
    marked = mark_text(text, {"1": Mark.DONE, "7": Mark.DONE}, None)
    assert marked.count("### 1. ✅ Work") == 2
    assert "### 1. In a fence" in marked


def test_the_right_line_is_marked_below_status_hints() -> None:
    text = plan(step("1", extra="**status: done**\n"), step("2"))
    marked = mark_text(text, {"2": Mark.DONE}, None)
    assert marked == text.replace("### 2. Work", "### 2. ✅ Work")


@settings(max_examples=300)
@given(documents, _marks, _statuses)
def test_only_step_headings_and_the_status_line_change(
    text: str, marks: dict[str, Mark], status: PlanStatus | None
) -> None:
    before, after = text.split("\n"), mark_text(text, marks, status).split("\n")
    added = len(after) - len(before)
    assert added in (0, 1)
    if added:
        at = next(i for i, line in enumerate(after) if i == len(before) or line != before[i])
        assert after.pop(at).strip() == f"status: {status}"
    for old, new in zip(before, after, strict=True):
        if old != new:
            assert old.lstrip().startswith(("###", "status:"))
            assert old.endswith("\r") == new.endswith("\r")


@settings(max_examples=300)
@given(documents, _marks, _statuses)
def test_writing_back_keeps_the_plan_and_its_digest(
    text: str, marks: dict[str, Mark], status: PlanStatus | None
) -> None:
    marked = mark_text(text, marks, status)
    assert parse(marked).plan == parse(text).plan
    assert plan_digest(marked) == plan_digest(text)


@settings(max_examples=300)
@given(documents, _marks, _statuses)
def test_writing_back_twice_is_writing_back_once(
    text: str, marks: dict[str, Mark], status: PlanStatus | None
) -> None:
    marked = mark_text(text, marks, status)
    assert mark_text(marked, marks, status) == marked


@settings(max_examples=200)
@given(documents, _marks, _statuses)
def test_what_was_written_is_read_again(
    text: str, marks: dict[str, Mark], status: PlanStatus | None
) -> None:
    before, after = parse(text).plan, parse(mark_text(text, marks, status)).plan
    for old, new in zip(before.steps, after.steps, strict=True):
        if marks.get(new.id, Mark.NONE) is not Mark.NONE:
            assert new.mark is marks[new.id]
        elif new.id not in marks:
            assert new.mark is old.mark


@settings(max_examples=200)
@given(documents)
def test_the_same_meaning_digest_is_the_same_plan(text: str) -> None:
    parsed = parse(text).plan
    assert parsed.file_digest == file_digest(text)
    assert parsed.plan_digest == plan_digest(text)
    assert parse(mark_text(text, {}, None)).plan == parsed
    assert mark_text(text, {}, None) == text
