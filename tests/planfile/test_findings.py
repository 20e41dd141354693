"""Everything wrong with a plan becomes a finding with its code, severity and line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from signoff.domain.findings import Severity
from signoff.planfile.findinglog import CODES, MAX_FINDINGS
from signoff.planfile.parse import parse
from tests.planfile.writing import CONTRACT, documents, plan, step, the_finding

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE

_TASK = "**target:** coder\n**task:** Do it.\n"


def _contract(below: str = "", above: str = "", info: str = "shell", command: str = "x\n") -> str:
    return plan(step(contract=f"**contract:**{above}\n```{info}\n{command}```\n{below}\n"))


def _field(line: str) -> str:
    return plan(step(extra=f"{line}\n"))


CASES: list[tuple[str, str, Severity, str]] = [
    ("bad-value", plan(header="**Budget:** as little as possible\n"), E, "**Budget:** as little"),
    ("bad-value", plan(header="**Budget:** 5k tokens, 6k tokens\n"), E, "**Budget:**"),
    ("bad-value", plan(header="**Budget:** -5 tokens\n"), E, "**Budget:**"),
    ("bad-value", plan(header="**Budget:**\n"), E, "**Budget:**"),
    ("bad-value", _field("**estimate:** 5 minutes"), E, "**estimate:**"),
    ("bad-value", _field("**estimate:** cheap"), E, "**estimate:**"),
    ("bad-value", _field("**timeout:** 10"), E, "**timeout:**"),
    ("bad-value", _field("**timeout:** 0 s"), E, "**timeout:**"),
    ("bad-value", _field("**contract_timeout:** soon"), E, "**contract_timeout:**"),
    ("bad-expectation", _contract("exit_code = 0"), E, "exit_code = 0"),
    ("bad-expectation", _contract("exitcode == 0"), E, "exitcode == 0"),
    ("bad-expectation", _contract("exit code == 0"), E, "exit code == 0"),
    ("bad-expectation", _contract("exit_code == 256"), E, "exit_code == 256"),
    ("bad-expectation", _contract("exit_code != 0"), E, "exit_code != 0"),
    ("bad-expectation", _contract("exit_code >= 0"), E, "exit_code >= 0"),
    ("bad-expectation", _contract("- exit_code == 0"), E, "- exit_code == 0"),
    ("bad-expectation", _contract("`exit_code == 0`"), E, "`exit_code == 0`"),
    ("bad-expectation", _contract("Exit_code == 0"), E, "Exit_code == 0"),
    ("bad-expectation", _contract("stdout contains ok"), E, "stdout contains ok"),
    ("bad-expectation", _contract("stdout contains 'ok'"), E, "stdout contains 'ok'"),
    ("bad-expectation", _contract('stdout contains "a" b"'), E, "stdout contains"),
    ("bad-expectation", _contract('stdout contains "\\ud800"'), E, "stdout contains"),
    ("bad-expectation", _contract('stderr equals "a"'), E, "stderr equals"),
    ("bad-expectation", _contract('stdout matches "a"'), E, "stdout matches"),
    ("bad-expectation", _contract("tests == 3"), E, "tests == 3"),
    ("stray-text", _contract(above="\nexit_code == 0"), W, "exit_code == 0"),
    ("stray-text", _contract(above=" exit_code == 0"), W, "**contract:** exit_code == 0"),
    ("bad-frontmatter", "---\n- a\n---\n" + plan(), E, "- a"),
    ("bad-value", _field("**on_fail:** try again"), E, "**on_fail:**"),
    ("bad-value", _field("**on_fail:** retry(-1)"), E, "**on_fail:**"),
    ("bad-value", _field("**on_fail:** retry(9999)"), E, "**on_fail:**"),
    ("bad-value", _field("**on_fail:**"), E, "**on_fail:**"),
    ("bad-value", _field("**on_fail:** escalate, then abort"), E, "**on_fail:**"),
    ("bad-value", _field("**subscriptions:**\n- src/a.py"), E, "- src/a.py"),
    ("bad-value", _field("**network:** maybe"), E, "**network:**"),
    ("bad-value", _field("**env:** A=1"), E, "**env:**"),
    ("bad-value", _field("**effects:** internal"), E, "**effects:**"),
    ("bad-value", _field("**holds:** sometimes"), E, "**holds:**"),
    ("bad-value", _field("**red_first:** offline"), E, "**red_first:**"),
    ("bad-value", _field("**judge_in:** cloud"), E, "**judge_in:**"),
    ("bad-value", _field("**heldout:** two words"), E, "**heldout:**"),
    ("bad-value", _field("**writes:**"), E, "**writes:**"),
    ("bad-value", _field("**protects:**"), E, "**protects:**"),
    ("bad-value", _field("**needs:**"), E, "**needs:**"),
    ("contract-without-fence", plan(step(contract="**contract:** true\n")), E, "**contract:**"),
    ("contract-without-fence", plan(step(contract="**contract:**\n\n    true\n")), E, "**contract"),
    ("contract-without-fence", _field("**for_each:** ls"), E, "**for_each:**"),
    ("unknown-field", _field("**need\u200bs:** none"), E, "**need"),
    ("not-a-step", plan(after="\u200b### 2. Hidden\n"), W, "\u200b### 2."),
    ("duplicate-field", _field("**target:** other"), E, "**target:** other"),
    ("duplicate-section", plan(after="## Steps\n\n" + step("2")), E, "## Steps"),
    ("duplicate-step-id", plan(step("1"), step("1", title="Again")), E, "### 1. Again"),
    ("duplicate-step-id", plan(step("3–5"), step("3-5", title="Again")), E, "### 3-5. Again"),
    ("duplicate-step-id", plan(step("1"), step("01", title="Again")), E, "### 01. Again"),
    ("empty-plan", "", E, ""),
    ("empty-plan", "\ufeff \r\n\n", E, " "),
    ("bad-value", plan(header="**Budget:** 0 tokens\n"), E, "**Budget:**"),
    ("bad-value", plan(header="**Budget:** $0\n"), E, "**Budget:**"),
    ("expectation-always-holds", _contract("tests >= 0"), W, "tests >= 0"),
    ("expectation-always-holds", _contract('stdout contains ""'), W, "stdout contains"),
    ("expectation-always-holds", _contract('stderr contains ""'), W, "stderr contains"),
    ("field-not-read", _field("- **on_fail:** abort"), W, "- **on_fail:**"),
    ("hidden-characters", _contract(command="test -f \u200bx\n"), E, "test -f"),
    ("hidden-characters", _contract('stdout contains "o\u200bk"'), E, "stdout contains"),
    ("hidden-characters", _field("**produces:** a\u200bb"), E, "**produces:**"),
    ("hidden-characters", _field("**protects:** x, src/\ufe0fa.py"), E, "**protects:**"),
    ("hidden-characters", _field("**writes:**\n- out\u180e/**"), E, "- out"),
    ("hidden-characters", _field("**subscriptions:** file:src/\u2065a.py"), E, "**sub"),
    ("hidden-characters", _field("**for_each:**\n```\nls \u200bsrc\n```"), E, "ls"),
    ("hidden-characters", "---\ntouches: src/\u200b**\n---\n" + plan(), E, "touches:"),
    ("hidden-text", plan(step().replace("Do it.", "Do <!-- not --> it.")), W, "**task:**"),
    ("hidden-text", plan(header="**Context:** a\n\n<!-- b -->\n"), W, "**Context:**"),
    ("line-end", plan(step().replace("Do it.", "Do\rit.")), E, "Do\rit."),
    ("line-end", plan(step().replace("Do it.", "Do\0it.")), E, "Do\0it."),
    ("missing-contract", plan(step(contract="")), E, "### 1. Work"),
    ("missing-target", plan(step().replace("**target:** coder\n", "")), E, "### 1. Work"),
    ("missing-target", plan(step().replace("**target:** coder\n", "**target:**\n")), E, "### 1."),
    ("missing-task", plan(step().replace("Do it.", "")), E, "### 1. Work"),
    ("missing-title", plan().replace("# Plan", ""), W, ""),
    ("misspelt-section", plan(after="## Postcondition\n\n1. x\n"), E, "## Postcondition"),
    ("misspelt-section", plan(after="## Post-conditions\n"), E, "## Post-conditions"),
    ("misspelt-section", plan(after="## **Steps**\n"), E, "## **Steps**"),
    ("no-steps", "# Plan\n\n## Steps\n", E, "# Plan"),
    ("not-a-step", plan(after="### Step 2: More\n"), E, "### Step 2: More"),
    ("not-a-step", plan(after="### 2) More\n"), E, "### 2) More"),
    ("not-a-step", plan(after="### ✅ 2. More\n"), E, "### ✅ 2. More"),
    ("not-a-step", plan(after="### ２. More\n"), E, "### ２. More"),
    ("not-a-step", plan(after=f"### More\n\n{_TASK}"), E, "### More"),
    ("not-a-step", plan(after="### Notes\n\ntext\n"), W, "### Notes"),
    ("path-outside", _field("**produces:** /etc/passwd"), E, "**produces:**"),
    ("path-outside", _field("**protects:** ../other/**"), E, "**protects:**"),
    ("path-outside", _field("**writes:** a/../../b"), E, "**writes:**"),
    ("path-outside", _field("**may_change:** ~/x"), E, "**may_change:**"),
    ("path-outside", _field("**may_extend:** \\x"), E, "**may_extend:**"),
    ("path-outside", _field("**touches:** ..\\x"), E, "**touches:**"),
    ("path-outside", _field("**subscriptions:**\n- file:../x"), E, "- file:"),
    ("path-outside", "---\ntouches: ../x\n---\n" + plan(), E, "touches:"),
    ("postcondition-not-numbered", plan(after="## Postconditions\n\n* x\n"), E, "* x"),
    ("postcondition-not-numbered", plan(after="## Postconditions\n\nx\n"), W, "x"),
    ("postcondition-without-contract", plan(after="## Postconditions\n\n1. x\n"), W, "1. x"),
    ("red-first-off-without-reason", _field("**red_first:** off"), W, "**red_first:**"),
    ("red-first-off-without-reason", _field("**red_first:** off ()"), W, "**red_first:**"),
    ("several-contracts", _contract("\n```\ny\n```"), E, "```"),
    ("not-a-step", plan(after="## Later\n\n### 2. More\n"), E, "### 2. More"),
    ("not-a-step", "# P\n\n### 0. Early\n\n" + plan(), E, "### 0. Early"),
    ("stray-text", _contract("It should pass."), W, "It should pass."),
    ("stray-text", _contract(above=" the tests pass"), W, "**contract:** the tests pass"),
    ("stray-text", plan(step().replace("**target", "Some words.\n\n**target")), W, "Some words."),
    ("stray-text", plan(step().replace("**target", "```\nx\n```\n**target")), W, "```"),
    ("stray-text", _field("**timeout:** 5 min\nor so"), W, "or so"),
    ("too-deep", plan(step().replace("Do it.", "> " * 21 + "x")), E, "> >"),
    ("unclosed-comment", plan(step().replace("Do it.", "<!-- Do it.")), E, "<!-- Do it."),
    ("unclosed-comment", plan(step().replace("Do it.", "<pre>\n\nx")), E, "<pre>"),
    ("unclosed-fence", plan(step(contract="**contract:**\n```\nx\n")), E, "```"),
    (
        "underlined-heading",
        plan(step(contract=CONTRACT + "**on_fail:** abort\n---\n")),
        E,
        "exit_code",
    ),
    ("unknown-field", _field("**Note:** mind this"), W, "**Note:**"),
    ("unknown-field", _field("**on fail:** abort"), W, "**on fail:**"),
    ("unknown-field", plan(header="**target:** coder\n"), W, "**target:**"),
    ("unknown-field", _field("**context:** x"), W, "**context:**"),
    ("unknown-frontmatter-key", "---\nx: y\n---\n" + plan(), N, "x: y"),
    ("unknown-need", _field("**needs:** 7"), E, "**needs:** 7"),
    ("unknown-need", _field("**needs:** 1-3"), E, "**needs:** 1-3"),
    ("unknown-status", "---\nstatus: ready\n---\n" + plan(), E, "status: ready"),
    ("not-a-step", plan(after="#### 2. More\n"), W, "#### 2. More"),
    ("not-a-step", plan(after="## 2. More\n"), E, "## 2. More"),
    ("too-many-findings", plan(*(step("1") for _ in range(MAX_FINDINGS + 5))), E, "### 1. Work"),
]


@pytest.mark.parametrize(
    ("code", "text", "severity", "starts"), CASES, ids=[f"{c[0]}-{n}" for n, c in enumerate(CASES)]
)
def test_each_fault_is_found_where_it_is(
    code: str, text: str, severity: Severity, starts: str
) -> None:
    found = [finding for finding in parse(text).findings if finding.code == code]
    assert [finding.severity for finding in found] == [severity]
    assert found[0].text.startswith(starts)
    shown = text.split("\n")[found[0].line - 1].removeprefix("\ufeff").removesuffix("\r")
    assert found[0].text == shown
    assert found[0].message and found[0].hint
    assert found[0].message[0] == found[0].message[0].lower()


def test_every_code_is_documented_and_has_a_case_here() -> None:
    assert {case[0] for case in CASES} == set(CODES)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        (_field("**taget:** x"), "unknown-field", "did you mean `target`?"),
        (_field("**onfail:** abort"), "unknown-field", "did you mean `on_fail`?"),
        (_field("**budget:** $1"), "unknown-field", "`budget` belongs above `## Steps`"),
        (_field("**effects:** extrnal"), "bad-value", "did you mean `external`?"),
        ("---\nstatus: aproved\n---\n" + plan(), "unknown-status", "did you mean `approved`?"),
    ],
)
def test_a_near_miss_is_answered_with_the_word_that_was_meant(
    text: str, code: str, hint: str
) -> None:
    assert the_finding(text, code).hint == hint


def test_an_unknown_field_ends_the_field_before_it_and_is_remembered() -> None:
    text = plan(step().replace("Do it.", "Do it.\n**Note:** with care"))
    found = parse(text).plan.steps[0]
    assert found.task == "Do it."
    assert [(field.name, field.line) for field in found.unknown_fields] == [("note", 11)]


def test_a_finding_names_the_step_it_is_about() -> None:
    assert the_finding(plan(step("1"), step("2", contract="")), "missing-contract").step == "2"


def test_findings_come_in_the_order_of_the_lines() -> None:
    text = plan(step("1", contract=""), step("1"), header="**Budget:** ?\n", after="## Step\n")
    lines = [finding.line for finding in parse(text).findings]
    assert len(lines) == 4
    assert lines == sorted(lines)


def test_the_first_of_two_fields_counts_while_the_plan_is_broken_anyway() -> None:
    assert parse(_field("**target:** other")).plan.steps[0].target == "coder"


def test_long_values_are_cut_in_messages() -> None:
    found = the_finding(_field("**on_fail:** " + "x" * 100_000), "bad-value")
    assert len(found.message) < 600
    assert len(found.text) <= 200


@settings(max_examples=300)
@given(documents)
def test_no_document_makes_reading_fail(text: str) -> None:
    parsed = parse(text)
    assert "\n".join(parsed.lines) == text
    for finding in parsed.findings:
        assert finding.code in CODES
        assert 1 <= finding.line <= len(parsed.lines)
