"""mocha's ending: `  5 passing (10ms)`, then `  1 pending` and `  1 failing` if any."""

from __future__ import annotations

import re
from collections.abc import Sequence

from signoff.domain.counts import TestCounts

_PASSING = re.compile(r"  ([0-9]{1,9}) passing \([0-9]+(?:ms|s|m|h|d)\)")
_REST = re.compile(r"  ([0-9]{1,9}) (pending|failing)")


def read_mocha(lines: Sequence[str]) -> list[TestCounts]:
    """One for each ending."""
    found = []
    for i, line in enumerate(lines):
        passing = _PASSING.fullmatch(line)
        if passing:
            rest = [m for m in map(_REST.fullmatch, lines[i + 1 : i + 3]) if m]
            said = {m[2]: int(m[1]) for m in rest}
            failed, skipped = said.get("failing", 0), said.get("pending", 0)
            found.append(TestCounts("mocha", int(passing[1]), failed, skipped))
    return found
