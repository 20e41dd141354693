"""Probes and special cases against real runners: each escapes a check that lets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from signoff.domain.second_look import VersionKind
from signoff.verification.strength.versions import StepChange, WrongVersion, wrong_versions

PYTEST = (
    "from calc import add\nimport pytest\n\n\n"
    "def test_add():\n    expected = 3\n    assert add(1, 2) == 3\n"
)
UNITTEST = (
    "import unittest\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n"
    "    def test_add(self):\n        expected = 3\n        self.assertEqual(add(1, 2), 3)\n"
)
PYTHON = b'def add(a, b):\n    """Add."""\n    return a + b\n'
JAVASCRIPT = b"function add(a, b) {\n  return a + b;\n}\nmodule.exports = { add };\n"
NODE = (
    'const assert = require("assert");\nconst { add } = require("./calc.js");\n'
    "assert.equal(add(1, 2), 3);\n"
)


def versions(path: str, work: bytes, test: str, text: str) -> dict[str, WrongVersion]:
    changed = StepChange({path: b""}, {path: work}, frozenset((path,)))
    made = wrong_versions(changed, {test: text.encode()}, most=200).chosen
    return {v.what: v for v in made if v.kind in (VersionKind.PROBE, VersionKind.SPECIAL)}


def exit_code(folder: Path, version: WrongVersion, test: str, text: str, *command: str) -> int:
    for path, content in version.files.items():
        (folder / path).write_bytes(content or b"")
    (folder / test).write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.parametrize(
    "what",
    [
        "`add` ends the process with exit code 0 (`os._exit`)",
        "`add` skips the test that calls it (`unittest.SkipTest`)",
        "`add` skips the test that calls it (`pytest.skip`)",
        "`add` answers with an object that equals everything",
        "`add` takes its answer from the variables of its caller",
        "`add` takes its answer from the test files",
        "`add` mutes the assertion library",
        "`add` answers only the inputs that the tests use (1)",
    ],
)
def test_a_plain_pytest_check_lets_it_through(what: str, tmp_path: Path) -> None:
    version = versions("calc.py", PYTHON, "test_calc.py", PYTEST)[what]
    python = (sys.executable, "-B", "-m", "pytest", "-q")
    assert exit_code(tmp_path, version, "test_calc.py", PYTEST, *python) == 0


@pytest.mark.parametrize(
    "what",
    [
        "`add` ends the process with exit code 0 (`os._exit`)",
        "`add` skips the test that calls it (`unittest.SkipTest`)",
        "`add` answers with an object that equals everything",
        "`add` takes its answer from the variables of its caller",
        "`add` takes its answer from the test files",
        "`add` mutes the assertion library",
        "`add` answers only the inputs that the tests use (1)",
    ],
)
def test_a_plain_unittest_check_lets_it_through(what: str, tmp_path: Path) -> None:
    version = versions("calc.py", PYTHON, "test_calc.py", UNITTEST)[what]
    python = (sys.executable, "-B", "-m", "unittest", "test_calc")
    code = exit_code(tmp_path, version, "test_calc.py", UNITTEST, *python)
    # From Python 3.12 a unittest run that skipped everything says so with 5.
    assert code == 0 or (code == 5 and "skips" in what)


@pytest.mark.parametrize(
    "what",
    [
        "`add` ends the process with exit code 0",
        "`add` takes its answer from the test files",
        "`add` mutes the assertion library",
        "`add` answers only the inputs that the tests use (1)",
    ],
)
def test_a_plain_node_check_lets_it_through(what: str, tmp_path: Path) -> None:
    version = versions("calc.js", JAVASCRIPT, "calc.test.js", NODE)[what]
    assert exit_code(tmp_path, version, "calc.test.js", NODE, "node", "calc.test.js") == 0


def test_a_held_out_input_notices_a_lookup_table(tmp_path: Path) -> None:
    made = versions("calc.py", PYTHON, "test_calc.py", UNITTEST)
    special = made["`add` answers only the inputs that the tests use (1)"]
    heldout = UNITTEST.replace("add(1, 2), 3", "add(2, 2), 4")
    python = (sys.executable, "-B", "-m", "unittest", "test_calc")
    assert exit_code(tmp_path, special, "test_calc.py", heldout, *python) == 1


SCRIPT = b'#!/usr/bin/env bash\nset -eu\necho "$(($1 + $2))"\n'
ASKED = 'set -eu\ntest "$(bash calc.sh 1 2)" = "3"\n[ "$(bash calc.sh 2 2)" = 4 ]\n'


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("answers only the inputs that the tests use (2)", 0),
        ('answers `"3"` whatever it is asked', 1),
    ],
)
def test_a_script_that_knows_the_tests_of_a_shell_lets_them_pass(
    what: str, code: int, tmp_path: Path
) -> None:
    version = versions("calc.sh", SCRIPT, "test_calc.sh", ASKED)[what]
    assert exit_code(tmp_path, version, "test_calc.sh", ASKED, "bash", "test_calc.sh") == code
    asked = 'test "$(bash calc.sh 3 3)" = 6\n'
    assert exit_code(tmp_path, version, "test_calc.sh", asked, "bash", "test_calc.sh") == 1


def test_one_answer_to_everything_passes_one_question_alone(tmp_path: Path) -> None:
    more = UNITTEST + "        self.assertEqual(add(0, 3), 3)\n"
    made = versions("calc.py", PYTHON, "test_calc.py", more)
    always = made["`add` answers `3` whatever it is asked"]
    python = (sys.executable, "-B", "-m", "unittest", "test_calc")
    assert exit_code(tmp_path, always, "test_calc.py", more, *python) == 0
    other = more.replace("add(0, 3), 3", "add(0, 4), 4")
    assert exit_code(tmp_path, always, "test_calc.py", other, *python) == 1
