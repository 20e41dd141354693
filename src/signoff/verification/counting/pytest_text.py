"""pytest's last line, with and without its frame: `== 4 passed, 1 skipped in 0.12s ==`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from signoff.domain.counts import TestCounts
from signoff.verification.counting.lines import tally

_SUMMARY = re.compile(r"(=+ )?([0-9n][^=]*) in [0-9]+\.[0-9]+s(?: \([0-9a-z:, ]+\))?( =+)?")
_COLLECTED = re.compile(
    r"([0-9]{1,9}|no)(?:/[0-9]+)? tests? collected(?: \(([0-9]{1,9}) deselected\))?"
    r"(?:, ([0-9]{1,9}) errors?)?"
)
_KNOWN = frozenset(
    ("passed", "failed", "skipped", "deselected", "xfailed", "xpassed", "error", "errors")
)


def read_pytest(lines: Sequence[str]) -> list[TestCounts]:
    """One for each summary line."""
    bodies = [m[2] for m in map(_SUMMARY.fullmatch, lines) if m and bool(m[1]) == bool(m[3])]
    return [counts for counts in map(_counts, bodies) if counts is not None]


def _counts(body: str) -> TestCounts | None:
    if body == "no tests ran":
        return TestCounts("pytest")
    collected = _COLLECTED.fullmatch(body)
    if collected:  # `--collect-only` finds tests and runs none of them
        found = 0 if collected[1] == "no" else int(collected[1])
        deselected, errors = (int(n or 0) for n in collected.group(2, 3))
        return TestCounts("pytest", failed=errors, skipped=found, deselected=deselected)
    words = tally(body.split(", "))
    if words is None or not _KNOWN & words.keys():
        return None
    return TestCounts(
        "pytest",
        passed=words.get("passed", 0),
        failed=sum(words.get(w, 0) for w in ("failed", "error", "errors")),
        # A test that may fail proves nothing by passing: `xpassed` is no pass either.
        skipped=sum(words.get(w, 0) for w in ("skipped", "xfailed", "xpassed")),
        deselected=words.get("deselected", 0),
    )
