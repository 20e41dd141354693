"""`go test`: events of `-json`, lines of `-v`, the last line of gotestsum.

Subtests count like tests, and so do the tests around them: a case taken out of a table is a test
less. Without `-v` or `-json` go does not say how many tests there were, and neither do we.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from enum import IntEnum

from signoff.domain.counts import TestCounts

_RUN = re.compile(r"=== RUN +(\S+)$")
_DONE = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$")
_PACKAGE = re.compile(r"(?:ok|FAIL|\?) +\t?\S+\t.*|(?:ok|FAIL)\t\S+.*")
_GOTESTSUM = re.compile(
    r"DONE (?:[0-9]+ runs, )?([0-9]{1,9}) tests?(?:, ([0-9]{1,9}) skipped)?"
    r"(?:, ([0-9]{1,9}) (?:failures?|failed))?(?:, ([0-9]{1,9}) errors?)? in [0-9.]+s"
)


class _Outcome(IntEnum):
    """Of several outcomes of one test (`-count=2`) the last in this list counts."""

    PASS = 0
    SKIP = 1
    FAIL = 2


def read_go(lines: Sequence[str]) -> list[TestCounts]:
    """All packages as one run."""
    counts = read_go_events(lines) or _read_verbose(lines)
    return [counts] if counts else []


def read_go_events(lines: Iterable[str]) -> TestCounts | None:
    """The events of `go test -json`; lines that are none are what packages printed."""
    outcomes: dict[tuple[str, str], _Outcome] = {}
    started: set[tuple[str, str]] = set()
    for line in lines:
        event = _event(line)
        if event is None:
            continue
        action, test = event
        if action == "run":
            started.add(test)
        elif action in ("pass", "fail", "skip"):
            outcomes[test] = max(outcomes.get(test, _Outcome.PASS), _Outcome[action.upper()])
    return _counts(started, outcomes)


def _event(line: str) -> tuple[str, tuple[str, str]] | None:
    if not line.startswith("{"):
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    action, package, test = (data.get(key, "") for key in ("Action", "Package", "Test"))
    if not all(isinstance(x, str) for x in (action, package, test)) or not test:
        return None
    return action, (package, test)


def _read_verbose(lines: Sequence[str]) -> TestCounts | None:
    outcomes: dict[tuple[str, str], _Outcome] = {}
    started: set[tuple[str, str]] = set()
    packages = 0
    for line in lines:
        run, done = _RUN.search(line), _DONE.search(line)
        if run:
            started.add((str(packages), run[1]))
        elif done:
            test = (str(packages), done[2])
            outcomes[test] = max(outcomes.get(test, _Outcome.PASS), _Outcome[done[1]])
        elif _PACKAGE.fullmatch(line):
            packages += 1
    return _counts(started, outcomes)


def _counts(
    started: set[tuple[str, str]], outcomes: dict[tuple[str, str], _Outcome]
) -> TestCounts | None:
    """Only what was started counts; what was started and never ended has failed."""
    if not started:
        return None
    told = [outcomes.get(test, _Outcome.FAIL) for test in started]
    passed, failed, skipped = (told.count(o) for o in (_Outcome.PASS, _Outcome.FAIL, _Outcome.SKIP))
    return TestCounts("go", passed, failed, skipped)


def read_gotestsum(lines: Sequence[str]) -> list[TestCounts]:
    """One for each last line: `DONE 101 tests, 3 skipped, 2 failures in 0.103s`."""
    found = []
    for match in filter(None, map(_GOTESTSUM.fullmatch, lines)):
        tests, skipped, failures, errors = (int(n or 0) for n in match.groups())
        passed = max(0, tests - skipped - failures)
        found.append(TestCounts("gotestsum", passed, failures + errors, skipped))
    return found
