"""Products that print or write results of their own: they gain nothing by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from signoff.domain.verdict import TestCounts
from signoff.verification.counting.reports import read_reports
from signoff.verification.denominator import count_tests

FORGED = "100 passed in 0.10s"
EXACT = b"1 passed in 0.01s\n"
BIG = b"<testsuite>" + b"<testcase/>" * 100 + b"</testsuite>"

CHEATS = {
    "prints in a test": f"import sys; sys.__stdout__.write('{FORGED}\\n'); sys.__stdout__.flush()",
    "prints on every open file": f"""import os
for fd in range(1, 12):
    try: os.write(fd, b'\\n{FORGED}\\n')
    except OSError: pass""",
    "prints at exit": f"import atexit; atexit.register(print, '{FORGED}')",
    "prints pytest's frame at exit": f"import atexit; atexit.register(print, '=== {FORGED} ===')",
    "prints while being collected as garbage": f"""class Last:
    def __del__(self): print('{FORGED}')
import builtins; builtins.last = Last()""",
    "opens an escape that never closes": f"""import os
for fd in range(1, 12):
    try: os.write(fd, b'\\n{FORGED}\\n\\x1b]0;')
    except OSError: pass""",
    "leaves a report of its own": """import os, pathlib
where = pathlib.Path(os.environ['SIGNOFF_REPORT_DIR'], 'own.xml')
where.write_text('<testsuite>' + '<testcase/>' * 100 + '</testsuite>')""",
    "overwrites the report at exit": """import atexit, os, pathlib
where = pathlib.Path(os.environ['SIGNOFF_REPORT_DIR'], 'junit.xml')
atexit.register(where.write_text, '<testsuite>' + '<testcase/>' * 100 + '</testsuite>')""",
    "breaks the report at exit": """import atexit, os, pathlib
where = pathlib.Path(os.environ['SIGNOFF_REPORT_DIR'], 'junit.xml')
atexit.register(where.write_text, '<')""",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_product_cannot_add_to_the_count_of_a_real_pytest(tmp_path: Path, cheat: str) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    body = "\n".join(f"    {line}" for line in CHEATS[cheat].split("\n"))
    (tmp_path / "test_shop.py").write_text(f"def test_one():\n{body}\n")
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={reports}/junit.xml"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_shop.py"],
        cwd=tmp_path,
        env={"SIGNOFF_REPORT_DIR": str(reports), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    # By what was printed alone, and with the reports that were left.
    for left in ({}, read_reports(reports)):
        counts = count_tests("pytest -q", ran.stdout, ran.stderr, left)
        assert counts is not None
        assert (counts.passed, counts.failed) == (1, 0), (counts, ran.stdout)


@pytest.mark.parametrize(
    "printed",
    [
        b"100 passed in 0.10s\n" + EXACT,
        EXACT + b"100 passed in 0.10s\n",
        b"100 passed in 0.10s\n" * 3 + EXACT + b"===== 100 passed in 0.10s =====\n",
    ],
)
def test_more_endings_than_calls_count_as_the_smallest(printed: bytes) -> None:
    for command in ("pytest", "make build && pytest", "source .venv/bin/activate && pytest"):
        counts = count_tests(command, printed, b"", {})
        assert counts is not None
        assert counts.passed == 1
        assert "least of" in counts.source


def test_an_ending_on_the_stream_the_runner_does_not_use_counts_for_nothing() -> None:
    assert count_tests("pytest", EXACT, b"100 passed in 0.10s\n", {}) == TestCounts("pytest", 1)
    forged = b"-" * 70 + b"\nRan 100 tests in 0.1s\n\nOK\n"
    real = forged.replace(b"100", b"3")
    counts = count_tests("python -m unittest", forged, real, {})
    assert counts == TestCounts("unittest", 3)


def test_a_cargo_result_that_was_not_announced_counts_for_nothing() -> None:
    forged = "test result: ok. 100 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
    real = forged.replace("100", "2")
    inside = f"running 2 tests\n{forged}{real}{forged}"
    assert count_tests("cargo test", inside.encode(), b"", {}) == TestCounts("cargo", 2)
    counts = count_tests("cargo test", f"running 2 tests\n{real}{forged}".encode(), b"", {})
    assert counts == TestCounts("cargo", 2)


def test_a_go_test_that_was_never_started_counts_for_nothing() -> None:
    text = b"=== RUN   TestA\n--- PASS: TestFake (0.00s)\n--- PASS: TestA (0.00s)\n"
    assert count_tests("go test -v .", text, b"", {}) == TestCounts("go", 1)


def test_a_tap_point_beyond_the_plan_is_a_failure() -> None:
    text = b"1..1\nok 1 - real\nok 2 - forged\nok 3 - forged\n"
    assert count_tests("bats t", text, b"", {}) == TestCounts("TAP", 1, 2)


def test_tests_that_may_fail_are_not_tests_that_passed() -> None:
    """Marking everything `xfail` keeps a suite green whatever the product does."""
    counts = count_tests("pytest", b"2 xfailed, 3 xpassed in 0.1s\n", b"", {})
    assert counts == TestCounts("pytest", skipped=5)


def test_a_report_alone_cannot_raise_what_the_runner_printed() -> None:
    counts = count_tests("pytest", EXACT, b"", {"own.xml": BIG})
    assert counts is not None
    assert counts.passed == 1


def test_a_broken_report_does_not_open_the_way_for_text_printed_at_exit() -> None:
    counts = count_tests("pytest", EXACT + b"100 passed in 0.10s\n", b"", {"junit.xml": BIG[:-3]})
    assert counts is not None
    assert counts.passed == 1


def test_a_gap_printed_by_the_product_gives_no_larger_count() -> None:
    printed = b"1 passed in 0.01s\n[... 9 bytes not kept ...]\n100 passed in 0.10s\n"
    counts = count_tests("pytest", printed, b"", {})
    assert counts is not None
    assert counts.passed == 1
