"""Counts from what the runners of a contract printed.

A runner ends with its summary, but product code can print the same line: in a test that is not
captured, or after the runner (`atexit`). Where the text shows how often a runner is called, more
endings than calls are not all the runner's, and which ones are cannot be told: the smallest count.
Where it does not show that (loops, `make test`), every ending counts, and `source` says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

from signoff.domain.counts import TestCounts
from signoff.verification.counting.lines import has_gap, lines_of
from signoff.verification.counting.runners import Runner
from signoff.verification.counting.sight import Sight


@dataclass(frozen=True)
class Printed:
    """Both streams in lines."""

    stdout: tuple[str, ...]
    stderr: tuple[str, ...]

    @classmethod
    def of(cls, stdout: bytes, stderr: bytes) -> Printed:
        """The streams as they were kept."""
        return cls(lines_of(stdout), lines_of(stderr))

    def endings_of(self, runner: Runner) -> tuple[list[TestCounts], bool]:
        """What the runner printed, and whether the stream it is on was cut.

        Its own stream first; the other one in case the contract redirected it.
        """
        own, other = self.stdout, self.stderr
        if runner.on_stderr:
            own, other = other, own
        runs = runner.read(own)
        if runs:
            return runs, has_gap(own)
        return runner.read(other), has_gap(own) or has_gap(other)


class _Unreadable(Exception):
    """Counts lie in the part that was not kept."""


def count_printed(sight: Sight, printed: Printed) -> TestCounts | None:
    """All runners of the contract together; None when no number can be stood up for."""
    total: TestCounts | None = None
    for runner in sight.runners:
        if runner.shared and total is not None:
            continue  # another runner's own ending says more about the same lines
        try:
            counts = _count(runner, sight, printed)
        except _Unreadable:
            return None
        if counts is not None:
            total = counts if total is None else total + counts
    return total


def _count(runner: Runner, sight: Sight, printed: Printed) -> TestCounts | None:
    runs, cut = printed.endings_of(runner)
    calls = sight.calls.get(runner.name, 0)
    if cut and ((runner.whole and (runs or calls)) or 0 < len(runs) < calls):
        raise _Unreadable
    if not runs:
        return None
    if calls and len(runs) > calls and not sight.repeats:
        least = sorted(runs, key=lambda r: (r.passed, r.executed))[:calls]
        return _named(least, f"{runner.name} (least of {len(runs)} endings for {calls} calls)")
    name = runner.name if calls else f"{runner.name} (not seen in the contract)"
    return _named(runs, name if len(runs) <= max(calls, 1) else f"{name}, {len(runs)} endings")


def _named(runs: list[TestCounts], source: str) -> TestCounts:
    return replace(reduce(add, runs), source=source)
