"""Budget, roles, paths, options and characters of a plan."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.domain.findings import Finding, Severity
from signoff.domain.plan import (
    Budget,
    Cost,
    Effects,
    ExpectationKind,
    Plan,
    Postcondition,
    RedFirst,
    Step,
)
from signoff.planfile.parse import Parsed, parse
from signoff.planfile.verify import CODES, verify
from signoff.planfile.verify.table import CONTRACT_RULES, PLAN_RULES, TEXT_RULES

from .plans import World, check, codes, contract, of_command, reads, says, step


def plan_text(expectation: str, title: str = "Work", task: str = "Do it.") -> str:
    """A plan of one step, as its author would write it."""
    return (
        f"# Plan\n\n## Steps\n\n### 1. {title}\n\n**target:** coder\n**task:** {task}\n"
        f"**contract:**\n```shell\nmake\n```\n{expectation}\n"
    )


def test_an_unknown_role_is_an_error_with_the_nearest_name() -> None:
    findings = check(step("1", "make", target="codr"))
    assert codes(findings, Severity.ERROR) == ["unknown-role"]
    assert findings[0].hint == "did you mean `coder`?"


def test_a_role_unlike_any_other_lists_the_known_ones() -> None:
    hint = check(step("1", "make", target="xyz"))[0].hint
    assert "`coder`, `human`, `reviewer`" in hint
    assert "--role" in hint


def test_human_is_always_there_and_a_missing_target_is_the_parsers_business() -> None:
    nobody = World(role_names=frozenset())
    assert codes(check(step("1", "make", target="human"), world=nobody)) == []
    assert codes(check(step("1", "make", target=""), world=nobody)) == []


@pytest.mark.parametrize("budget", [Budget(tokens=0), Budget(usd=0.0), Budget(wall_s=-1.0)])
def test_a_budget_of_nothing_is_an_error(budget: Budget) -> None:
    assert codes(check(step("1", "make"), budget=budget)) == ["budget-empty"]


@pytest.mark.parametrize(
    ("budget", "estimate"),
    [(Budget(tokens=5000), Cost(tokens=3000)), (Budget(usd=1.0), Cost(usd=0.6))],
)
def test_estimates_beyond_the_budget_are_a_warning(budget: Budget, estimate: Cost) -> None:
    steps = [step("1", "make", estimate=estimate), step("2", "make", estimate=estimate)]
    findings = check(*steps, budget=budget)
    assert codes(findings, Severity.WARNING) == ["budget-below-estimates"]
    assert codes(check(steps[0], budget=budget)) == []


def test_a_timeout_beyond_the_whole_budget_is_a_warning() -> None:
    slow = contract("make", timeout_s=400.0)
    budget = Budget(wall_s=300.0)
    assert codes(check(step("1", contract=slow), budget=budget)) == ["budget-below-timeout"]
    assert codes(check(step("1", "make", timeout_s=301.0), budget=budget)) == [
        "budget-below-timeout"
    ]
    assert codes(check(step("1", "make"), budget=budget)) == []


@pytest.mark.parametrize("budget", [Budget(tokens=1500), Budget(usd=0.001), Budget(wall_s=1.9)])
def test_a_budget_too_thin_for_its_steps_is_a_warning(budget: Budget) -> None:
    findings = check(step("1", "make"), step("2", "make"), budget=budget)
    assert "budget-thin" in codes(findings, Severity.WARNING)


def test_a_generous_budget_is_silent() -> None:
    budget = Budget(tokens=200_000, usd=1.5, wall_s=1200.0)
    assert codes(check(step("1", "make"), budget=budget)) == []


@pytest.mark.parametrize(
    "pattern", ["/etc/passwd", "../other/**", "a/../../b", "~/x", "\\x", "..\\x"]
)
def test_a_path_that_leaves_the_workspace_is_an_error(pattern: str) -> None:
    for field in ("produces", "protects"):
        found = codes(check(step("1", "make", **{field: (pattern,)})), Severity.ERROR)
        assert found == ["path-outside"]
    for option in ("writes", "may_change"):
        options: dict[str, Any] = {option: (pattern,)}
        assert codes(of_command("make", **options), Severity.ERROR) == ["path-outside"]
    assert codes(check(step("1", "make", subscriptions=reads(pattern)))) == ["path-outside"]
    assert codes(check(step("1", "make"), touches=(pattern,))) == ["path-outside"]
    post = Postcondition(1, "t", contract("make", writes=(pattern,)))
    assert codes(check(step("1", "make"), postconditions=(post,))) == ["path-outside"]


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


def test_two_makers_of_one_file_are_a_note() -> None:
    one, two = (step(i, "make", produces=("a.md", "a.md")) for i in "12")
    findings = check(one, two)
    assert codes(findings, Severity.NOTE) == codes(findings) == ["produced-twice"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ExpectationKind.STDOUT_CONTAINS, ""),
        (ExpectationKind.STDERR_CONTAINS, ""),
        (ExpectationKind.TESTS_AT_LEAST, 0),
    ],
)
def test_an_expectation_that_always_holds_is_a_warning(
    kind: ExpectationKind, value: str | int
) -> None:
    findings = of_command("test -f x", expectations=says(kind, value))
    assert "expectation-always-holds" in codes(findings, Severity.WARNING)


def test_expecting_empty_output_says_something() -> None:
    says_nothing = says(ExpectationKind.STDOUT_EQUALS, "")
    assert codes(of_command("git status --porcelain", expectations=says_nothing)) == []
    assert codes(of_command("ls || true", expectations=says_nothing)) == []


@pytest.mark.parametrize("code", [126, 127])
def test_an_exit_code_that_means_unknown_is_a_warning(code: int) -> None:
    assert "exit-code-never-kept" in codes(of_command("make", code), Severity.WARNING)


@pytest.mark.parametrize(("timeout_s", "contract_s"), [(0.0, 60.0), (600.0, 0.0), (-1.0, 60.0)])
def test_a_timeout_of_nothing_is_an_error(timeout_s: float, contract_s: float) -> None:
    made = step("1", contract=contract("make", timeout_s=contract_s), timeout_s=timeout_s)
    assert codes(check(made), Severity.ERROR) == ["timeout-empty"]


def test_a_contract_that_may_outlast_its_step_is_a_warning() -> None:
    made = step("1", contract=contract("make", timeout_s=900.0))
    assert codes(check(made), Severity.WARNING) == ["timeout-order"]
    assert codes(check(step("1", None, timeout_s=5.0))) == []


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
def test_reaching_outside_is_noted_and_contradicts_no_network(command: str) -> None:
    assert codes(of_command(command), Severity.NOTE) == ["looks-external"]
    external: dict[str, Any] = {"effects": Effects.EXTERNAL}
    assert "looks-external" not in codes(of_command(command, **external))
    for said, warned in ((False, True), (None, True), (True, False)):
        found = codes(of_command(command, network=said, **external), Severity.WARNING)
        assert ("network-needed" in found) is warned


@pytest.mark.parametrize(
    "command",
    [
        *("curl -sf http://localhost:8000/x", "curl 127.0.0.1:80", "curl -sf 127.0.0.1/x"),
        *("curl localhost", "curl -s file:///etc/hosts", "git diff", "docker build ."),
    ],
)
def test_staying_on_this_machine_is_not_external(command: str) -> None:
    assert "looks-external" not in codes(of_command(command))


def test_judged_once_and_judged_before_is_a_warning() -> None:
    options: dict[str, Any] = {"effects": Effects.EXTERNAL, "red_first": RedFirst.REQUIRED}
    assert codes(of_command("make", **options)) == ["red-first-external"]


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
    finding = next(f for f in of_command(f"test -f {char}x") if f.code == "hidden-characters")
    assert finding.severity is Severity.ERROR
    assert name in finding.message
    assert "column 9" in finding.message


@pytest.mark.parametrize(
    "command", ["grep 'größe ✅️' x\t", "test -f x\r\n\ttest -f y\r", "grep 日本 x"]
)
def test_visible_text_of_any_language_is_fine(command: str) -> None:
    assert "hidden-characters" not in codes(of_command(command))


def test_a_contract_full_of_hidden_characters_is_reported_briefly() -> None:
    assert codes(of_command("test -f x" + "\u200b" * 1000)) == ["hidden-characters"] * 5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("produces", ("a\u200bb",)),
        ("protects", ("x", "src/\ufe0fa.py")),
        ("subscriptions", reads("src/\u2065a.py")),
        ("contract", contract("make", writes=("out\u180e/**",))),
        ("contract", contract("make", may_change=("\u3164x",))),
        (
            "contract",
            contract("make", expectations=says(ExpectationKind.STDOUT_CONTAINS, "o\u200bk")),
        ),
    ],
)
def test_a_file_or_an_expectation_with_a_character_that_nobody_sees_is_an_error(
    field: str, value: Any
) -> None:
    findings = check(step("1", "make", **{field: value}), world=World(files=frozenset({"x"})))
    assert "hidden-characters" in codes(findings, Severity.ERROR)


def test_a_plan_may_not_touch_files_whose_names_hide_a_character() -> None:
    found = check(step("1", "test -f x"), touches=("src/\u200b**",))
    assert codes(found) == ["hidden-characters"]


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
    listed = step("1", "test -f {item}", for_each="ls \u200bsrc")
    assert codes(check(listed)) == ["hidden-characters"]
    broken = step("1", "test -f {item}", for_each="ls 'src")
    assert codes(check(broken)) == ["contract-syntax"]
    assert codes(check(step("1", "test -f {item}", for_each="true"))) == []
    assert codes(check(step("1", "test -f {item}", for_each="ls; touch a.md"))) == [
        "contract-writes"
    ]


@pytest.mark.parametrize("command", ["test –f x", "grep “a” x", "grep ‘a’ x", "test −f x"])
def test_typographic_signs_are_a_warning(command: str) -> None:
    assert "typographic-characters" in codes(of_command(command), Severity.WARNING)


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
    lines = ("1. works", "   ```shell", "   test -f \u200bx", "   ```")
    post = Postcondition(1, "works", contract("test -f \u200bx", line=2), line=1)
    plan = Plan("p", (step("1", "make"),), (post,))
    found = verify(Parsed(plan, (), lines), World())
    assert [(f.line, f.step) for f in found] == [(3, "postcondition:1")]
    assert "column 12" in found[0].message


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


@pytest.mark.parametrize(
    ("of_step", "of_plan", "found"),
    [
        ("src/auth/**", "src/**", False),
        ("src/*.py", "src/*.py", False),
        ("src", "src/**", False),
        ("docs/**", "src/**", True),
        ("**", "src/**", True),
        ("src/a.py", "", False),
    ],
)
def test_a_step_that_reaches_beyond_the_plans_touches_is_told(
    of_step: str, of_plan: str, found: bool
) -> None:
    made = check(step("1", touches=(of_step,)), touches=(of_plan,) if of_plan else ())
    told = [f for f in made if f.code == "touches-outside-plan"]
    assert [f.severity for f in told] == ([Severity.WARNING] if found else [])
