"""Endings that runners print, in every documented shape, and what is no ending."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.verdict import TestCounts
from signoff.verification.counting.printed import RUNNERS
from signoff.verification.denominator import count_tests

GAP = b"\n[... 4711 bytes not kept ...]\n"
RULE = "-" * 70
VITEST = " Test Files  1 passed (1)\n"


def count(command: str, stdout: str = "", stderr: str = "") -> TestCounts | None:
    return count_tests(command, stdout.encode(), stderr.encode(), {})


def numbers(counts: TestCounts | None) -> tuple[int, int, int, int] | None:
    if counts is None:
        return None
    return counts.passed, counts.failed, counts.skipped, counts.deselected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("4 passed in 0.12s", (4, 0, 0, 0)),
        ("4 passed, 1 skipped, 2 deselected in 0.1s", (4, 0, 1, 2)),
        ("= 1 failed, 5 passed, 1 xfailed, 1 xpassed, 1 warning, 2 errors in 1.1s =", (5, 3, 2, 0)),
        ("======= 4 passed in 61.02s (0:01:01) =======", (4, 0, 0, 0)),
        ("=== 4 passed in 90061.02s (1 day, 1:01:01) ===", (4, 0, 0, 0)),
        ("1 passed, 3 subtests passed in 0.99s", (1, 0, 0, 0)),
        ("3 passed, 2 rerun in 0.5s", (3, 0, 0, 0)),
        ("1 error in 0.05s", (0, 1, 0, 0)),
        ("no tests ran in 0.01s", (0, 0, 0, 0)),
        ("== no tests collected (3 deselected) in 0.01s ==", (0, 0, 0, 3)),
        ("3 tests collected in 0.01s", (0, 0, 3, 0)),
        ("3 tests collected, 1 error in 0.01s", (0, 1, 3, 0)),
        ("\x1b[32m\x1b[1m3 passed\x1b[0m, \x1b[33m1 skipped\x1b[0m in 1.09s\x1b[0m", (3, 0, 1, 0)),
        ("\x1b]0;title\x073 passed in 0.1s", (3, 0, 0, 0)),
    ],
)  # fmt: skip
def test_pytest_ends_in_many_ways(line: str, expected: tuple[int, int, int, int]) -> None:
    assert numbers(count("pytest", f"..  [100%]\n{line}\n")) == expected


@pytest.mark.parametrize(
    "line",
    [
        "E   assert '4 passed in 0.1s'",
        "4 passed in 0.1s!",
        "4 passed, and more, in 0.1s",
        "4 passed in no time",
        "2 warnings in 0.1s",
        "=== 4 passed in 0.1s",
        "4 passed in 0.1s ===",
        " 4 passed in 0.1s",
        "4 passed, 4 passed in 0.1s",
        "٤ passed in 0.1s",
        "9999999999 passed in 0.1s",
        "-4 passed in 0.1s",
    ],
)
def test_what_only_looks_like_pytests_ending_is_not_counted(line: str) -> None:
    assert count("pytest", f"{line}\n") is None


@pytest.mark.parametrize(
    ("ran", "status", "expected"),
    [
        ("Ran 5 tests in 0.001s", "OK", (5, 0, 0, 0)),
        ("Ran 1 test in 0.001s", "OK (skipped=1)", (0, 0, 1, 0)),
        ("Ran 0 tests in 0.000s", "NO TESTS RAN", (0, 0, 0, 0)),
        ("Ran 9 tests in 1.5s", "FAILED (failures=1, errors=2, skipped=1)", (5, 3, 1, 0)),
        ("Ran 4 tests in 1.5s", "OK (expected failures=1)", (3, 0, 1, 0)),
        ("Ran 4 tests in 1.5s", "FAILED (unexpected successes=1)", (3, 1, 0, 0)),
        ("Ran 1 test in 1.5s", "FAILED (failures=3)", (0, 3, 0, 0)),
    ],
)
def test_unittest_ends_with_a_rule_a_number_and_a_word(
    ran: str, status: str, expected: tuple[int, int, int, int]
) -> None:
    text = f"..s\n{RULE}\n{ran}\n\n{status}\n"
    assert numbers(count("python -m unittest", "", text)) == expected
    assert numbers(count("python3 manage.py test shop", "", f"Found it.\n{text}Bye.\n")) == expected
    assert count("python -m unittest", "", text.replace(RULE, "")) is None
    assert count("python -m unittest", "", f"{RULE}\n{ran}\n") is None


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("npx jest", "Tests:       8 passed, 8 total\nSnapshots:   0 total\n", (8, 0, 0, 0)),
        ("npx jest", "Tests:       0 total\nSnapshots:   0 total\n", (0, 0, 0, 0)),
        ("npx jest", "Tests:       8 passed, 8 total\n", None),
        ("npx vitest", f"{VITEST}      Tests  3 passed | 1 skipped (4)\n", (3, 0, 1, 0)),
        ("npx vitest", f"{VITEST}      Tests  no tests\n", (0, 0, 0, 0)),
        ("npx vitest", "      Tests  3 passed (3)\n", None),
        ("npx mocha", "  5 passing (2s)\n  1 pending\n  2 failing\n", (5, 2, 1, 0)),
        ("npx mocha", "  0 passing (1ms)\n  2 failing\n", (0, 2, 0, 0)),
        ("npx mocha", "5 passing (2s)\n", None),
        ("node --test", "# tests 100\n# pass 100\n", None),
    ],
)  # fmt: skip
def test_javascript_runners_end_in_their_own_shape(
    command: str, text: str, expected: tuple[int, int, int, int] | None
) -> None:
    assert numbers(count(command, text)) == expected


CARGO = (
    "\nrunning {n} tests\ntest result: {word}. {passed} passed; {failed} failed; 1 ignored; "
    "0 measured; 2 filtered out; finished in 0.00s\n"
)


def test_cargo_is_summed_over_its_test_binaries() -> None:
    text = CARGO.format(n=5, word="FAILED", passed=3, failed=1)
    text += CARGO.format(n=2, word="ok", passed=1, failed=0)
    assert numbers(count("cargo test --workspace", text)) == (4, 1, 2, 4)


def test_cargo_of_older_compilers_does_not_say_how_long_it_took() -> None:
    text = CARGO.format(n=2, word="ok", passed=1, failed=0).replace("; finished in 0.00s", "")
    assert numbers(count("cargo +stable test", text)) == (1, 0, 1, 2)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("     Summary [   0.012s] 5 tests run: 5 passed, 1 skipped", (5, 0, 1, 0)),
        ("     Summary [   1.0s] 1 test run: 1 passed (1 slow, 1 flaky), 0 skipped", (1, 0, 0, 0)),
        ("     Summary [   1.0s] 3/5 tests run: 1 passed, 1 failed, 1 timed out", (1, 2, 2, 0)),
        ("  Summary of what I did: 5 tests run: 5 passed", None),
    ],
)  # fmt: skip
def test_nextest_ends_with_one_line(line: str, expected: tuple[int, int, int, int] | None) -> None:
    assert numbers(count("cargo nextest run", "", f"------------\n{line}\n")) == expected


GO_VERBOSE = """=== RUN   TestAdd
=== RUN   TestAdd/small
    add_test.go:7: 1 + 1
=== RUN   TestAdd/large
--- PASS: TestAdd (0.00s)
    --- PASS: TestAdd/small (0.00s)
    --- SKIP: TestAdd/large (0.00s)
=== RUN   TestPrints
no newline at the end--- PASS: TestPrints (0.00s)
=== RUN   TestPanics
PASS
ok  \texample.com/shop\t0.003s
=== RUN   TestAdd
--- FAIL: TestAdd (0.00s)
FAIL
FAIL\texample.com/bill\t0.004s
?   \texample.com/none\t[no test files]
"""


def test_go_counts_subtests_and_tells_packages_apart() -> None:
    assert numbers(count("go test -v ./...", GO_VERBOSE)) == (3, 2, 1, 0)


def test_go_without_its_list_of_tests_gives_no_count() -> None:
    assert count("go test ./...", "ok  \texample.com/shop\t0.003s\n") is None
    assert (
        count("go test ./...", "--- FAIL: TestAdd (0.00s)\nFAIL\texample.com/shop\t0.1s\n") is None
    )


def test_go_events_are_counted_once_for_each_test() -> None:
    events = [("run", "TestA"), ("output", "TestA"), ("pass", "TestA"), ("run", "TestB")]
    events += [("skip", "TestB"), ("run", "TestC"), ("fail", "TestC"), ("pass", "TestC")]
    events += [("run", "TestHangs"), ("pass", "")]
    lines = [f'{{"Action":"{a}","Package":"shop","Test":"{t}"}}' for a, t in events]
    noise = ['{"Action":"pass","Test":7}', '{"Action":', "[" * 5000, '{"Action":["pass"]}']
    assert numbers(count("go test -json ./...", "\n".join(lines + noise))) == (1, 2, 1, 0)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("DONE 101 tests, 3 skipped, 2 failures in 0.103s", (96, 2, 3, 0)),
        ("DONE 1 tests, 1 error in 0.103s", (1, 1, 0, 0)),
        ("DONE 2 runs, 12 tests, 1 failure in 5.1s", (11, 1, 0, 0)),
    ],
)
def test_gotestsum_ends_with_one_line(line: str, expected: tuple[int, int, int, int]) -> None:
    assert numbers(count("gotestsum -- ./...", f"✓  shop (1ms)\n\n{line}\n")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1..2\nok 1 - a\nok 2\n", (2, 0, 0, 0)),
        ("TAP version 14\nok 1 - a\nnot ok 2 - b\n1..2\n", (1, 1, 0, 0)),
        ("1..3\nok 1 # SKIP no db\nnot ok 2 - b # TODO later\nok 3 - c # todo\n", (0, 0, 3, 0)),
        ("1..3\nok 1 - a\n", (1, 2, 0, 0)),
        ("1..1\nok 1 - a\nok 2 - b\n", (1, 1, 0, 0)),
        ("1..4\nok 1 - a\nBail out! no disk\n", (1, 4, 0, 0)),
        ("1..0 # SKIP not on this system\n", (0, 0, 1, 0)),
        ("1..1\n    ok 1 - inner\n    1..1\nok 1 - outer\n", (1, 0, 0, 0)),
        ("1..1\nok 1 - says \\# skip in its name\n", (1, 0, 0, 0)),
        ("1..1\nok 1\n1..2\nok 1\nok 2\n", (3, 0, 0, 0)),
        ("ok 1\n1..1\nok 1\nok 2\n1..2\n", (3, 0, 0, 0)),
        ("TAP version 13\n1..1\nok 1\nTAP version 13\n1..1\nok 1\n", (2, 0, 0, 0)),
        ("ok 1 - a document without a plan\n", None),
        ("okay 1\n1..\n1..x\n", None),
    ],
)
def test_tap_is_read_as_its_versions_say(
    text: str, expected: tuple[int, int, int, int] | None
) -> None:
    assert numbers(count("bats tests", text)) == expected


def test_an_ending_behind_a_gap_is_counted() -> None:
    text = b"collected 9 items" + GAP + b".. [100%]\n9 passed in 3.21s\n"
    counts = count_tests("pytest", text, b"", {})
    assert counts == TestCounts("pytest", passed=9)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("cargo test", CARGO.format(n=5, word="ok", passed=4, failed=0)),
        ("go test -v ./...", GO_VERBOSE),
        ("bats tests", "1..2\nok 1 - a\nok 2 - b\n"),
        ("pytest a && pytest b", "collected 5 items\n5 passed in 0.1s\n"),
    ],
)
def test_counts_that_lie_in_a_gap_are_not_guessed(command: str, text: str) -> None:
    assert count_tests(command, text.encode()[:20] + GAP + text.encode(), b"", {}) is None


def test_a_gap_in_the_compilers_output_does_not_hide_the_tests() -> None:
    text = CARGO.format(n=5, word="ok", passed=4, failed=0).encode()
    counts = count_tests("cargo test", text, b"Compiling" + GAP + b"Finished\n", {})
    assert numbers(counts) == (4, 0, 1, 2)


def test_several_runners_of_one_contract_are_summed() -> None:
    ending = "Tests:       2 failed, 3 passed, 5 total\nSnapshots:   0 total\n"
    counts = count("pytest -q && npx jest", "5 passed, 1 skipped in 0.1s\n", ending)
    assert counts == TestCounts("pytest + jest", passed=8, failed=2, skipped=1)


def test_several_calls_of_one_runner_are_summed() -> None:
    assert numbers(count("pytest a && pytest b", "5 passed in 0.1s\n2 passed in 0.1s\n")) == (
        7,
        0,
        0,
        0,
    )
    loop = "for d in a b; do (cd $d && pytest -q); done"
    counts = count(loop, "5 passed in 0.1s\n2 passed in 0.1s\n")
    assert counts == TestCounts("pytest, 2 endings", passed=7)


@given(st.binary(max_size=400), st.sampled_from(["pytest", "make test", "cargo test", "prove t"]))
def test_no_output_whatever_stops_the_count(data: bytes, command: str) -> None:
    count_tests(command, data, data, {"x": data})


PIECES = f"""1..3
ok 1 - a
not ok
# tests 5
Ran 5 tests in 0.1s
{RULE}

OK (skipped=9)
running 1 test
test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
=== RUN   T
--- PASS: T (0.1s)
5 passed in 0.1s
DONE 1 tests, 3 skipped in 0.1s
TAP version 13
Bail out!""".split("\n")


@given(st.lists(st.sampled_from(PIECES)))
def test_no_mixture_of_endings_gives_a_negative_number(lines: list[str]) -> None:
    for runner in RUNNERS.values():
        for counts in runner.counts(tuple(lines)):
            assert min(counts.passed, counts.failed, counts.skipped, counts.deselected) >= 0
