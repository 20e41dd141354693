"""jest's ending: `Tests: 1 failed, 2 skipped, 5 passed, 8 total`, then its snapshots."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from signoff.domain.counts import TestCounts
from signoff.verification.counting.lines import tally

_TESTS = re.compile(r"Tests: {2,}(.+ total)")


def read_jest(lines: Sequence[str]) -> list[TestCounts]:
    """One for each ending."""
    found = []
    for line, following in pairwise(lines):
        match = _TESTS.fullmatch(line)
        words = tally(match[1].split(", ")) if match else None
        if words is not None and following.startswith("Snapshots:"):
            skipped = sum(words.get(w, 0) for w in ("skipped", "todo", "pending"))
            passed, failed = words.get("passed", 0), words.get("failed", 0)
            found.append(TestCounts("jest", passed, failed, skipped))
    return found
