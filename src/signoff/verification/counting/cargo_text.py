"""`cargo test`: each test binary prints `running 3 tests` and later `test result: ok. 3 passed; …`.

Also the one line that `cargo nextest` ends with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from signoff.domain.counts import TestCounts
from signoff.verification.counting.lines import tally

_RUNNING = re.compile(r"running ([0-9]{1,9}) tests?")
_RESULT = re.compile(
    r"test result: (?:ok|FAILED)\. ([0-9]{1,9}) passed; ([0-9]{1,9}) failed; ([0-9]{1,9}) ignored; "
    r"[0-9]+ measured; ([0-9]{1,9}) filtered out(?:; finished in [0-9.]+s)?"
)
_NEXTEST = re.compile(
    r" *Summary \[ *[0-9.]+s\] ([0-9]{1,9})(?:/([0-9]{1,9}))? tests? run: ([^=]+)"
)


def read_cargo(lines: Sequence[str]) -> list[TestCounts]:
    """The sum over all test binaries, as one run.

    Every binary announces its tests first: a result that nothing announced is not the harness's,
    and a result never has more passes than were announced.
    """
    announced: int | None = None
    total: TestCounts | None = None
    for line in lines:
        running, result = _RUNNING.fullmatch(line), _RESULT.fullmatch(line)
        if running and announced is None:
            announced = int(running[1])
        elif result and announced is not None:
            passed, failed, ignored, filtered = map(int, result.groups())
            one = TestCounts("cargo", min(passed, announced), failed, ignored, filtered)
            total = one if total is None else total + one
            announced = None
    return [total] if total else []


def read_nextest(lines: Sequence[str]) -> list[TestCounts]:
    """One for each ending: `Summary [ 0.1s] 5 tests run: 4 passed (1 slow), 1 failed`."""
    found = []
    for match in filter(None, map(_NEXTEST.fullmatch, lines)):
        words = tally(re.sub(r" \([^()]*\)", "", match[3]).split(", "))
        if words is not None:
            failed = sum(n for w, n in words.items() if w not in ("passed", "skipped"))
            not_run = max(0, int(match[2] or match[1]) - int(match[1]))
            skipped = words.get("skipped", 0) + not_run
            found.append(TestCounts("nextest", words.get("passed", 0), failed, skipped))
    return found
