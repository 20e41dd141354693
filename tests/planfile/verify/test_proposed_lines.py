"""Lines that let a step change what its check may rest on are proposed before anybody works."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from signoff.domain.findings import Severity

from .plans import World, check, contract, reads, step

CODE = "propose-may-change"
THERE = World(
    files=frozenset(
        (
            *("config/.limits.ini", "config/app.ini", "package.json", ".env", "src/app.py"),
            *("Dockerfile", "data/users.csv", "tests/test_app.py", "tests/conftest.py"),
            *("expected.txt", "README.md", "jest.config.js", "Makefile"),
        )
    )
)
PYTEST = "python -m pytest -q"


def _hints(task: str, command: str = PYTEST, *, world: World = THERE, **fields: Any) -> list[str]:
    options = {n: fields.pop(n) for n in ("may_change", "may_extend") if n in fields}
    made = step("1", task=task, contract=contract(command, **options), **fields)
    found = [f for f in check(made, world=world) if f.code == CODE]
    assert all(f.severity is Severity.NOTE for f in found)
    return [f.hint.removeprefix("if this step is to change it: ").strip("`") for f in found]


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ("Add the dependency to `package.json`", "**may_change:** package.json"),
        ("Set PORT in .env, please", "**may_change:** .env"),
        ("Let the `Dockerfile` use alpine", "**may_change:** Dockerfile"),
        (
            "Change ./jest.config.js and data/users.csv",
            "**may_change:** jest.config.js, data/users.csv",
        ),
        ("Raise the limit in config/app.ini", "**may_change:** config/app.ini"),
        ("Change jest.config.js and .env", "**may_change:** jest.config.js, .env"),
        ("Add a case to tests/test_app.py", "**may_extend:** tests/test_app.py"),
        ("Move the fixture out of tests/conftest.py", "**may_change:** tests/conftest.py"),
    ],
)
def test_named_settings_and_tests_are_proposed_with_their_exact_line(task: str, line: str) -> None:
    assert _hints(task) == [line]


@pytest.mark.parametrize(
    "task",
    [
        "Change src/app.py",
        "Set PORT in .env.test, which is new",
        "Do not change .env",
        "Write about it in README.md",
        "Make it faster, e.g. by 2.0 or so.",
    ],
)
def test_work_and_what_must_stay_are_not_proposed(task: str) -> None:
    assert _hints(task) == []


def test_a_subscribed_file_is_proposed_unless_the_task_forbids_to_change_it() -> None:
    subscribed = reads("package.json")
    assert _hints("Do it", subscriptions=subscribed) == ["**may_change:** package.json"]
    assert _hints("Do not touch package.json", subscriptions=subscribed) == []


@pytest.mark.parametrize(
    "allowed",
    [
        {"may_change": ("config/**",)},
        {"produces": ("config/.limits.ini",)},
        {"protects": ("config/.limits.ini",)},
        {"may_extend": ("config/**",)},
        {"target": "human"},
    ],
)
def test_what_the_plan_says_already_is_not_proposed_again(allowed: dict[str, Any]) -> None:
    assert _hints("Raise the limit in config/.limits.ini.", **allowed) == []


@pytest.mark.parametrize(
    ("command", "named", "lines"),
    [
        ("python3 check.py", "calc.py", ["**may_change:** calc.py"]),
        ("python3 tools/check.py", "tools/grade.py", ["**may_change:** tools/grade.py"]),
        ("python3 tools/check.py", "calc.py", []),
        ("bash check.sh", "calc.py", []),
        (PYTEST, "calc.py", []),
    ],
)
def test_code_beside_the_checks_own_script_is_proposed(
    command: str, named: str, lines: list[str]
) -> None:
    there = frozenset(("check.py", "check.sh", "tools/check.py", named))
    assert _hints(f"Correct {named}", command, world=World(files=there)) == lines


def test_a_glob_of_products_allows_nothing_that_steers() -> None:
    assert _hints("Raise config/.limits.ini.", produces=("config/**",)) != []


def test_the_proposed_line_keeps_what_the_step_has_already() -> None:
    hints = _hints("Change config/.limits.ini", may_change=("package.json",))
    assert hints == ["**may_change:** package.json, config/.limits.ini"]


def test_what_a_contract_looks_into_itself_needs_no_line() -> None:
    assert _hints("Raise config/.limits.ini", "grep -q 'max = 5' config/.limits.ini") == []


def test_plain_tools_obey_nothing_but_what_they_compare_with() -> None:
    assert _hints("Change config/.limits.ini", "diff expected.txt out.txt") == []
    hints = _hints("Change expected.txt", "diff expected.txt out.txt")
    assert hints == ["**may_change:** expected.txt"]


def test_what_decides_the_check_is_told_once() -> None:
    assert _hints("Add a target to the `Makefile`", "make test") == []


DATA = frozenset((*(f"tests/data/{n}.json" for n in range(4)), "etc/rules.yml", "src/app.py"))
READ = replace(THERE, read_by_checks={"1": DATA | {"conf/deep/.limits.ini", "tests/test_app.py"}})


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ("Raise the limit in .limits.ini", "**may_change:** conf/deep/.limits.ini"),
        ("Bring tests/data/ up to date", "**may_change:** tests/data/**"),
        ("Correct what is in etc/.", "**may_change:** etc/rules.yml"),
        ("Add a case to test_app.py", "**may_extend:** tests/test_app.py"),
    ],
)
def test_what_the_check_read_before_tells_which_files_are_meant(task: str, line: str) -> None:
    assert _hints(task) == []
    assert _hints(task, world=READ) == [line]


@pytest.mark.parametrize(
    "task",
    [
        "Do not change anything in tests/data/",
        "Change src/ so that it is faster",
        "Make it faster",
    ],
)
def test_what_the_check_read_and_the_step_does_not_change_is_not_proposed(task: str) -> None:
    assert _hints(task, world=READ) == []


def test_what_a_line_allows_or_a_plain_tool_looks_at_is_not_proposed() -> None:
    task = "Bring tests/data/ up to date"
    assert _hints(task, world=READ, may_change=("tests/data/**",)) == []
    assert _hints(task, "grep -rq new tests/data", world=READ) == []


def test_a_folder_that_is_subscribed_is_asked_about() -> None:
    assert _hints("Do it", world=READ, subscriptions=reads("etc")) == [
        "**may_change:** etc/rules.yml"
    ]


def _touches(task: str, **fields: Any) -> list[str]:
    made = step("1", task=task, contract=contract("grep -q x src/app.py"), **fields)
    found = [f for f in check(made, world=THERE) if f.code == "propose-touches"]
    assert all(f.severity is Severity.NOTE for f in found)
    return [f.hint.removeprefix("if this step is to change it: ").strip("`") for f in found]


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ("Correct `src/app.py` and data/users.csv", "**touches:** lib/**, data/users.csv"),
        ("Raise the limit in package.json", "**touches:** lib/**, package.json"),
        ("Write docs/new.md", "**touches:** lib/**, docs/new.md"),
    ],
)
def test_files_outside_the_bound_of_a_step_are_proposed_before_anybody_works(
    task: str, line: str
) -> None:
    assert _touches(task, touches=("lib/**",)) == [line]


def test_subscribed_files_outside_the_bound_are_proposed_too() -> None:
    read = reads("data/users.csv")
    assert _touches("Do it", touches=("lib/**",), subscriptions=read) == [
        "**touches:** lib/**, data/users.csv"
    ]


@pytest.mark.parametrize(
    ("task", "fields"),
    [
        ("Change data/users.csv", {}),
        ("Change data/users.csv", {"touches": ("data/**",)}),
        ("Change data/users.csv", {"touches": ("lib/**",), "produces": ("data/users.csv",)}),
        ("Change data/users.csv", {"touches": ("lib/**",), "protects": ("data/**",)}),
        ("Do not change data/users.csv", {"touches": ("lib/**",)}),
        ("Use Python 3.11 and `make`", {"touches": ("lib/**",)}),
    ],
)
def test_nothing_is_proposed_inside_the_bound_or_without_one(
    task: str, fields: dict[str, Any]
) -> None:
    assert _touches(task, **fields) == []
