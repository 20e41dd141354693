"""What a plan says becomes the Plan, field by field."""

from __future__ import annotations

import pytest

from signoff.domain.plan import (
    Budget,
    Cost,
    Effects,
    Expectation,
    ExpectationKind,
    Holds,
    JudgeIn,
    Mark,
    OnFail,
    PlanStatus,
    RedFirst,
    Step,
    Then,
)
from signoff.planfile.parse import parse
from tests.planfile.writing import CONTRACT, FIXTURES, codes, plan, step


def _fixture(number: int) -> str:
    return (FIXTURES / f"seed_example_{number}.md").read_text(encoding="utf-8")


def _only_step(text: str) -> Step:
    parsed = parse(text)
    assert parsed.findings == ()
    return parsed.plan.steps[0]


@pytest.mark.parametrize(
    ("number", "ids"),
    [(1, ["1", "2", "3", "4"]), (2, ["1", "2", "3"]), (3, ["1", "2", "3–N", "N+1"])],
)
def test_the_seeds_examples_parse_without_a_finding(number: int, ids: list[str]) -> None:
    parsed = parse(_fixture(number))
    assert [s.id for s in parsed.plan.steps] == ids
    assert parsed.findings == ()


def test_the_first_example_is_read_to_the_last_field() -> None:
    plan_read = parse(_fixture(1)).plan
    assert plan_read.title == "Fix authentication timeout bug (#423)"
    assert plan_read.context.startswith("Login requests timeout")
    assert plan_read.budget == Budget(200_000, 1.5, 1200.0)
    assert (plan_read.priority, plan_read.owner) == ("high", "orchestrator")
    assert plan_read.status is PlanStatus.DRAFT
    first, second = plan_read.steps[:2]
    assert (first.title, first.target, first.line) == ("Analyze the bug", "coder", 15)
    assert [str(s) for s in first.subscriptions] == [
        "file:src/auth/handler.py",
        "file:src/auth/middleware.py",
        "topic:fix-auth-timeout",
    ]
    assert first.task.startswith("Read the auth handler") and first.task.endswith("the timeout.")
    assert first.contract is not None
    assert first.contract.command.startswith("test -f docs/analysis-423.md && ")
    assert first.contract.expectations == (Expectation(ExpectationKind.EXIT_CODE, 0),)
    assert first.on_fail == OnFail(2, Then.ESCALATE)
    assert (first.needs, second.needs) == ((), ("1",))
    assert plan_read.steps[3].on_fail == OnFail(0, Then.ESCALATE)


def test_every_option_of_a_contract_is_read() -> None:
    extra = (
        "**contract_timeout:** 90 s\n**network:** no\n**env:** HOME, `API_URL`\n"
        "**writes:** build/**, *.log\n**effects:** External\n**holds:** at_step\n"
        "**red_first:** off (the file is there already)\n**may_change:**\n- tests/new/**\n"
        "**judge_in:** clean\n**heldout:** secret-suite\n"
    )
    contract = _only_step(plan(step(extra=extra))).contract
    assert contract is not None
    assert contract.timeout_s == 90.0
    assert contract.network is False
    assert contract.env == ("HOME", "API_URL")
    assert contract.writes == ("build/**", "*.log")
    assert contract.effects is Effects.EXTERNAL
    assert contract.holds is Holds.AT_STEP
    assert contract.red_first is RedFirst.OFF
    assert contract.red_first_reason == "the file is there already"
    assert contract.may_change == ("tests/new/**",)
    assert contract.judge_in is JudgeIn.CLEAN
    assert contract.heldout == "secret-suite"


def test_every_optional_field_of_a_step_is_read() -> None:
    extra = (
        "**produces:** docs/a.md\n**protects:**\n- `tests/auth/**`\n- setup.cfg\n"
        "**timeout:** 1h 30min\n**estimate:** 20k tokens, $0.10\n"
        "**for_each:**\n```shell\nls *.py\n```\n**needs:** none\n"
    )
    found = _only_step(plan(step(extra=extra)))
    assert found.produces == ("docs/a.md",)
    assert found.protects == ("tests/auth/**", "setup.cfg")
    assert found.timeout_s == 5400.0
    assert found.estimate == Cost(20_000, 0.10)
    assert found.for_each == "ls *.py"
    assert found.needs == ()


def test_a_step_that_says_little_gets_the_defaults() -> None:
    found = _only_step(plan())
    assert found.on_fail == OnFail(2, Then.ESCALATE)
    assert (found.timeout_s, found.estimate, found.for_each) == (600.0, None, None)
    assert found.contract is not None and found.contract.timeout_s == 60.0
    assert parse(plan()).plan.priority == "normal"


@pytest.mark.parametrize(
    "written",
    [
        "**TARGET:** coder",
        "**target**: coder",
        "**target :** coder",
        "  **target:** coder",
        "**target:**\ncoder",
        "**target:**\n\n`coder`",
        "**target:** coder\r",
    ],
)
def test_a_field_may_be_written_in_several_ways(written: str) -> None:
    text = plan(f"### 1. Work\n{written}\n**task:** Do it.\n{CONTRACT}")
    assert _only_step(text).target == "coder"


def test_a_task_keeps_fences_lists_bold_words_and_breaks_as_they_are_written() -> None:
    task = (
        "First:\n\n- **Bold words in a list:** fine\n- `x`\n\n"
        "```python\n# 1\n**target:** no\n```\n\n"
        "**Two words:** stay.\n\n---\n\nLast."
    )
    text = plan(f"### 1. Work\n**target:** coder\n**task:**\n\n{task}\n\n---\n\n{CONTRACT}\n---\n")
    assert _only_step(text).task == task


def test_a_command_is_what_stands_in_the_fence_with_its_indentation_taken_off() -> None:
    contract = "**contract:**\n  ~~~bash\n  if true; then\n    x\n  fi\n  ~~~\n"
    found = _only_step(plan(step(contract=contract)).replace("\n", "\r\n"))
    assert found.contract is not None
    assert found.contract.command == "if true; then\n  x\nfi"


def test_a_contract_remembers_the_line_its_command_starts_on() -> None:
    parsed = parse(plan())
    contract = parsed.plan.steps[0].contract
    assert contract is not None
    assert parsed.lines[contract.line - 1] == "test -f out.txt"


def test_a_longer_fence_holds_a_shorter_one() -> None:
    contract = "**contract:**\n````\ncat <<'E'\n```\nE\n````\n"
    found = _only_step(plan(step(contract=contract)))
    assert found.contract is not None
    assert found.contract.command == "cat <<'E'\n```\nE"


@pytest.mark.parametrize(
    ("line", "kind", "value"),
    [
        ("exit_code == 3", ExpectationKind.EXIT_CODE, 3),
        ("exit_code==255", ExpectationKind.EXIT_CODE, 255),
        ('stdout contains "a \\"b\\"\\n\\u00e9"', ExpectationKind.STDOUT_CONTAINS, 'a "b"\né'),
        ('stderr contains "tab\there"', ExpectationKind.STDERR_CONTAINS, "tab\there"),
        ('stdout equals ""', ExpectationKind.STDOUT_EQUALS, ""),
        ("tests >= 12", ExpectationKind.TESTS_AT_LEAST, 12),
    ],
)
def test_an_expectation_is_read(line: str, kind: ExpectationKind, value: str | int) -> None:
    contract = f"**contract:**\n```shell\nx\n```\n\n{line}  \n"
    found = _only_step(plan(step(contract=contract)))
    assert found.contract is not None
    assert found.contract.expectations == (Expectation(kind, value),)


@pytest.mark.parametrize(
    ("written", "policy"),
    [
        ("retry(3)", OnFail(3, Then.ESCALATE)),
        ("Retry( 1 ), then abort", OnFail(1, Then.ABORT)),
        ("retry(2) then escalate", OnFail(2, Then.ESCALATE)),
        ("escalate", OnFail(0, Then.ESCALATE)),
        ("abort", OnFail(0, Then.ABORT)),
    ],
)
def test_a_failure_policy_is_read(written: str, policy: OnFail) -> None:
    assert _only_step(plan(step(extra=f"**on_fail:** {written}\n"))).on_fail == policy


@pytest.mark.parametrize(
    ("written", "budget"),
    [
        ("max 200k tokens, $1.50, 20 minutes wall clock", Budget(200_000, 1.5, 1200.0)),
        ("1M tokens", Budget(tokens=1_000_000)),
        ("1.5m tokens and 2 USD", Budget(1_500_000, 2.0)),
        ("1,000,000 tokens, US$3", Budget(1_000_000, 3.0)),
        ("at most 90 s", Budget(wall_s=90.0)),
        ("2 hours 30 min", Budget(wall_s=9000.0)),
    ],
)
def test_a_budget_is_read(written: str, budget: Budget) -> None:
    parsed = parse(plan(header=f"**Budget:** {written}\n"))
    assert parsed.findings == ()
    assert parsed.plan.budget == budget


@pytest.mark.parametrize(
    ("written", "needs"),
    [
        ("1, 2", ("1", "2")),
        ("\n- 2\n- 1", ("2", "1")),
        ("steps 1 and 2", ("1", "2")),
        ("3-N", ("3–N",)),
        ("2, 2", ("2",)),
        ("none", ()),
    ],
)
def test_needs_name_steps_by_number(written: str, needs: tuple[str, ...]) -> None:
    last = step("9", extra=f"**needs:** {written}\n")
    parsed = parse(plan(step("1"), step("2"), step("3–N"), last))
    assert parsed.findings == ()
    assert parsed.plan.steps[-1].needs == needs


@pytest.mark.parametrize("number", ["1", "3.2", "3–N", "3-5", "N+1", "12a"])
def test_a_steps_id_is_its_number_as_written(number: str) -> None:
    assert _only_step(plan(step(number))).id == number


@pytest.mark.parametrize(
    ("heading", "mark", "title"),
    [
        ("### 1. ✅ Work", Mark.DONE, "Work"),
        ("### 1. ❌Work", Mark.FAILED, "Work"),
        ("### 1.  ⏳  Work ###", Mark.RUNNING, "Work"),
        ("### 1. ⛔\ufe0f Work", Mark.BLOCKED, "Work"),
        ("### 1. ✅", Mark.DONE, ""),
        ("### 1. Work ✅", Mark.NONE, "Work ✅"),
    ],
)
def test_a_mark_before_the_title_is_split_off(heading: str, mark: Mark, title: str) -> None:
    found = _only_step(plan(step().replace("### 1. Work", heading)))
    assert (found.mark, found.title) == (mark, title)


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("**status: done**", Mark.DONE),
        ("**Status:** failed", Mark.FAILED),
        ("**status**: in progress", Mark.RUNNING),
        ("**status: waived**", Mark.BLOCKED),
        ("**status: pending**", Mark.NONE),
    ],
)
def test_a_status_line_is_a_hint_and_no_part_of_any_field(line: str, mark: Mark) -> None:
    text = plan(step(), step("2")).replace("Do it.", f"Do it.\n{line}\nMore.", 1)
    first, second = parse(text).plan.steps
    assert codes(text) == []
    assert (first.mark, first.task) == (mark, "Do it.\nMore.")
    assert second.mark is Mark.NONE


def test_a_mark_in_the_heading_wins_over_a_status_line() -> None:
    text = plan(step(title="❌ Work", extra="**status: done**\n"))
    assert _only_step(text).mark is Mark.FAILED


def test_a_status_line_outside_every_step_marks_no_step() -> None:
    text = plan(header="**status: done**\n", after="## Notes\n\n**status: done**\n")
    assert parse(text).plan.steps[0].mark is Mark.NONE


def test_sections_may_be_underlined_and_in_any_case() -> None:
    text = f"My plan\n=======\n\nSTEPS\n-----\n\n{step()}\npostconditions\n---\n\n1. x\n"
    parsed = parse(text)
    assert (parsed.plan.title, len(parsed.plan.steps)) == ("My plan", 1)
    assert [p.text for p in parsed.plan.postconditions] == ["x"]


def test_the_context_runs_to_the_next_field_or_heading() -> None:
    header = "**Context:** one\n\n- two\n\n**Priority:** LOW\n"
    found = parse(plan(header=header)).plan
    assert (found.context, found.priority) == ("one\n\n- two", "low")


def test_the_file_is_given_back_line_by_line() -> None:
    text = "\ufeff" + plan().replace("\n", "\r\n")
    assert "\n".join(parse(text).lines) == text
