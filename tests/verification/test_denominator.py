"""The counts of two runs: what breaks a contract that held otherwise."""

from __future__ import annotations

import json
import time

import pytest

from signoff.domain.plan import Contract, Expectation, ExpectationKind
from signoff.domain.verdict import MOST_NAMED, Phase, Result, TestCounts, TestOutcome, named
from signoff.gate.record import Record
from signoff.verification.denominator import (
    checks_of,
    count_files,
    count_tests,
    is_counted,
    judge_counts,
)
from tests.verification.courtroom import Courtroom

PASSED, FAILED, SKIPPED = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.SKIPPED
PYTEST = Contract("pytest")
MEANT = "; if that is meant, the step says `**may_shrink:** yes`"


def counted(tests: dict[str, TestOutcome], cut_short: str = "") -> TestCounts:
    told = list(tests.values())
    passed, failed, skipped = (told.count(outcome) for outcome in (PASSED, FAILED, SKIPPED))
    names = {"printed": tests}
    return TestCounts("pytest", passed, failed, skipped, cut_short=cut_short, names=names)


def said(then: TestCounts | None, now: TestCounts | None, contract: Contract = PYTEST) -> str:
    answer = judge_counts(contract, now, then)
    return "" if answer is None else answer.message.removesuffix(MEANT)


def watches_skips(baseline: TestCounts | None) -> bool:
    checks = checks_of(PYTEST, (), baseline, ())
    return checks is not None and checks.skip_marks


def test_a_named_test_that_is_gone_or_skipped_is_named() -> None:
    then = counted({"a": PASSED, "b": FAILED, "c": PASSED})
    one = "1 test that ran before the work began is"
    gone = counted({"a": PASSED, "b": PASSED, "d": PASSED})
    skipped = counted({"a": PASSED, "b": SKIPPED, "c": PASSED})
    assert said(then, gone) == (
        f"{one} missing now: `c` (new is `d`; a renamed test is missing too)"
    )
    assert said(then, skipped) == f"{one} skipped now: `b`"
    assert said(then, counted({"a": PASSED, "b": PASSED, "c": PASSED})) == ""


def test_a_runner_that_names_no_test_any_more_is_held_to_the_number() -> None:
    then = counted({"a": FAILED, "b": FAILED})
    assert said(then, TestCounts("pytest", skipped=2)).startswith("0 tests ran, 2 before")
    assert said(then, TestCounts("pytest", passed=1, skipped=1)).startswith("1 test ran, 2 before")
    assert said(then, TestCounts("pytest", passed=2)) == ""


def test_a_case_of_a_test_may_have_another_value() -> None:
    then = counted({"t.py::p[1-2]": PASSED, "t.py::p[3-4]": FAILED, "t.py::q": PASSED})
    now = {"t.py::p[1-2]": PASSED, "t.py::q": PASSED}
    assert said(then, counted({**now, "t.py::p[5-6]": PASSED})) == ""
    assert "missing now: `t.py::p[3-4]`" in said(then, counted({**now, "t.py::r[5-6]": PASSED}))
    assert "missing now: `t.py::p[3-4]`" in said(then, counted(now))


def test_a_contract_whose_first_check_was_red_is_held_to_no_number_of_tests() -> None:
    then = TestCounts("", endings=0, files=3, untold="add a report")
    assert said(then, TestCounts("pytest", 5, skipped=2, files=3)) == ""


def test_many_lost_tests_are_not_all_shown() -> None:
    then = counted({f"t{i}": PASSED for i in range(9)})
    message = said(then, counted({"t0": PASSED}))
    assert message.startswith("8 tests that ran before the work began are missing now: `t1`, `t2`")
    assert message.endswith("`t5` and 3 more")


def test_a_new_test_that_is_skipped_takes_nothing_away() -> None:
    then = counted({"a": FAILED})
    assert said(then, counted({"a": PASSED, "new": SKIPPED})) == ""


def test_a_baseline_that_was_cut_short_says_nothing_of_what_it_did_not_reach() -> None:
    then = TestCounts("pytest", 1, 1, cut_short="stopping after 1 failures")
    assert said(then, TestCounts("pytest", 5, skipped=3, deselected=2)) == ""
    assert said(then, TestCounts("pytest", 1, skipped=3)) == "1 test ran, 2 before the work began"


def test_what_a_cut_baseline_named_is_compared() -> None:
    then = counted({"b": FAILED}, cut_short="stopping after 1 failures")
    assert "`b`" in said(then, counted({"a": PASSED, "b": SKIPPED}))
    assert watches_skips(then)
    assert watches_skips(TestCounts("", endings=0, untold="add `-v`"))
    assert not watches_skips(counted({"b": FAILED}))
    assert not watches_skips(None)


def test_a_runner_that_a_red_baseline_did_not_reach_brings_its_own_skips() -> None:
    then = TestCounts("pytest", 1, 1)
    assert said(then, TestCounts("pytest + jest", 5, skipped=2, endings=2)) == ""
    assert (
        said(then, TestCounts("pytest", 5, skipped=2)) == "2 tests skipped, 0 before the work began"
    )


def test_the_first_tests_of_all_may_be_skipped() -> None:
    assert said(TestCounts("pytest"), TestCounts("pytest", 5, skipped=1)) == ""


def test_a_run_that_passed_has_no_reason_to_be_cut_short() -> None:
    now = TestCounts("pytest", 5, cut_short="_pytest.outcomes.Exit: enough")
    assert said(TestCounts("pytest", 1, 1), now) == (
        "the tests were cut short: _pytest.outcomes.Exit: enough"
    )


@pytest.mark.parametrize(
    ("command", "texts", "may_fail"),
    [
        ("cd a && pytest -q", (), False),
        ("set -o pipefail; pytest | tee log", (), False),
        ("make test", ("set -e\npytest\nruff check .",), False),
        ("npm test", ("mocha test",), False),
        ("pytest | tee log", (), True),
        ("pytest old || true; pytest new", (), True),
        ("make test || true", ("pytest",), True),
        ("make test", ("set -e\npytest old || true\npytest new",), True),
        ('"$RUN" tests', (), True),
    ],
)
def test_tests_that_failed_under_an_exit_code_of_0_are_told_unless_the_text_lets_them(
    command: str, texts: tuple[str, ...], may_fail: bool
) -> None:
    now = TestCounts("pytest", passed=1, failed=2)
    answer = judge_counts(Contract(command), now, None, texts)
    if may_fail:
        assert answer is None
    else:
        assert answer is not None and answer.message == (
            f"2 tests failed (pytest), and yet its exit code says that all is well{MEANT}"
        )
    meant = Contract(command, may_shrink=True)
    red = Contract(command, (Expectation(ExpectationKind.EXIT_CODE, 1),))
    assert judge_counts(meant, now, None, texts) is judge_counts(red, now, None, texts) is None


def test_errors_beside_a_test_are_no_tests() -> None:
    then = TestCounts("pytest", 3, failed=2, errors=2)
    assert said(then, TestCounts("pytest", 3)) == ""
    assert said(then, TestCounts("pytest", 2)) == "2 tests ran, 3 before the work began"


@pytest.mark.parametrize("now", [None, TestCounts("", endings=0, files=3)])
def test_no_count_although_tests_were_expected_is_said(now: TestCounts | None) -> None:
    message = said(TestCounts("pytest", 2), now)
    assert message.startswith("no count although tests were expected: no tests are reported any")
    assert "2 ran before the work began" in message
    assert "$SIGNOFF_REPORT_DIR" in message
    demanding = Contract("pytest", (Expectation(ExpectationKind.TESTS_AT_LEAST, 1),))
    answer = judge_counts(demanding, now, None)
    assert answer is not None
    assert answer.result is Result.UNKNOWN


def test_fewer_checked_files_are_fewer() -> None:
    then = TestCounts("", endings=0, files=3)
    assert said(then, TestCounts("", endings=0, files=2)) == (
        "2 files checked, 3 before the work began"
    )
    assert said(then, None).startswith("no count although tests were expected: no files are")


def test_nothing_is_compared_where_the_step_may_shrink() -> None:
    allowed = Contract("pytest", may_shrink=True)
    assert said(TestCounts("pytest", 2), None, allowed) == ""
    assert checks_of(Contract("mypy .", may_shrink=True), (), None, ()) is None


@pytest.mark.parametrize(
    ("command", "texts", "counted_"),
    [
        ("pytest -q", (), True),
        ("make test", ("make test", "pytest -q"), True),
        ("uv run mypy src", (), True),
        ("ruff format --check .", (), True),
        ("ruff check .", (), False),
        ("make test", ("make test", "cc -o app app.c"), False),
    ],
)
def test_what_is_run_as_a_run_begins(command: str, texts: tuple[str, ...], counted_: bool) -> None:
    assert is_counted(Contract(command), texts) is counted_


@pytest.mark.parametrize(
    ("command", "texts", "tool", "places"),
    [
        ("ruff check .", (), "ruff", {""}),
        ("python3 -m mypy src", (), "mypy", {"src"}),
        ("cd src && npx eslint sub", (), "eslint", {"", "src/sub"}),
        ("cargo clippy -- -D warnings", (), "cargo clippy", {""}),
        ("make lint", ("make lint", "golangci-lint run"), "golangci-lint", {""}),
        ("python3 tools/tidy.py src", (), "tidy", {""}),
        ("./tools/tidy.sh src", (), "tidy", {""}),
    ],
)
def test_what_could_be_silenced_and_where(
    command: str, texts: tuple[str, ...], tool: str, places: set[str]
) -> None:
    paths = {"src", "src/sub", "tools/tidy.py"}
    checks = checks_of(Contract(command), texts, None, paths)
    assert checks is not None
    assert checks.tools[tool] == places


def test_counts_are_stored_with_their_names_and_read_back() -> None:
    tests = {"t/a.py::C::one": PASSED, "t/a.py::C::two": FAILED, "plain": SKIPPED}
    counts = counted(tests, cut_short="why")
    stored = json.loads(json.dumps(counts.to_data()))
    assert stored["names"]["printed"]["passed"] == {"t/a.py::C::": ["one"]}
    back = TestCounts.from_data(stored)
    assert back == counts
    assert back is not None
    assert back.names == counts.names
    assert "names" not in counts.to_data(with_names=False)


def test_an_entry_of_an_earlier_version_still_reads() -> None:
    old = {"source": "pytest", "passed": 2, "failed": 1, "skipped": 0, "deselected": 0}
    assert TestCounts.from_data(old) == TestCounts("pytest", 2, 1)
    assert TestCounts("pytest", 2, 1).to_data() == old


def test_too_many_names_are_not_stored() -> None:
    many = counted({f"t{i}": PASSED for i in range(MOST_NAMED + 1)})
    assert "names" not in many.to_data()


def test_of_several_outcomes_of_one_test_the_worst_counts() -> None:
    assert named([("a", PASSED), ("a", SKIPPED)]) == {"a": SKIPPED}
    assert named([("a", FAILED), ("a", PASSED)]) == {"a": FAILED}


def test_names_are_kept_for_what_later_verdicts_are_held_to(court: Courtroom) -> None:
    court.write("show.py", "print('PASSED a.py::b')\nprint('1 passed in 0.1s')\n")
    before = court.judge("python3 show.py", Phase.BEFORE)
    after = court.judge("python3 show.py", Phase.ATTEMPT)
    assert before.counts is not None
    assert after.counts is not None
    assert before.counts["names"] == {"printed": {"passed": {"a.py::": ["b"]}}}
    assert "names" not in after.counts


def test_a_runner_behind_make_is_called_as_often_as_its_recipe_says() -> None:
    forged = b"1 passed in 0.1s\n9 passed in 0.1s\n"
    hidden = count_tests("make test", forged, b"", {})
    seen = count_tests("make test", forged, b"", {}, recipes=("make test", "pytest -q"))
    assert (hidden and hidden.passed, seen and seen.passed) == (10, 1)


def test_a_runner_that_no_recipe_shows_counts_beside_one_that_does() -> None:
    jest = b"Tests:       8 passed, 8 total\nSnapshots:   0 total\n"
    recipes = ("make test", "pytest -q\n./more")
    counts = count_tests("make test", b"2 passed in 0.1s\n", jest, {}, recipes=recipes)
    assert counts == TestCounts("pytest + jest (not seen in the contract)", 10)


@pytest.mark.parametrize("piece", [b"a::", b"a::b[", b"x::y PASSED [", b"test a ... ", b"  - (1"])
def test_lines_made_to_be_slow_are_read_quickly(piece: bytes) -> None:
    data = piece * 100_000 + b"\n" + (piece * 100 + b"\n") * 1_000 + b"1 passed in 0.1s\n"
    before = time.monotonic()
    assert count_tests("make test", data, b"", {}) is not None
    assert time.monotonic() - before < 20


@pytest.mark.parametrize(
    ("texts", "printed", "files"),
    [
        (("mypy .",), "Success: no issues found in 3 source files\n", 3),
        (("make lint", "uv run mypy src"), "Found 1 error in 1 file (checked 9 source files)\n", 9),
        (("mypy .",), "Found 1 error in 1 file (errors prevented further checking)\n", 0),
        (("black --check .",), "1 file reformatted, 2 files would be left unchanged.\n", 3),
        (("ruff format --check .",), "4 files already formatted\n", 4),
        (("rubocop",), "5 files inspected, no offenses detected\n", 5),
        (("npx biome check .",), "Checked 7 files in 3ms. No fixes applied.\n", 7),
        (("oxlint",), "Finished in 5ms on 12 files with 90 rules using 2 threads.\n", 12),
        (("black .",), "2 files processed\n", 0),
        (("bash check.sh",), "Success: no issues found in 3 source files\n", 0),
    ],
)  # fmt: skip
def test_files_that_a_checker_says_it_looked_at(
    texts: tuple[str, ...], printed: str, files: int
) -> None:
    assert count_files(texts, printed.encode(), b"") == files


def test_a_runner_that_was_reached_and_said_nothing_is_remarked_on(court: Courtroom) -> None:
    court.write("test_a.py", "def test_a(): pass\n")
    verdict = court.judge("python3 -m pytest -qq -p no:cacheprovider")
    assert verdict.kept
    assert verdict.message == (
        "exit code 0; tests are run here and none are counted: add `-q` at most once"
    )
    assert verdict.counts is not None
    assert verdict.counts["untold"] == "add `-q` at most once"


def test_a_runner_that_ends_before_its_summary_has_proved_nothing_unless_it_is_hushed(
    court: Courtroom,
) -> None:
    court.write("conftest.py", "import os\nos._exit(0)\n")
    pytest_here = "python3 -m pytest -q -p no:cacheprovider"
    verdict = court.judge(pytest_here)
    assert (verdict.result, verdict.message) == (
        Result.BROKEN,
        "`pytest` shows no summary of tests, and yet its exit code says that all is well: it ran"
        " none; let the runner show its summary, or write a report into `$SIGNOFF_REPORT_DIR`"
        f"{MEANT}",
    )
    for hushed in (f"{pytest_here} > /dev/null", f"{pytest_here} || true"):
        assert "none are counted" in court.judge(hushed).message


def test_what_could_not_count_gives_way_to_the_first_that_could() -> None:
    record = Record()
    untold, told = TestCounts("", endings=0, untold="add `-v`"), TestCounts("pytest", 2)
    for counts in (None, untold, told, TestCounts("pytest", 1)):
        record.hold_to(counts)
    assert record.baseline == told
