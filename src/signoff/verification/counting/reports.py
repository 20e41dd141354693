"""Machine-readable reports of a contract: the folder they are left in, their formats, their sum.

The folder is read with care, because the contract could leave anything. The caller makes it anew
for every judging, outside the workspace, and names it in the environment. JUnit XML is read by
expat as a stream: cases are counted, the totals in its attributes are not. A document type is
refused, and with it every entity: there is nothing to expand and nothing to fetch.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from xml.parsers import expat

from msgspec.structs import replace

from signoff.domain.verdict import TestCounts, TestOutcome
from signoff.verification.counting.printed import lines_of
from signoff.verification.counting.verbose import (
    FAILED,
    PASSED,
    PRINTED,
    SKIPPED,
    each_its_own,
    from_names,
    read_go_events,
    read_tap,
)

REPORTED = "reported"  # where these tests are named
REPORT_DIR_VARIABLE = "SIGNOFF_REPORT_DIR"
MOST_REPORTS = 2_000
MOST_ENTRIES = 10_000
LARGEST_REPORT_BYTES = 16_000_000
MOST_BYTES = 48_000_000
_DEEPEST = 4
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_reports(folder: Path) -> dict[str, bytes]:
    """Regular files by their path in the folder, in the order of their names.

    Links of both kinds, pipes and devices are left alone, and so is what exceeds the limits. A
    folder that is not there, or not a folder any more, holds no reports.
    """
    found: dict[str, bytes] = {}
    left_bytes = MOST_BYTES
    for path, data in _files(str(folder), None, "", _DEEPEST):
        left_bytes -= len(data)
        if left_bytes < 0 or len(found) >= MOST_REPORTS:
            break
        found[path] = data
    return found


def _files(name: str, above_fd: int | None, prefix: str, depth: int) -> Iterator[tuple[str, bytes]]:
    """Regular files of a folder, and of those below it; nothing of what is no folder."""
    try:
        fd = os.open(name, _FOLDER, dir_fd=above_fd)
    except OSError:
        return
    try:
        with os.scandir(fd) as entries:
            names = sorted(entry.name for entry in islice(entries, MOST_ENTRIES))
        for inner in names:
            data = _read(fd, inner)
            if data is not None:
                yield prefix + inner, data
            elif depth > 1:
                yield from _files(inner, fd, f"{prefix}{inner}/", depth - 1)
    finally:
        os.close(fd)


def _read(folder_fd: int, name: str) -> bytes | None:
    try:
        # Opening a device can have effects: look first.
        if not stat.S_ISREG(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode):
            return None
        fd = os.open(name, _FILE, dir_fd=folder_fd)
    except OSError:
        return None
    with open(fd, "rb") as file:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink != 1:
            return None
        if state.st_size > LARGEST_REPORT_BYTES:
            return None
        data = file.read(LARGEST_REPORT_BYTES + 1)
    return data if len(data) <= LARGEST_REPORT_BYTES else None


# Tags, lines and escapes of all reports together: a bound on the time, whatever they hold.
MOST_MARKS = 500_000
_LARGEST = 10**9
_SUITES = frozenset(("testsuites", "testsuite"))
_DEEPEST_TAG = 64
_XML_OUTCOMES = {
    **dict.fromkeys(("failed", "fail", "failure", "error"), FAILED),
    **dict.fromkeys(("notrun", "skipped", "disabled", "ignored", "suppressed"), SKIPPED),
}
_XML_MARKS = {"failure": FAILED, "error": FAILED, "skipped": SKIPPED, "disabled": SKIPPED}

Format = Callable[[bytes], TestCounts | None]


class _Refused(Exception):
    """The document is not one we read."""


def read_junit(data: bytes) -> TestCounts | None:
    """The cases of one file; None when it is not JUnit XML, or not all of it."""
    cases = _Cases()
    parser = expat.ParserCreate()
    parser.StartElementHandler = cases.enter
    parser.EndElementHandler = cases.leave
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(data, True)
    except (_Refused, expat.ExpatError, ValueError, LookupError):
        return None
    return from_names("JUnit report", each_its_own(cases.told), REPORTED)


def _refuse_doctype(*_declaration: object) -> None:
    raise _Refused


class _Cases:
    """Collects cases while the parser walks; a case lies directly in a suite, its outcome in it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, TestOutcome]] = []
        self._path: list[str] = []
        self._name = ""
        self._outcomes: set[TestOutcome] = set()

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        """A case begins, or says how it ended."""
        name = tag.rpartition(":")[2]
        parent = self._path[-1] if self._path else ""
        if len(self._path) >= _DEEPEST_TAG or (not parent and name not in _SUITES):
            raise _Refused
        if name == "testcase" and name in self._path:
            raise _Refused  # a case in a case would speak for the outer one
        if name == "testcase":
            self._name = f"{attributes.get('classname', '')}::{attributes.get('name', '')}"
            words = (attributes.get(key, "").lower() for key in ("status", "result"))
            self._outcomes = {_XML_OUTCOMES[word] for word in words if word in _XML_OUTCOMES}
        elif parent == "testcase" and name in _XML_MARKS:
            self._outcomes.add(_XML_MARKS[name])
        self._path.append(name)

    def leave(self, _tag: str) -> None:
        """A case that nothing was said of has passed."""
        name = self._path.pop()
        if name == "testcase" and self._path and self._path[-1] in _SUITES:
            found = next((o for o in (FAILED, SKIPPED) if o in self._outcomes), PASSED)
            self.told.append((self._name, found))


def read_json(data: bytes) -> TestCounts | None:
    """The totals of jest and vitest, pytest-json-report or mocha; None for any other shape."""
    try:
        report = json.loads(data)
        for source, where, *words in _SHAPES if isinstance(report, dict) else ():
            totals = where(report)
            if isinstance(totals, dict) and words[0] in totals:
                passed, failed, skipped, deselected = (
                    sum(_number(totals.get(key, 0)) for key in keys.split()) for keys in words
                )
                names = {REPORTED: _json_names(report)}
                return TestCounts(source, passed, failed, skipped, deselected, names=names)
    except (ValueError, RecursionError):
        return None
    return None


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LARGEST:
        raise ValueError("not a number of tests")
    return value


def _pytest_totals(report: dict[str, Any]) -> Any:
    inner = report.get("report", report)  # pytest-json has one level more
    summary = inner.get("summary") if isinstance(inner, dict) else None
    if not isinstance(summary, dict) or "total" not in summary:
        return None
    return {"passed": 0, **summary}  # a total of nothing is left out


# The reporter, where it keeps its totals, and what it calls passed, failed, skipped, deselected.
_Shape = tuple[str, Callable[[dict[str, Any]], Any], str, str, str, str]
_SHAPES: tuple[_Shape, ...] = (
    (
        *("jest JSON report", lambda report: report if "numTotalTests" in report else None),
        *("numPassedTests", "numFailedTests", "numPendingTests numTodoTests", ""),
    ),
    (
        *("pytest JSON report", _pytest_totals),
        *("passed", "failed error", "skipped xfailed xpassed", "deselected"),
    ),
    (
        *("mocha JSON report", lambda report: report.get("stats")),
        *("passes", "failures", "pending", ""),
    ),
)
_JSON_OUTCOMES = {"passed": PASSED, "passes": PASSED, "failed": FAILED, "failures": FAILED}


def _json_names(report: dict[str, Any]) -> dict[str, TestOutcome]:
    """The tests that a report lists, wherever its reporter puts them and whatever it calls them."""
    groups = [
        *((None, part.get("assertionResults")) for part in _dicts(report.get("testResults"))),
        (None, report.get("tests")),
        *((word, report.get(word)) for word in ("passes", "failures", "pending")),
    ]
    told = []
    for word, tests in groups:
        for test in _dicts(tests):
            name = test.get("fullName") or test.get("nodeid") or test.get("fullTitle")
            outcome = word or test.get("status") or test.get("outcome")
            if isinstance(name, str) and isinstance(outcome, str):
                told.append((name, _JSON_OUTCOMES.get(outcome, SKIPPED)))
    return each_its_own(told)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [x for x in value if isinstance(x, dict)] if isinstance(value, list) else []


def _as_report(counts: TestCounts | None, source: str) -> TestCounts | None:
    if counts is None:
        return None
    return replace(counts, source=source, names={REPORTED: counts.names[PRINTED]})


# Formats in which other lines cannot stand between: a whole stream can be such a document.
DOCUMENTS: tuple[Format, ...] = (read_junit, read_json)
FORMATS: tuple[Format, ...] = (
    *DOCUMENTS,
    lambda data: _as_report(read_go_events(lines_of(data)), "go test -json report"),
    lambda data: _as_report(next(iter(read_tap(lines_of(data))), None), "TAP report"),
)


def count_document(data: bytes, formats: tuple[Format, ...] = FORMATS) -> TestCounts | None:
    """One report, in the first format that it is in; None when it is in none."""
    return next((found for found in (read(data) for read in formats) if found), None)


def count_reports(reports: Mapping[str, bytes], *, several_runners: bool) -> TestCounts | None:
    """All reports of one contract; None when there is none that can be read.

    Files of one format are parts of one report and are added; the same bytes twice are one file.
    Two formats are two runners where the contract calls several, otherwise the same tests told
    twice, and then the smaller one counts.
    """
    by_format: dict[str, TestCounts] = {}
    left = MOST_MARKS
    for data in dict.fromkeys(reports[name] for name in sorted(reports)):
        left -= sum(map(data.count, (b"<", b"\n", b"\x1b")))
        found = count_document(data) if left >= 0 else None
        if found:
            before = by_format.get(found.source)
            by_format[found.source] = found if before is None else before + found
    told = sorted(by_format.values(), key=lambda c: (c.passed, c.executed))
    if not told:
        return None
    total = told[0]
    for more in told[1:] if several_runners else ():
        total += more
    return total
