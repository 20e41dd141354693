"""A task that speaks of the file which decides its own check is told that the file is protected."""

from __future__ import annotations

import pytest

from signoff.domain.findings import Finding, Severity

from .plans import World, check, codes, contract, step

CODE = "protected-by-check"
THERE = World(
    files=frozenset(
        (
            *("calc.py", "Makefile", "package.json", "tools/run.sh", "conftest.py", "src/app.py"),
            *("tests/t.sh", "tools/run-checks.sh", "gradlew", "node_modules/.bin/tsc"),
        )
    )
)


def _told(findings: tuple[Finding, ...], severity: Severity = Severity.WARNING) -> list[str]:
    found = [f for f in findings if f.code == CODE and f.severity is severity]
    return [f.message.split("`")[1] for f in found]


@pytest.mark.parametrize(
    ("command", "task", "file"),
    [
        ("python3 calc.py | grep -qx 5", "calc.py must print 5", "calc.py"),
        ("./tools/run.sh", "Repair run.sh.", "tools/run.sh"),
        ("bash tools/run.sh", "Repair `tools/run.sh`", "tools/run.sh"),
        ("make test", "Add a target to the Makefile", "Makefile"),
        ("npm run build", "Put a build script into package.json", "package.json"),
        ("python -m pytest -q", "Move the fixtures to conftest.py", "conftest.py"),
        ("uv run ruff check .", "Relax ruff.toml", "ruff.toml"),
        ("tox", "Add an environment to tox.toml", "tox.toml"),
        ("python3 src/app.py", "Let `app` print 5", "src/app.py"),
        ("python3 src/app.py", "Let `src.app` print 5", "src/app.py"),
        ("python3 src/app.py", "Rewrite `src/app`", "src/app.py"),
    ],
)
def test_a_task_about_what_decides_its_check_is_warned_and_told_the_way_out(
    command: str, task: str, file: str
) -> None:
    findings = check(step("1", command, task=task), world=THERE)
    (finding,) = [f for f in findings if f.code == CODE]
    assert finding.severity is Severity.WARNING
    assert finding.message == f"`{file}` decides this check, so it is protected from this step"
    assert finding.hint == f"if this step is to change it, say `**may_change:** {file}`"


@pytest.mark.parametrize(
    ("command", "task"),
    [
        ("python3 calc.py", "Make it print 5"),
        ("python3 calc.py", "Read my-calc.py and calc.pyc and lib/calc.pyx"),
        ("python3 calc.py", "Make the calc faster, and look at *.md and lib/*.py"),
        ("python3 calc.py", "2 * 3 must be 6. Is it?"),
        ("make test", "Fix the parser"),
        ("test -s calc.py", "Write calc.py"),
        ("python3 -m pytest -q", "Fix calc.py"),
    ],
)
def test_a_task_about_something_else_is_not_warned(command: str, task: str) -> None:
    assert _told(check(step("1", command, task=task), world=THERE)) == []


def test_who_says_it_may_change_or_is_protected_is_not_told_again() -> None:
    task = "calc.py must print 5"
    allowed = contract("python3 calc.py", may_change=("*.py",))
    steps = [
        step("1", None, contract=allowed, task=task),
        step("2", "python3 calc.py", task=task, produces=("calc.py",)),
        step("3", "python3 calc.py", task=task, protects=("calc.py",)),
    ]
    assert _told(check(*steps, world=THERE)) == []


def test_a_check_that_an_earlier_step_writes_is_protected_from_the_later_one() -> None:
    one = step("1", "test -s tool.py", task="Write tool.py")
    two = step("2", "python3 tool.py | grep -qx 5", task="tool.py prints 5", needs=("1",))
    assert _told(check(one, two)) == ["tool.py"]


def test_a_script_that_an_earlier_contract_merely_speaks_of_is_made_by_nobody() -> None:
    """Judging would not take it for that step's product either."""
    for named in ("! grep -q x check.sh", "ls tools", "grep -rq x tools"):
        steps = step("1", named), step("2", "bash tools/check.sh && ./check.sh", needs=("1",))
        assert "script-missing" in codes(check(*steps))


def test_a_step_that_may_write_its_own_check_misses_no_script() -> None:
    allowed = contract("./check.sh", may_change=("check.sh",))
    assert codes(check(step("1", None, contract=allowed))) == []
    (finding,) = check(step("1", "./check.sh"))
    assert "say `**may_change:** check.sh` if this step writes its own check" in finding.hint
    assert "this step can be kept only with `**may_change:** check.sh`" in finding.message


@pytest.mark.parametrize(
    "command",
    [
        "make -s && ./prog | grep -q hello",
        "cc -o prog prog.c; ./prog",
        "g++ a.cc -o prog && ./prog",
        "cargo build -q && target/debug/prog",
        "go build -o prog . && ./prog",
        "cmake -B build && cmake --build build && build/prog",
        "npm run build && node dist/main.js",
        "cd sub && make && ./prog",
        "cp template.sh run.sh && bash run.sh",
        "printf 'exit 3' > run.sh; sh run.sh",
    ],
)
def test_a_program_that_the_contract_itself_builds_is_not_missed(command: str) -> None:
    assert "script-missing" not in codes(check(step("1", command)))


@pytest.mark.parametrize(
    "command",
    [
        "./prog && make",
        "test -s prog.c && ./prog",
        "chmod +x run.sh && ./run.sh",
        "make && ./run.sh",
        "sh run.sh > run.sh",
    ],
)
def test_a_program_that_the_agent_would_have_to_write_is_missed(command: str) -> None:
    assert "script-missing" in codes(check(step("1", command)))
