"""What a step reads or runs must exist, or be made by a step that comes before it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from signoff.domain.findings import Severity
from signoff.domain.plan import Step, Subscription, SubscriptionKind
from signoff.planfile.verify.view import StepOrder

from .plans import World, check, codes, contract, reads, step


def chain(*steps: Step) -> list[Step]:
    """Each step needs the one before, as the parser fills it in."""
    first, *rest = steps
    linked = [first]
    for before, after in pairwise([first, *rest]):
        linked.append(replace(after, needs=after.needs or (before.id,)))
    return linked


def test_a_file_that_exists_or_is_declared_by_an_earlier_step_is_fine() -> None:
    one = step("1", "make", produces=("docs/plan.md",))
    two = step("2", "make", subscriptions=reads("docs/plan.md", "src/a.py"))
    assert codes(check(*chain(one, two), world=World(files=frozenset({"src/a.py"})))) == []


def test_a_file_that_an_earlier_contract_names_counts_as_made() -> None:
    one = step("1", "test -f docs/analysis.md")
    two = step("2", "make", subscriptions=reads("docs/analysis.md"))
    assert codes(check(*chain(one, two))) == []


def test_a_folder_that_an_earlier_contract_names_covers_its_files() -> None:
    one = step("1", "ruff check src/")
    two = step("2", "make", subscriptions=reads("src/config.py"))
    assert codes(check(*chain(one, two))) == []


def test_an_earlier_step_counts_through_others_in_between() -> None:
    steps = chain(
        step("1", "make", produces=("a/**",)),
        step("2", "make"),
        step("3", "make"),
        step("4", "make", subscriptions=reads("a/b.md")),
    )
    assert codes(check(*steps)) == []


@pytest.mark.parametrize(
    "maker",
    [step("2", "make", produces=("late.md",)), step("2", "test -s late.md")],
    ids=["declared", "inferred"],
)
def test_a_file_made_only_later_is_an_error(maker: Step) -> None:
    findings = check(*chain(step("1", "make", subscriptions=reads("late.md")), maker))
    assert codes(findings, Severity.ERROR) == ["subscription-missing"]
    assert "only step 2, which it does not wait for, makes it" in findings[0].message


def test_a_step_beside_is_no_step_before() -> None:
    one = step("1", "make", produces=("a.md",))
    two = step("2", "make", subscriptions=reads("a.md"))
    assert codes(check(one, two), Severity.ERROR) == ["subscription-missing"]


def test_declared_files_replace_what_the_contract_names() -> None:
    one = step("1", "test -f a.md", produces=("b.md",))
    two = step("2", "make", subscriptions=reads("a.md"))
    assert codes(check(*chain(one, two))) == ["subscription-missing"]


def test_a_file_that_nobody_makes_is_a_warning() -> None:
    findings = check(step("1", "make", subscriptions=reads("ghost.md")))
    assert [(f.code, f.severity) for f in findings] == [("subscription-missing", Severity.WARNING)]


def test_a_folder_named_by_a_later_contract_is_no_proof_of_order() -> None:
    one = step("1", "make", subscriptions=reads("src/new.py"))
    findings = check(*chain(one, step("2", "ruff check src/")))
    assert codes(findings) == ["subscription-missing"]


def test_a_step_that_reads_its_own_product_finds_nothing_there() -> None:
    one = step("1", "make", produces=("a.md",), subscriptions=reads("a.md"))
    assert codes(check(one)) == ["subscription-missing"]


def test_files_per_item_are_made_for_later_steps() -> None:
    one = step("1", "test -f out/{item}.md", for_each="ls src")
    two = step("2", "make", subscriptions=reads("out/a.md"))
    assert codes(check(*chain(one, two))) == []


def test_a_missing_topic_is_a_warning() -> None:
    topics = (Subscription(SubscriptionKind.TOPIC, "t"), Subscription(SubscriptionKind.TOPIC, "u"))
    findings = check(step("1", "make", subscriptions=topics), world=World(topics=frozenset({"t"})))
    assert codes(findings, Severity.WARNING) == ["subscription-missing"]
    assert "`u`" in findings[0].message


def test_steps_in_a_circle_are_an_error_that_names_the_circle() -> None:
    steps = (step("a", "make", needs=("c",)), step("b", "make", needs=("a",)))
    findings = check(*steps, step("c", "make", needs=("b",)), step("d", "make"))
    assert codes(findings, Severity.ERROR) == ["needs-cycle"]
    assert all(f" {s} " in f" {findings[0].message} " for s in "abc")
    assert " d" not in findings[0].message


def test_a_step_that_needs_itself_is_an_error() -> None:
    assert codes(check(step("1", "make", needs=("1",)))) == ["needs-cycle"]


def test_order_is_not_guessed_within_a_circle() -> None:
    steps = (
        step("1", "make", needs=("2",), subscriptions=reads("x.md")),
        step("2", "make", needs=("1",)),
        step("3", "make", produces=("x.md",)),
    )
    assert codes(check(*steps), Severity.ERROR) == ["needs-cycle"]


def test_unknown_and_repeated_ids_do_not_confuse_the_order() -> None:
    steps = (
        step("1", "make"),
        step("1", "make", needs=("nowhere",)),
        step("2", "make", needs=("1",)),
    )
    assert codes(check(*steps)) == []


@pytest.mark.parametrize(
    "command", ["./check.sh", "bash check.sh", "python check.py", "source check.sh", ". ./check.sh"]
)
def test_a_script_that_nobody_writes_first_is_a_warning(command: str) -> None:
    findings = check(step("1", command))
    assert "script-missing" in codes(findings, Severity.WARNING)


def test_a_script_that_exists_or_comes_from_an_earlier_step_is_fine() -> None:
    made = chain(step("1", "test -x check.sh"), step("2", "./check.sh"))
    assert codes(check(*made)) == []
    assert codes(check(step("1", "./check.sh"), world=World(files=frozenset({"check.sh"})))) == []
    assert codes(check(step("1", "./check.sh", produces=("check.sh",)))) == []


def test_a_script_that_only_a_later_step_writes_is_an_error() -> None:
    steps = chain(step("1", "./check.sh"), step("2", "make", produces=("check.sh",)))
    assert codes(check(*steps), Severity.ERROR) == ["script-missing"]


def test_a_missing_tool_is_one_warning_however_many_use_it() -> None:
    world = World(missing_tools=frozenset({"frobnicate"}))
    steps = [step(str(i), "frobnicate --check && test -f x") for i in range(8)]
    findings = check(*steps, world=world)
    assert codes(findings) == ["tool-missing"]
    assert findings[0].severity is Severity.WARNING
    assert "used by 0, 1, 2, 3, 4 and 3 more" in findings[0].message


@pytest.mark.parametrize(
    "command",
    [
        "! t a && b",
        "if t; then b; fi",
        "a | t",
        'test "$(t)" = 1',
        "(t)",
        "{ t; }",
        "env A=1 t",
        "timeout -s KILL 5 t",
        "find . | xargs -n 1 t",
        "bash -c 't x'",
        "sh -c 'a && t'",
        "command t",
        "nice -5 t",
        "time t",
        "exec t",
        "eval 't x'",
        "diff <(t) x",
        "f() { t; }; f",
        "a || t &",
        "while t; do b; done",
        "case $(t) in x) b;; esac",
        "X=$(t)",
        "cat <<EOF\n$(t)\nEOF",
        "env -u A -i -- t",
        "sudo -n t",
        "[[ $(t) == 1 ]]",
        "/usr/bin/t",
    ],
)
def test_tools_are_found_wherever_they_are_called(command: str) -> None:
    world = World(missing_tools=frozenset({"t", "/usr/bin/t"}))
    assert "tool-missing" in codes(check(step("1", command), world=world))


@pytest.mark.parametrize(
    "command",
    ["command -v t", "which t", "t() { test -f x; }; t", "echo t", "env A=t b", "bash t.sh"],
)
def test_a_name_that_is_not_called_is_no_tool(command: str) -> None:
    world = World(missing_tools=frozenset({"t"}), files=frozenset({"t.sh"}))
    assert "tool-missing" not in codes(check(step("1", command), world=world))


@pytest.mark.parametrize(
    "command",
    [
        "$TOOL x",
        '"$T" x',
        'eval "$X"',
        'bash -c "$X"',
        "bash",
        "source x",
        "env -S 'a b'",
        "xargs --weird t",
        "bash -c",
        "bash -c 'if'",
        'bash -c "bash -c \'bash -c \\"bash -c \\\\\\"bash -c t\\\\\\"\\"\'"',
        "time { a; b; }",
        "coproc a { b; }",
    ],
)
def test_what_cannot_be_seen_through_is_said_and_not_guessed(command: str) -> None:
    findings = check(step("1", command), world=World(files=frozenset({"x"})))
    assert "cannot-tell" in codes(findings, Severity.NOTE)
    assert not codes(findings, Severity.ERROR)


@given(st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=1, max_size=12))
def test_before_means_reachable_through_needs(needs: list[list[int]]) -> None:
    steps = tuple(
        step(str(i), "make", needs=tuple(str(n) for n in wanted if n != i))
        for i, wanted in enumerate(needs)
    )
    order = StepOrder(steps)
    reachable = [{n for n in wanted if n < len(needs) and n != i} for i, wanted in enumerate(needs)]
    for _ in needs:
        reachable = [r.union(*(reachable[n] for n in r)) for r in reachable]
    assert bool(order.cycle) == any(i in r for i, r in enumerate(reachable))
    for later, before in enumerate(reachable):
        assert [order.comes_before(e, later) for e in range(len(needs))] == [
            e in before for e in range(len(needs))
        ]


def test_a_postcondition_may_run_what_any_step_made() -> None:
    from signoff.domain.plan import Postcondition

    post = (Postcondition(1, "all good", contract("./check.sh")),)
    made = step("1", "make", produces=("check.sh",))
    assert codes(check(made, postconditions=post)) == []
    assert codes(check(step("1", "make"), postconditions=post)) == ["script-missing"]


@pytest.mark.parametrize("launcher", ["", "uv run ", "env A=1 uv run --frozen "])
def test_uv_run_hides_no_missing_tool(launcher: str) -> None:
    world = World(missing_tools=frozenset({"nosuchtool"}))
    (missing,) = check(step("1", f"{launcher}nosuchtool x"), world=world)
    assert missing.code == "tool-missing" and "`nosuchtool` is not installed" in missing.message


@pytest.mark.parametrize("launcher", ["", "uv run ", "poetry run ", "timeout 5 pdm run "])
def test_a_launcher_hides_no_missing_script(launcher: str) -> None:
    world = World()
    (script,) = check(step("1", f"{launcher}python scripts/nope.py"), world=world)
    assert script.code == "script-missing" and "`scripts/nope.py`" in script.message


def test_a_tool_that_the_projects_environment_has_or_brings_is_not_missing() -> None:
    world = World(
        files=frozenset({".venv/bin/mine"}), missing_tools=frozenset({"mine", "pytest", "jest"})
    )
    for command in ("uv run mine x", "uv run pytest", "npx jest", "uv run --with jest jest"):
        assert "tool-missing" not in codes(check(step("1", command), world=world))
