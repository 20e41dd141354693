"""Budget, roles, paths, options and characters of a plan."""

from __future__ import annotations

import pytest

from signoff.domain.findings import Finding, Severity
from signoff.domain.plan import (
    ExpectationKind,
    Plan,
    Postcondition,
    Step,
)
from signoff.planfile.parse import Parsed, parse
from signoff.planfile.verify import CODES, CONTRACT_RULES, PLAN_RULES, TEXT_RULES, verify

from .plans import World, check, codes, contract, of_command, says, step


def plan_text(expectation: str, title: str = "Work", task: str = "Do it.") -> str:
    """A plan of one step, as its author would write it."""
    return (
        f"# Plan\n\n## Steps\n\n### 1. {title}\n\n**target:** coder\n**task:** {task}\n"
        f"**contract:**\n```shell\nmake\n```\n{expectation}\n"
    )


def test_a_rubric_without_a_model_for_opinions_is_a_warning_told_once() -> None:
    fields = "**rubric:**\n- it reads well\n**task:**"
    parsed = parse(plan_text("").replace("**task:**", fields))
    assert not codes(verify(parsed, World()))
    (found,) = (f for f in verify(parsed, World(judge_named=False)) if f.code == "judge-missing")
    assert found.severity is Severity.WARNING and found.text == "**rubric:**"
    assert 'model = "PROVIDER:NAME"' in found.hint


def test_an_unknown_role_is_an_error_with_the_nearest_name() -> None:
    findings = check(step("1", "make", target="codr"))
    assert codes(findings, Severity.ERROR) == ["unknown-role"]
    assert findings[0].hint == "did you mean `coder`?"


def test_a_role_unlike_any_other_lists_the_known_ones() -> None:
    hint = check(step("1", "make", target="xyz"))[0].hint
    assert "`coder`, `human`, `reviewer`" in hint
    assert "--agent" in hint


def test_human_is_always_there_and_a_missing_target_is_the_parsers_business() -> None:
    nobody = World(role_names=frozenset())
    assert codes(check(step("1", "make", target="human"), world=nobody)) == []
    assert codes(check(step("1", "make", target=""), world=nobody)) == []


def test_names_with_two_dots_inside_are_fine() -> None:
    post = Postcondition(1, "t", contract("make", writes=("out/**",)))
    made = step("1", "make", produces=("a..b/c",))
    assert codes(check(made, touches=("src/**",), postconditions=(post,))) == []


def test_protecting_nothing_is_a_warning() -> None:
    world = World(files=frozenset({"tests/a.py"}))
    kept = step("1", "make", protects=("tests/**",))
    assert codes(check(kept, world=world)) == []
    assert codes(check(step("1", "make", protects=("test/**",)), world=world)) == [
        "protects-nothing"
    ]


def test_protecting_what_an_earlier_step_makes_is_fine() -> None:
    made = step("1", "make", produces=("tests/new.py",))
    kept = step("2", "make", protects=("tests/new.py",), needs=("1",))
    assert codes(check(made, kept)) == []


@pytest.mark.parametrize(
    ("protects", "produces"), [("a/**", "a/b.py"), ("a/b.py", "a/**"), ("x", "x")]
)
def test_protecting_ones_own_product_is_an_error(protects: str, produces: str) -> None:
    findings = check(step("1", "make", protects=(protects,), produces=(produces,)))
    assert codes(findings, Severity.ERROR) == ["protects-own-product"]


def test_expecting_empty_output_says_something() -> None:
    says_nothing = says(ExpectationKind.STDOUT_EQUALS, "")
    assert codes(of_command("git status --porcelain", expectations=says_nothing)) == []
    assert codes(of_command("ls || true", expectations=says_nothing)) == []


@pytest.mark.parametrize(
    "command",
    [
        "gh pr view 3",
        "curl -sf https://example.test/health",
        "git push --dry-run",
        "ssh host true",
        "docker push image",
        "env A=1 kubectl get pods",
        "curl $URL",
    ],
)
def test_reaching_outside_needs_the_network(command: str) -> None:
    for said, warned in ((False, True), (None, True), (True, False)):
        found = codes(of_command(command, network=said), Severity.WARNING)
        assert ("network-needed" in found) is warned


@pytest.mark.parametrize(
    "command",
    [
        *("curl -sf http://localhost:8000/x", "curl 127.0.0.1:80", "curl -sf 127.0.0.1/x"),
        *("curl localhost", "curl -s file:///etc/hosts", "git diff", "docker build ."),
    ],
)
def test_staying_on_this_machine_needs_no_network(command: str) -> None:
    assert "network-needed" not in codes(of_command(command))


def test_an_unknown_heldout_check_is_an_error() -> None:
    world = World(heldout_names=frozenset({"hidden-suite"}))
    good = step("1", contract=contract("make", heldout="hidden-suite"))
    bad = step("1", contract=contract("make", heldout="hiden-suite"))
    assert codes(check(good, world=world)) == []
    findings = check(bad, world=world)
    assert codes(findings, Severity.ERROR) == ["heldout-unknown"]
    assert "hidden-suite" in findings[0].hint
    post = (Postcondition(1, "t", contract("make", heldout="x")),)
    nothing = check(step("1", "make"), postconditions=post)
    assert [f.hint for f in nothing] == [
        "write its command into `heldout/NAME/contract` in the home folder"
    ]


@pytest.mark.parametrize(
    ("char", "name"),
    [
        ("\x00", "U+0000"),
        ("\x1b", "U+001B"),
        ("\x7f", "U+007F"),
        ("\u200b", "U+200B"),
        ("\u202e", "U+202E"),
        ("\u2066", "U+2066"),
        ("\u00a0", "U+00A0"),
        ("\u00ad", "U+00AD"),
        ("\u2028", "U+2028"),
        ("\ufeff", "U+FEFF"),
        ("\u3164", "U+3164"),
        ("\u3000", "U+3000"),
        ("\U000e0041", "U+E0041"),
        ("\U000e0101", "U+E0101"),
        ("\ufe01", "U+FE01"),
        ("\ud800", "U+D800"),
        ("\r", "U+000D"),
        ("\x85", "U+0085"),
        ("\ufe0f", "U+FE0F"),
        ("\u180b", "U+180B"),
        ("\u180f", "U+180F"),
        ("\u2065", "U+2065"),
        ("\ufff0", "U+FFF0"),
        ("\U000e0000", "U+E0000"),
        ("\U000e0fff", "U+E0FFF"),
        ("\U00016fe4", "U+16FE4"),
        ("\U00013440", "U+13440"),
        ("\U0001d159", "U+1D159"),
    ],
)
def test_a_character_that_nobody_sees_is_an_error_with_its_column(char: str, name: str) -> None:
    text = plan_text("exit_code == 0").replace("make", f"test -f {char}x")
    finding = next(f for f in verify(parse(text), World()) if f.code == "hidden-characters")
    assert finding.severity is Severity.ERROR
    assert name in finding.message
    assert "column 9" in finding.message


@pytest.mark.parametrize(
    "command", ["grep 'größe ✅️' x\t", "test -f x\r\n\ttest -f y\r", "grep 日本 x"]
)
def test_visible_text_of_any_language_is_fine(command: str) -> None:
    text = plan_text("exit_code == 0").replace("make", command)
    assert "hidden-characters" not in codes(verify(parse(text), World()))


def test_a_contract_full_of_hidden_characters_is_reported_briefly() -> None:
    text = plan_text("exit_code == 0").replace("make", "bash -n x" + "\u200b" * 1000)
    assert codes(verify(parse(text), World())) == ["hidden-characters"] * 5


def test_an_escape_in_an_expectation_is_seen_and_fine() -> None:
    parsed = parse(plan_text(r'stdout contains "a\u200bb"'))
    assert "hidden-characters" not in codes(verify(parsed, World()))
    hidden = parse(plan_text('stdout contains "a\u200bb"'))
    found = next(f for f in verify(hidden, World()) if f.code == "hidden-characters")
    assert found.text == 'stdout contains "a\u200bb"'


def test_emoji_in_titles_and_tasks_are_fine() -> None:
    text = plan_text(
        "exit_code == 0", title="Ship it ⚠\ufe0f ❤\ufe0f", task="Say ☎\ufe0f 1\ufe0f\u20e3"
    )
    assert "hidden-characters" not in codes(verify(parse(text), World()))


def test_a_list_command_is_looked_at_too() -> None:
    broken = step("1", "test -f {item}", for_each="ls 'src")
    assert codes(check(broken)) == ["contract-syntax"]
    assert codes(check(step("1", "test -f {item}", for_each="true"))) == []
    assert codes(check(step("1", "test -f {item}", for_each="ls; touch a.md"))) == [
        "contract-writes"
    ]


def test_an_item_is_used_where_there_is_a_list_and_only_there() -> None:
    assert codes(check(step("1", "test -f a/{item}.md", for_each="ls"))) == []
    assert codes(check(step("1", "test -f a.md", for_each="ls"))) == ["item-unused"]
    assert codes(check(step("1", "test -f {item}"))) == ["item-without-list"]


def test_postconditions_follow_the_same_rules() -> None:
    post = (Postcondition(1, "works", contract("pytest || true")), Postcondition(2, "looks good"))
    findings = check(step("1", "make"), postconditions=post)
    assert codes(findings, Severity.ERROR) == ["cannot-fail"]
    assert findings[0].step == "postcondition:1"


def test_findings_come_by_line_with_the_parsers_among_them() -> None:
    lines = (
        "### 1. a",
        "**target:** nobody",
        "**contract:**",
        "```shell",
        "test -f x",
        "echo 'open",
        "```",
    )
    made = Step("1", "a", "nobody", "t", contract("test -f x\necho 'open", line=4), line=1)
    parsers = Finding("missing-task", Severity.ERROR, 3, "m", "h")
    found = verify(Parsed(Plan("p", (made,)), (parsers,), lines), World())
    assert [(f.line, f.code, f.text) for f in found] == [
        (2, "unknown-role", "**target:** nobody"),
        (3, "missing-task", ""),
        (6, "contract-syntax", "echo 'open"),
    ]


def test_a_column_counts_from_the_start_of_the_files_line() -> None:
    post = "\n## Postconditions\n\n1. works\n   ```shell\n   test -f \u200bx\n   ```\n"
    text = plan_text("exit_code == 0") + post
    (found,) = [f for f in parse(text).findings if f.code == "hidden-characters"]
    assert found.text == "   test -f \u200bx" and "column 12" in found.message


def test_every_code_is_explained_and_every_rule_has_its_reason() -> None:
    assert all(rule.__doc__ for rule in (*PLAN_RULES, *TEXT_RULES, *CONTRACT_RULES))
    assert list(CODES) == sorted(CODES)
    assert all(meaning and meaning[0] == meaning[0].lower() for meaning in CODES.values())


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("mkdir -p dist && test -d dist", "dist/**"),
        ("cp a.txt dist/ && grep -q x dist/a.txt", "dist/**"),
        ("cp a.txt dist/ && grep -q x dist/a.txt", "dist/a.txt"),
    ],
)
def test_a_declared_copy_that_is_checked_is_only_a_warning(command: str, writes: str) -> None:
    assert codes(of_command(command), Severity.ERROR) == ["writes-what-it-checks"]
    declared = of_command(command, writes=(writes,))
    assert codes(declared, Severity.ERROR) == []
    assert "writes-what-it-checks" in codes(declared, Severity.WARNING)
