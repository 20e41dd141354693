"""Tests are known by their names: as real runners print them, and as reports list them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.domain.verdict import TestCounts, TestOutcome
from signoff.verification.counting.reports import read_reports
from signoff.verification.denominator import count_tests

PASSED, FAILED, SKIPPED = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.SKIPPED
PYTEST = f"{sys.executable} -m pytest -p no:cacheprovider"
SUITE = """import pytest
def test_one(): pass
def test_two(): assert 0
@pytest.mark.parametrize("text", ["a - b", "c d", object()])
def test_text(text): pass
@pytest.mark.skip(reason="old - [1]")
def test_old(): pass
@pytest.mark.xfail
def test_known(): assert 0
class TestIn:
    def test_side(self): pass
"""
NAMED = {
    "test_shop.py::test_one": PASSED,
    "test_shop.py::test_two": FAILED,
    "test_shop.py::test_text[a - b]": PASSED,
    "test_shop.py::test_text[c d]": PASSED,
    "test_shop.py::test_text[text2]": PASSED,
    "test_shop.py::TestIn::test_side": PASSED,
}
UNITTEST = """import unittest
class T(unittest.TestCase):
    def test_doc(self):
        "Says what it does."
    def test_fails(self): self.fail("no")
    @unittest.skip("old")
    def test_old(self): pass
    @unittest.expectedFailure
    def test_known(self): self.fail()
class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError
    def test_never(self): pass
"""
NODE = """const test = require('node:test'); const assert = require('node:assert');
test('adds', () => {}); test('fails', () => assert.equal(1, 2));
test('later', { skip: true }, () => {}); test('todo', { todo: true }, () => {});
test.describe('group', () => { test.it('inner', () => {}); test.it.skip('not yet', () => {}); });
"""
RUST = """pub fn add(a: i32) -> i32 { a }
#[test] fn adds() {}
#[test] fn fails() { assert_eq!(add(1), 2) }
#[test] #[ignore] fn later() {}
"""


def ran(folder: Path, command: str, reports: Path | None = None) -> TestCounts:
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, timeout=120, check=False
    )
    left = {} if reports is None else read_reports(reports)
    counts = count_tests(command, done.stdout, done.stderr, left, ended_well=done.returncode == 0)
    assert counts is not None, (done.stdout, done.stderr)
    return counts


def names(counts: TestCounts, where: str = "printed") -> dict[str, TestOutcome]:
    return dict(counts.names[where])


@pytest.mark.parametrize("options", ["-v", "-v -q --verbosity=1", "-rA", "-q -rapfE"])
def test_pytest_names_every_test_that_ran(tmp_path: Path, options: str) -> None:
    (tmp_path / "test_shop.py").write_text(SUITE)
    counts = ran(tmp_path, f"{PYTEST} {options}")
    told = {test: outcome for test, outcome in names(counts).items() if outcome.ran}
    assert told == NAMED
    assert counts.names_all("printed")
    assert not counts.cut_short


def test_pytest_names_what_failed_even_where_it_says_little(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(SUITE)
    counts = ran(tmp_path, f"{PYTEST} -q -x")
    assert names(counts) == {"test_shop.py::test_two": FAILED}
    assert not counts.names_all("printed")
    assert counts.cut_short == "stopping after 1 failures"


def test_pytests_report_names_every_test(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(SUITE)
    reports = tmp_path / "reports"
    reports.mkdir()
    counts = ran(tmp_path, f"{PYTEST} -q --junitxml={reports}/junit.xml", reports)
    assert names(counts, "reported")["test_shop.TestIn::test_side"] is PASSED
    assert names(counts, "reported")["test_shop::test_old"] is SKIPPED
    assert counts.names_all("reported")
    assert names(counts) == {"test_shop.py::test_two": FAILED}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import nowhere\n", "Interrupted: 1 error during collection"),
        (
            "import pytest\ndef test_it(): pytest.exit('enough', 0)\n",
            "_pytest.outcomes.Exit: enough",
        ),
        ("def test_it(): raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    ],
)
def test_pytest_says_that_it_was_cut_short(tmp_path: Path, source: str, why: str) -> None:
    (tmp_path / "test_cut.py").write_text(source)
    (tmp_path / "test_all.py").write_text("def test_one(): pass\n")
    assert ran(tmp_path, f"{PYTEST} -q").cut_short == why


def test_unittest_names_its_tests(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(UNITTEST)
    told = {
        "test_doc (test_shop.T.test_doc)": PASSED,
        "test_fails (test_shop.T.test_fails)": FAILED,
        "test_old (test_shop.T.test_old)": SKIPPED,
        "test_known (test_shop.T.test_known)": SKIPPED,
    }
    assert names(ran(tmp_path, f"{sys.executable} -m unittest -v")) == told
    counts = ran(tmp_path, f"{sys.executable} -m unittest -f")
    assert names(counts) in ({"test_fails (test_shop.T.test_fails)": FAILED}, {})
    assert counts.cut_short == "it stops at a failure"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("reporter", ["tap", "spec"])
def test_node_names_its_tests_with_their_group(tmp_path: Path, reporter: str) -> None:
    (tmp_path / "a.test.js").write_text(NODE)
    counts = ran(tmp_path, f"node --test --test-reporter={reporter}")
    told = names(counts)
    assert (told["adds"], told["fails"], told["later"]) == (PASSED, FAILED, SKIPPED)
    assert (told["group › inner"], told["group › not yet"]) == (PASSED, SKIPPED)
    assert (counts.passed, counts.failed, counts.skipped) == (2, 1, 3)
    assert counts.names_all("printed") or "group" in told


def cargo_works() -> bool:
    """A launcher of toolchains may be there without any toolchain."""
    return (
        shutil.which("cargo") is not None
        and subprocess.run(["cargo", "--version"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not cargo_works(), reason="needs cargo")
@pytest.mark.parametrize("options", ["", "--no-fail-fast"])
def test_cargo_names_its_tests_and_stops_after_the_first_binary(
    tmp_path: Path, options: str
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text(RUST)
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "a"\nversion = "0.1.0"\n')
    counts = ran(tmp_path, f"cargo test --offline {options}")
    assert names(counts) == {"adds": PASSED, "fails": FAILED, "later": SKIPPED}
    assert counts.names_all("printed")
    assert counts.cut_short


MOCHA = "\n  shop\n    ✔ adds\nnoise of a test\n    - later\n    1) fails\n\n  1 passing (9ms)\n"
JEST = """FAIL ./a.test.js
  shop
    ✓ adds (2 ms)
    ✕ fails
    ○ skipped later

  ● shop › fails

    expect(received).toBe(expected)

PASS ./b.test.js
  ✓ alone

Tests:       1 failed, 1 skipped, 2 passed, 4 total
Snapshots:   0 total
"""
VITEST = """ ✓ a.test.ts > shop > adds 3ms
 × a.test.ts > shop > fails 8ms
 ↓ a.test.ts > shop > later
 FAIL  a.test.ts > shop > fails
 Test Files  1 failed (1)
      Tests  1 failed | 1 passed | 1 skipped (3)
"""
GO = "=== RUN   TestA\n--- PASS: TestA (0.00s)\nok  \texample.com/shop\t0.1s\n"
NEXTEST = "        PASS [   0.01s] shop::it adds\n     Summary [   0.1s] 1 test run: 1 passed\n"


@pytest.mark.parametrize(
    ("command", "text", "told"),
    [
        (
            "npx mocha",
            MOCHA + "  1 pending\n  1 failing\n\n  1) shop\n       fails:\n",
            {"shop › adds": PASSED, "shop › later": SKIPPED, "shop › fails": FAILED},
        ),
        (
            "npx jest --verbose",
            JEST,
            {
                "shop › adds": PASSED,
                "shop › fails": FAILED,
                "shop › later": SKIPPED,
                "alone": PASSED,
            },
        ),
        (
            "npx vitest run",
            VITEST,
            {
                "a.test.ts > shop > adds": PASSED,
                "a.test.ts > shop > fails": FAILED,
                "a.test.ts > shop > later": SKIPPED,
            },
        ),
        ("go test -v ./...", GO, {"example.com/shop.TestA": PASSED}),
        ("cargo nextest run", NEXTEST, {"shop::it adds": PASSED}),
        ("bats t", "1..2\nok 1 - a\nok 2 - a # skip b\n", {"a": PASSED, "a (2)": SKIPPED}),
        ("pytest -n 2 -v", "[gw1] [ 50%] PASSED a.py::b\n1 passed in 0.1s\n", {"a.py::b": PASSED}),
    ],
)
def test_what_other_runners_name(command: str, text: str, told: dict[str, TestOutcome]) -> None:
    counts = count_tests(command, text.encode(), b"", {})
    assert counts is not None
    assert names(counts) == told
    assert counts.names_all("printed")


@pytest.mark.parametrize(
    "line",
    ["Internal error", "test/a.js exited with a non-zero exit code: 1", "No tests found in a.js"],
)
def test_what_ava_says_of_a_file_is_no_test_and_leaves_tests_unknown(line: str) -> None:
    text = (
        f"\n  ✘ [fail]: adding\n  ✔ nothing\n  ✘ {line}\n  ─\n\n  1 test passed\n  1 test failed\n"
    )
    counts = count_tests("npx ava", text.encode(), b"", {})
    assert counts is not None
    assert names(counts) == {"adding": FAILED, "nothing": PASSED}
    assert line in counts.cut_short


@pytest.mark.parametrize(
    "report",
    [
        '{"numTotalTests": 2, "numPassedTests": 1, "numFailedTests": 1, "testResults": [{'
        '"assertionResults": [{"fullName": "a", "status": "passed"},'
        ' {"fullName": "b", "status": "failed"}]}]}',
        '{"summary": {"total": 2, "passed": 1, "failed": 1}, "tests": ['
        '{"nodeid": "a", "outcome": "passed"}, {"nodeid": "b", "outcome": "failed"}]}',
        '{"stats": {"passes": 1, "failures": 1}, "tests": [{"fullTitle": "a"}],'
        ' "passes": [{"fullTitle": "a"}], "failures": [{"fullTitle": "b"}]}',
    ],
)
def test_json_reports_list_their_tests(report: str) -> None:
    counts = count_tests("pytest", b"", b"", {"a.json": report.encode()})
    assert counts is not None
    assert names(counts, "reported") == {"a": PASSED, "b": FAILED}


def test_a_forged_name_too_many_makes_all_of_them_doubtful() -> None:
    text = b"PASSED a.py::real\nPASSED a.py::deleted\n1 passed in 0.1s\n"
    counts = count_tests("pytest -rA", text, b"", {})
    assert counts is not None
    assert not counts.names_all("printed")


def test_addresses_in_names_are_not_compared() -> None:
    text = b"PASSED a.py::b[<x at 0x7f12ab34cd56>]\n1 passed in 0.1s\n"
    counts = count_tests("pytest -rA", text, b"", {})
    assert counts is not None
    assert names(counts) == {"a.py::b[<x at 0x…>]": PASSED}


def test_a_chain_of_runners_that_broke_off_was_cut_short() -> None:
    chain = "python3 -m pytest a && python3 -m pytest b"
    text = b"1 failed in 0.1s\n"
    short = count_tests(chain, text, b"", {}, ended_well=False)
    assert short is not None
    assert short.cut_short == "not every runner was reached"
    assert count_tests(chain, text * 2, b"", {}, ended_well=False) == TestCounts("pytest", failed=2)
