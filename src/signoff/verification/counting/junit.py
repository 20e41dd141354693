"""JUnit XML, whoever wrote it: test cases are counted, the totals in its attributes are not.

Read by expat as a stream. A document type is refused, and with it every entity: there is nothing
to expand and nothing to fetch.
"""

from __future__ import annotations

from xml.parsers import expat

from signoff.domain.counts import TestCounts

_DEEPEST = 64
_SUITES = frozenset(("testsuites", "testsuite"))
_FAILED = frozenset(("failure", "error"))
_SKIPPED = frozenset(("skipped", "disabled"))
_FAILED_WORDS = frozenset(("failed", "fail", "failure", "error"))
_SKIPPED_WORDS = frozenset(("notrun", "skipped", "disabled", "ignored", "suppressed"))


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
    return TestCounts("JUnit report", cases.passed, cases.failed, cases.skipped)


def _refuse_doctype(*_declaration: object) -> None:
    raise _Refused


class _Cases:
    """Counts cases while the parser walks; a case lies directly in a suite, its outcome in it."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0
        self._path: list[str] = []
        self._has_failed = self._is_skipped = False

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        parent = self._path[-1] if self._path else ""
        if len(self._path) >= _DEEPEST or (not parent and name not in _SUITES):
            raise _Refused
        if name == "testcase" and name in self._path:
            raise _Refused  # a case in a case would speak for the outer one
        if name == "testcase":
            words = {attributes.get(key, "").lower() for key in ("status", "result")}
            self._has_failed = bool(words & _FAILED_WORDS)
            self._is_skipped = bool(words & _SKIPPED_WORDS)
        elif parent == "testcase":
            self._has_failed |= name in _FAILED
            self._is_skipped |= name in _SKIPPED
        self._path.append(name)

    def leave(self, _tag: str) -> None:
        name = self._path.pop()
        if name != "testcase" or not self._path or self._path[-1] not in _SUITES:
            return
        self.failed += self._has_failed
        self.skipped += self._is_skipped and not self._has_failed
        self.passed += not self._has_failed and not self._is_skipped
