"""vitest's ending: `Test Files  1 passed (1)`, then `Tests  3 passed | 1 skipped (4)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from signoff.domain.counts import TestCounts
from signoff.verification.counting.lines import tally

_TESTS = re.compile(r" +Tests  (?:(no tests)|(.+) \([0-9]+\))")
_NO_PASS = ("skipped", "todo", "expected fail")


def read_vitest(lines: Sequence[str]) -> list[TestCounts]:
    """One for each ending."""
    found = []
    for before, line in pairwise(lines):
        match = _TESTS.fullmatch(line)
        if match is None or not before.startswith(" Test Files  "):
            continue
        words = {} if match[1] else tally(match[2].split(" | "))
        if words is not None:
            skipped = sum(words.get(w, 0) for w in _NO_PASS)
            passed, failed = words.get("passed", 0), words.get("failed", 0)
            found.append(TestCounts("vitest", passed, failed, skipped))
    return found
