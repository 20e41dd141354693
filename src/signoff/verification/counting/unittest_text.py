"""unittest's ending: a rule, `Ran 5 tests in 0.001s`, a blank line, `OK (skipped=1)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from signoff.domain.counts import TestCounts

_RULE = "-" * 70
_RAN = re.compile(r"Ran ([0-9]{1,9}) tests? in [0-9]+\.[0-9]+s")
_STATUS = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z]+(?: [a-z]+)?=[0-9a-z=, ]+)\))?")
_PAIR = re.compile(r"([a-z]+(?: [a-z]+)?)=([0-9]{1,9})")


def read_unittest(lines: Sequence[str]) -> list[TestCounts]:
    """One for each ending."""
    found = []
    for i, line in enumerate(lines):
        ran = _RAN.fullmatch(line)
        if ran and lines[i - 1 : i] == (_RULE,) and lines[i + 1 : i + 2] == ("",):
            status = _STATUS.fullmatch(lines[i + 2]) if i + 2 < len(lines) else None
            if status:
                found.append(_counts(int(ran[1]), status[1] or ""))
    return found


def _counts(ran: int, details: str) -> TestCounts:
    said = {word: int(number) for word, number in _PAIR.findall(details)}
    failed = sum(said.get(w, 0) for w in ("failures", "errors", "unexpected successes"))
    skipped = said.get("skipped", 0) + said.get("expected failures", 0)
    # Subtests and class-wide skips are in the details but not in `ran`: never less than none.
    return TestCounts("unittest", max(0, ran - failed - skipped), failed, skipped)
