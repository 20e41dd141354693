"""A contract that something other than the work keeps is named, and an ordinary one never is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from signoff.domain.plan import ExpectationKind, Step

from .plans import World, check, contract, says, step

WORLD = World(
    files=frozenset({"pay.py", "src/pay.js", "check.py", "check.mjs", "expected.txt", "bin/pay"}),
    texts={
        "pay.py": "def total(xs): return sum(xs)\n",
        "src/pay.js": "export const total = 1\n",
        "check.py": "from pay import total\nassert total([1]) == 1\n",
        "check.mjs": "import {total} from './src/pay.js'\nif (total !== 1) process.exit(1)\n",
        "runner.py": "import unittest\nimport pay\nclass T(unittest.TestCase): ...\n",
        "drive.py": "import subprocess\nassert subprocess.run(['bin/pay']).returncode == 0\n",
        "main.py": "import sys\nfrom pay import total\nsys.exit(total([]))\n",
        "show.py": "from pay import total\nprint(total([1]))\n",
        "run.mjs": "import test from 'node:test'\nimport {total} from './src/pay.js'\n",
    },
)

EXISTS = [
    "test -f report.md",
    "test -s report.md && echo fine",
    "[ -e a ] && [ -e b ]",
    "[[ -f a && -f b ]]",
    "ls dist/app.js",
    "cat report.md",
    "for f in a b; do test -s $f || exit 1; done",
    "bash -c 'test -f report.md'",
    'test -n "$(find out -name page.html)"',
    "test -f a || { echo missing; exit 1; }",
]
COUNTS = [
    'test "$(wc -l < notes.md)" -ge 3',
    "[ $(wc -w < notes.md) -gt 100 ]",
    "[ \"$(grep -c '^## ' report.md)\" -ge 3 ]",
    "cat notes.md | wc -l | grep -q 3 && test $(wc -l < notes.md) -eq 3",
    'n=$(wc -l < notes.md); [ "$n" -ge 3 ]',
    'test "$(ls out | wc -l)" = 4',
]
SEARCHES = [
    "grep -q total pay.py",
    "grep -q 'def total' pay.py && grep -q return pay.py",
    "cat pay.py | grep total",
    "rg -q total pay.py",
    "test -s pay.py && grep -Eq 'tot(al|um)' pay.py",
    '[ -n "$(grep total pay.py)" ]',
]
IMPORTS = [
    "python3 -c 'import pay; assert pay.total([1]) == 1'",
    "python3 -c 'from pay import total; raise SystemExit(total([1]) != 1)'",
    "grep -q sum pay.py && python3 -c 'import pay; assert pay.total([]) == 0'",
    "uv run python check.py",
    "python3 check.py",
    "timeout 5 python3 check.py",
    "bash -c 'python3 check.py'",
    "node check.mjs",
    "node -e \"import('./src/pay.js').then(m => { if (!m.total) process.exit(1) })\"",
]
GOOD = [
    "pytest -q",
    "python3 -m pytest tests",
    "python3 -m unittest -q tests.test_pay",
    "npm test",
    "npx vitest run",
    "go test -v ./...",
    "cargo test",
    "make test",
    "node --test",
    "bats tests",
    "ruff check . && mypy src",
    "npm run build && test -f dist/app.js",
    "python3 runner.py",
    "python3 drive.py",
    "node run.mjs",
    "python3 show.py | diff - expected.txt",
    'test "$(python3 show.py)" = 1',
    "python3 -c 'import pay; print(pay.total([1]))' | grep -qx 1",
    "python3 show.py > out.txt && cmp out.txt expected.txt",
    "diff <(bin/pay 1 2) expected.txt",
    "diff out.txt expected.txt",
    "diff out.txt - <<'END'\n3\nEND",
    'test "$(cat VERSION)" = 1.2.0',
    'v=$(cat VERSION); [ "$v" = 1.2.0 ]',
    "grep -qxF 'retries: 3' config.yaml",
    "grep -q '^version = 2$' config.toml",
    "! grep -rq old_name src",
    "if grep -rq old_name src; then exit 1; fi",
    "grep -q TODO pay.py && exit 1",
    "test ! -e old.txt",
    "bin/pay 1 2 | grep -q 3",
    "echo 1 2 | bin/pay | wc -l | grep -qx 1",
    "curl -fs localhost:1/health | grep -q ok",
    "git log -1 --format=%s | grep -q pay",
    "jq -e '.version == 2' package.json",
    "sha256sum -c sums.txt",
    "find src -name '*.py' -exec python3 -m py_compile {} +",
    "sort -c names.txt",
    "bash -n install.sh",
    "true",
]


def _weak(*steps: Step, world: World = WORLD) -> list[str]:
    return [f.message for f in check(*steps, world=world, weak=True) if f.code == "weak-contract"]


def _of(command: str, **options: Any) -> list[str]:
    task = "Write report.md, notes.md and pay.py; make out.txt."
    return _weak(step("1", contract=contract(command, **options), task=task))


@pytest.mark.parametrize(
    ("command", "says_so"),
    [
        *((command, "only asks if something is there") for command in EXISTS),
        *((command, "only counts") for command in COUNTS if "grep -q 3" not in command),
        *((command, "only searches for a word") for command in SEARCHES),
        *((command, "into its own process") for command in IMPORTS),
    ],
)
def test_a_contract_that_something_else_keeps_is_named_with_a_better_form(
    command: str, says_so: str
) -> None:
    (message,) = _of(command)
    assert says_so in message


@pytest.mark.parametrize("command", GOOD)
def test_an_ordinary_contract_is_not_called_weak(command: str) -> None:
    world = replace(WORLD, files=WORLD.files | {"sums.txt"})
    made = step("1", contract=contract(command), task="Write pay.py; make out.txt.")
    assert _weak(made, world=world) == []


def test_a_comparison_of_two_files_that_the_step_writes_is_named() -> None:
    (message,) = _of("diff out.txt wanted.txt")
    assert "compares with `wanted.txt`, which this step writes itself" in message
    (message,) = _of("sha256sum -c new-sums.txt")
    assert "`new-sums.txt`" in message
    (message,) = _of("diff <(bash tool.sh) wanted.txt")
    assert "`wanted.txt`" in message


def test_a_comparison_with_what_an_earlier_step_or_the_plan_keeps_is_good() -> None:
    earlier = step("1", "bash check.sh", produces=("wanted.txt",))
    assert _weak(earlier, step("2", "diff out.txt wanted.txt", needs=("1",))) == []
    assert _weak(step("1", "diff out.txt wanted.txt", protects=("wanted.txt",))) == []
    assert _weak(step("1", contract=contract("diff out.txt expected.txt"))) == []
    loose = contract("diff out.txt expected.txt", may_change=("expected.txt",))
    assert len(_weak(step("1", contract=loose))) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"expectations": says(ExpectationKind.STDOUT_EQUALS, "3")},
        {"expectations": says(ExpectationKind.TESTS_AT_LEAST, 3)},
        {"heldout": "pay"},
        {"code": 1},
    ],
)
def test_a_plan_that_asks_for_more_silences_it(options: dict[str, Any]) -> None:
    assert _of("cat notes.md", **options) == []


def test_a_rubric_and_a_postcondition_are_not_called_weak() -> None:
    assert _weak(step("1", "test -s design.md", rubric=("It names the trade-offs.",))) == []


def test_a_word_in_the_output_of_a_file_is_a_search() -> None:
    (message,) = _of("cat notes.md", expectations=says(ExpectationKind.STDOUT_CONTAINS, "fine"))
    assert "only searches for a word" in message


def test_a_program_whose_output_is_compared_is_run_as_a_product() -> None:
    printed = says(ExpectationKind.STDOUT_CONTAINS, "1")
    assert _of("python3 main.py", expectations=printed) == []
    assert _weak(step("1", "python3 main.py", task="Write main.py.")) == []


def test_a_check_of_what_the_step_must_not_change_is_not_called_weak() -> None:
    assert _weak(step("1", "python3 check.py", protects=("pay.py",))) == []
    assert _weak(step("1", "python3 check.py", touches=("docs/**",))) == []
    assert len(_weak(step("1", "python3 check.py", touches=("*.py",)))) == 1


def test_modules_that_are_no_files_of_the_workspace_are_no_product() -> None:
    assert _of("python3 -c 'import json, yaml; assert json.loads(\"1\") == 1'") == []
