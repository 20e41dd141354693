"""TAP, versions 12 to 14: a plan, a line per test, skip and todo directives, bail out.

A document without a plan is none. Indented lines belong to subtests, whose parent has a line of
its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from signoff.domain.counts import TestCounts

_PLAN = re.compile(r"1\.\.([0-9]{1,9})(?:\s*#.*)?")
# A bare `ok` is what `prove -v` says about a whole file.
_POINT = re.compile(r"(not )?ok(?: +(?=\S)([0-9]{1,9})?(.*))")
_NO_PASS = re.compile(r"(?<!\\)#\s*(?:skip|todo)", re.IGNORECASE)
_VERSION = re.compile(r"TAP version [0-9]+", re.IGNORECASE)


def read_tap(lines: Sequence[str]) -> list[TestCounts]:
    """The sum over all documents, as one run."""
    documents = [_Document()]
    for line in lines:
        if _VERSION.fullmatch(line):
            documents.append(_Document())
            continue
        point, plan = _POINT.fullmatch(line), _PLAN.fullmatch(line)
        if (plan and documents[-1].has_plan) or (point and documents[-1].closed):
            documents.append(_Document())
        if plan:
            documents[-1].take_plan(int(plan[1]))
        elif point:
            documents[-1].take_point(bool(point[1]), _NO_PASS.search(point[3]) is not None)
        elif line.startswith("Bail out!"):
            documents[-1].bailed_out = True
    planned = [d.counts() for d in documents if d.has_plan]
    if not planned:
        return []
    total = planned[0]
    for counts in planned[1:]:
        total += counts
    return [total]


@dataclass
class _Document:
    """One producer's output, as far as it was read."""

    planned: int = -1
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    closed: bool = False  # the plan came last
    bailed_out: bool = False

    @property
    def has_plan(self) -> bool:
        return self.planned >= 0

    @property
    def seen(self) -> int:
        return self.passed + self.failed + self.skipped

    def take_plan(self, planned: int) -> None:
        self.planned, self.closed = planned, self.seen > 0

    def take_point(self, is_not_ok: bool, is_no_pass: bool) -> None:
        self.passed += not is_not_ok and not is_no_pass
        self.failed += is_not_ok and not is_no_pass
        self.skipped += is_no_pass

    def counts(self) -> TestCounts:
        """Tests planned and not seen have failed, and so have tests seen and not planned."""
        extra = min(self.passed, max(0, self.seen - self.planned))
        missing = max(0, self.planned - self.seen)
        failed = self.failed + extra + missing + self.bailed_out
        everything_skipped = self.planned == 0 and self.seen == 0
        return TestCounts("TAP", self.passed - extra, failed, self.skipped + everything_skipped)
