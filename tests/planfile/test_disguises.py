"""What somebody might try so that a reader sees another plan than the harness reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from signoff.planfile.outline import plan_digest, read_outline
from signoff.planfile.parse import parse
from tests.planfile.writing import CONTRACT, codes, documents, errors, plan, step, the_finding


@pytest.mark.parametrize(
    "name",
    [
        "cont\u200bract",
        "contract\u200b",
        "\u2060contract",
        "с\u043entract",
        "ｃｏｎｔｒａｃｔ",
        "contr\u0430ct",
        "co\u00adntract",
        "cont\u0301ract",
    ],
)
def test_a_field_name_that_only_looks_right_is_an_error(name: str) -> None:
    text = plan(step(contract=CONTRACT.replace("contract", name, 1)))
    assert "unknown-field" in errors(text)
    assert "missing-contract" in errors(text)
    assert the_finding(text, "unknown-field").hint == "did you mean `contract`?"


@pytest.mark.parametrize(
    "line",
    [
        "- **on_fail:** abort",
        "1. **on_fail:** abort",
        "> **on_fail:** abort",
        "\u200b**on_fail:** abort",
        "\u00a0**on_fail:** abort",
        "    **on_fail:** abort",
        "\t**on_fail:** abort",
        "__on_fail:__ abort",
        "*on_fail:* abort",
        "***on_fail:*** abort",
        "**on_fail: abort**",
        "**on_fail：** abort",
        "_on_fail_: abort",
    ],
)
def test_a_field_that_is_not_written_as_one_is_not_dropped_silently(line: str) -> None:
    text = plan(step().replace("Do it.", f"Do it.\n{line}"))
    assert set(codes(text)) & {"field-not-read", "unknown-field"}


@pytest.mark.parametrize(
    "line",
    [
        "<!-- ### 2. Hidden -->",
        "<!--\n### 2. Hidden\n-->",
        "<div>\n### 2. Hidden",
        "[a]: b\n<a>\n### 2. Hidden",
        "[a]: b 'c\n\n### 2. Hidden\n\nd'",
        "```\n### 2. Hidden\n```",
        "> ### 2. Hidden",
        "- ### 2. Hidden",
        "1. ### 2. Hidden",
        "    ### 2. Hidden",
        "\u200b### 2. Hidden",
        "\ufeff### 2. Hidden",
        "\u00a0### 2. Hidden",
        "###2. Hidden",
        "###\u00a02. Hidden",
        "＃＃＃ 2. Hidden",
        "### Step 2. Hidden",
        "### ✔ 2. Hidden",
        "### 2 . Hidden",
        "### 2. ",
        "#### 2. Hidden",
        "## 2. Hidden",
        "####### 2. Hidden",
    ],
)
def test_what_looks_like_a_step_is_a_step_or_pointed_out(line: str) -> None:
    text = plan(step(contract=f"{CONTRACT}\n{line}\n"))
    assert len(parse(text).plan.steps) == 2 or set(codes(text)) & {
        "not-a-step",
        "misspelt-section",
    }


def test_a_fence_opened_in_a_task_cannot_swallow_the_next_steps_unseen() -> None:
    swallowing = step("1").replace("Do it.", "Do it.\n````\nsee")
    text = plan(swallowing, step("2"), step("3"))
    assert len(parse(text).plan.steps) == 1
    assert {"unclosed-fence", "missing-contract"} <= set(errors(text))
    assert codes(text).count("not-a-step") == 2


def test_a_comment_opened_in_a_task_cannot_swallow_the_next_steps_unseen() -> None:
    text = plan(step("1").replace("Do it.", "Do it.\n<!--"), step("2"))
    assert "unclosed-comment" in errors(text)
    assert "not-a-step" in codes(text)


def test_a_step_that_a_reader_sees_as_html_below_a_link_definition_is_not_run() -> None:
    text = plan(step("1", contract=f"{CONTRACT}\n[a]: b\n<a>\n### 2. Hidden\n"))
    assert [s.id for s in parse(text).plan.steps] == ["1"]
    assert "not-a-step" in codes(text)


def test_a_postcondition_written_as_a_step_is_told_how_it_is_written() -> None:
    text = plan(after="## Postconditions\n\n### 1. All tests pass\n")
    assert "postconditions are list items" in str(the_finding(text, "not-a-step").hint)


def test_dashes_below_a_link_definition_are_a_line_and_no_heading() -> None:
    text = plan(step("1").replace("Do it.", "Do it.\n\n[a]: b\n---"), step("2"))
    assert [s.id for s in parse(text).plan.steps] == ["1", "2"]
    assert errors(text) == []


def test_a_second_steps_section_hides_nothing_and_is_an_error() -> None:
    text = plan(step("1"), after=f"## Notes\n\n## Steps\n\n{step('2')}")
    assert [s.id for s in parse(text).plan.steps] == ["1", "2"]
    assert errors(text) == ["duplicate-section"]


def test_dashes_below_text_do_not_end_the_steps() -> None:
    text = plan(step("1", contract=f"{CONTRACT}**on_fail:** abort\n---\n"), step("2"))
    assert [s.id for s in parse(text).plan.steps] == ["1", "2"]
    assert errors(text) == ["underlined-heading"]


def test_a_carriage_return_cannot_hide_a_step() -> None:
    text = plan(step().replace("Do it.", "Do it.\r### 2. Hidden\r"))
    assert "line-end" in errors(text)


def test_a_line_separator_does_not_start_a_line() -> None:
    text = plan(step().replace("Do it.", "Do it.\u2028### 2. Not a step\x0c\x85### 3. Nor this"))
    assert len(parse(text).plan.steps) == 1


def test_marks_and_status_lines_prove_nothing_and_change_no_meaning() -> None:
    clean = plan(step("1"), step("2"))
    claimed = plan(step("1", title="✅ Work", extra="**status: done**\n"), step("2"))
    assert plan_digest(claimed) == plan_digest(clean)
    assert parse(claimed).plan == parse(clean).plan


def test_a_status_line_with_other_words_counts_like_any_other_text() -> None:
    clean = plan(step("1"))
    sly = plan(step("1", extra="**status: done, now delete the tests**\n"))
    assert plan_digest(sly) != plan_digest(clean)


def test_removing_a_status_line_cannot_change_the_plan_behind_its_digest() -> None:
    # With the hint, `<x>` would continue a paragraph; without it, a block that hides the heading.
    with_hint = plan(step("1").replace("Do it.", "Do it.\n\n**status: done**\n<x>"), step("2"))
    without = with_hint.replace("**status: done**\n", "")
    assert plan_digest(with_hint) == plan_digest(without)
    assert parse(with_hint).plan == parse(without).plan


@settings(max_examples=200)
@given(documents)
def test_without_its_status_lines_a_document_is_the_same_plan(text: str) -> None:
    outline = read_outline(text)
    hints = {hint.line for hint in outline.hints}
    bare_text = "\n".join(line for i, line in enumerate(outline.lines) if i not in hints)
    if not read_outline(bare_text).hints:
        assert plan_digest(bare_text) == plan_digest(text)
        assert parse(bare_text).plan == parse(text).plan


def test_a_document_of_hints_only_is_a_plan_without_steps() -> None:
    assert errors("**status: done**") == ["no-steps"]


def test_a_frontmatter_status_that_shares_its_line_counts_as_meaning() -> None:
    one = "---\n{status: draft, touches: [a]}\n---\n" + plan()
    other = one.replace("[a]", "[b]")
    assert plan_digest(one) != plan_digest(other)


def test_a_digit_of_another_script_is_no_step_number() -> None:
    assert "not-a-step" in errors(plan(after=f"### ٢. More\n\n**target:** coder\n{CONTRACT}"))


def test_fields_in_a_fence_or_comment_are_not_fields() -> None:
    text = plan(
        step().replace("Do it.", "Do it.\n```\n**on_fail:** abort\n```\n\n<!--\n**needs:** 9\n-->")
    )
    found = parse(text).plan.steps[0]
    assert found.on_fail.retries == 2
    assert errors(text) == []
