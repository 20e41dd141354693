"""Which runners a contract's text shows: only their endings are believed."""

from __future__ import annotations

import pytest

from signoff.verification.counting.verbose import look_at
from signoff.verification.denominator import count_tests


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "uv run pytest",
        "uv sync && uv run --with pytest-cov pytest",
        "python3.12 -m pytest tests",
        "source .venv/bin/activate && pytest",
        "cd backend && timeout 60 python -m unittest discover",
        "python manage.py test shop",
        "coverage run -m pytest",
        "npx vitest run",
        "npm ci && npx jest --ci",
        "pnpm vitest run",
        "yarn jest",
        "node --test --test-reporter=tap tests/",
        "cargo +nightly test --workspace",
        "cargo nextest run",
        "go test ./...",
        "gotestsum --junitfile $SIGNOFF_REPORT_DIR/go.xml",
        "bats tests",
        "bash -c 'pytest -q'",
        'pytest --junitxml="$SIGNOFF_REPORT_DIR/junit.xml"',
        "for d in a b; do (cd $d && pytest); done",
    ],
)
def test_a_known_runner_is_seen_through_its_launchers(command: str) -> None:
    assert look_at(command).calls


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "npm test",
        "tox",
        "./check.sh",
        "$RUNNER tests",
        "pip install pytest",
        "which pytest",
        "command -v cargo",
        "cargo build",
        "go vet ./...",
        "node server.js",
        "python manage.py migrate",
        "echo pytest",
        "pytest() { echo '5 passed in 0.1s'; }; pytest",
        "if (",
        "",
    ],
)
def test_what_is_not_seen_to_call_a_runner_is_not_said_to_run_tests(command: str) -> None:
    assert not look_at(command).calls


OLD_XML = b"<testsuite><testcase name='a'/></testsuite>"


@pytest.mark.parametrize(
    "command",
    [
        "cat report.txt",
        "test -f report.txt && grep 'passed in' report.txt",
        "cp report.xml $SIGNOFF_REPORT_DIR/",
        "echo '5 passed in 0.1s'",
    ],
)
def test_an_old_result_shown_as_new_is_no_count(command: str) -> None:
    assert count_tests(command, b"5 passed in 0.1s\n", b"", {"report.xml": OLD_XML}) is None


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("cargo test", b"100 passed in 0.1s\n"),
        ("pytest -qq", b"1..2\nok 1 - a\nok 2 - b\n  5 passing (1ms)\n"),
        ("npx mocha", b"100 passed in 0.1s\n"),
    ],
)
def test_the_ending_of_a_runner_that_is_not_called_does_not_count(
    command: str, printed: bytes
) -> None:
    assert count_tests(command, printed, printed, {}) is None
