"""How many tests a contract ran, and which: the denominator behind "all tests pass"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MOST_NAMED = 20_000
MOST_CHARACTERS = 1_000_000
_GROUP = re.compile(r"(.*(?:::|[./>›])\s*)?(.*)", re.DOTALL)


class TestOutcome(StrEnum):
    """How one test ended; of several endings of one test the last in this list counts."""

    __test__ = False

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"

    @property
    def ran(self) -> bool:
        """Whether the test came to an answer."""
        return self is not TestOutcome.SKIPPED


Names = Mapping[str, TestOutcome]
_WORST = list(TestOutcome)


def named(told: Iterable[tuple[str, TestOutcome]]) -> dict[str, TestOutcome]:
    """The tests by their ids; the worst of several outcomes of one id counts."""
    found: dict[str, TestOutcome] = {}
    for test, outcome in told:
        found[test] = max(found.get(test, outcome), outcome, key=_WORST.index)
    return found


@dataclass(frozen=True)
class TestCounts:
    """What a runner's report says; `source` names the report or the runner it came from.

    An error counts as failed, an expected failure as skipped: neither is a test that passed.
    """

    __test__ = False  # not a test case, whatever pytest thinks of the name

    source: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    deselected: int = 0
    errors: int = 0  # of the failed: no test of their own (a file not collected, a subtest)
    cut_short: str = ""  # why the run did not reach every test
    files: int = 0  # that a linter or type checker says it looked at
    untold: str = ""  # a runner was reached and did not say how many tests: what would help
    endings: int = field(default=1, compare=False)  # of runners; 0 where no tests were counted
    # Ids of tests, apart for reports and for what was printed: the two name a test differently.
    names: Mapping[str, Names] = field(default_factory=dict, compare=False)

    @property
    def counted(self) -> bool:
        """Whether there is a number of tests or of files to hold later runs to."""
        return bool(self.endings or self.files)

    @property
    def executed(self) -> int:
        """Tests that ran to an answer."""
        return self.passed + self.failed

    @property
    def least_executed(self) -> int:
        """Tests that certainly ran: errors may stand beside the outcome of the same test."""
        return self.executed - self.errors

    @property
    def collected(self) -> int:
        """Every test the runner found, run or not."""
        return self.passed + self.failed + self.skipped + self.deselected

    def names_all(self, where: str) -> bool:
        """Whether every test that ran is named there; with a name too many, none is believed."""
        told = list(self.names.get(where, {}).values())
        passed, failed = told.count(TestOutcome.PASSED), told.count(TestOutcome.FAILED)
        return passed == self.passed and self.failed - self.errors <= failed <= self.failed

    def __add__(self, other: TestCounts) -> TestCounts:
        """Two reports of one contract, taken together."""
        sources = dict.fromkeys((*self.source.split(" + "), *other.source.split(" + ")))
        numbers = ("passed", "failed", "skipped", "deselected", "errors", "files", "endings")
        names = {
            where: named((*self.names.get(where, {}).items(), *other.names.get(where, {}).items()))
            for where in self.names.keys() | other.names.keys()
        }
        return TestCounts(
            " + ".join(sources),
            cut_short=self.cut_short or other.cut_short,
            untold=self.untold or other.untold,
            names=names,
            **{name: getattr(self, name) + getattr(other, name) for name in numbers},
        )

    def to_data(self, *, with_names: bool = True) -> dict[str, Any]:
        """The stored form; names only where somebody will be held to them, and not too many."""
        first = ("source", "passed", "failed", "skipped", "deselected")
        data = {name: getattr(self, name) for name in first}
        more = {name: getattr(self, name) for name in ("errors", "cut_short", "files", "untold")}
        data |= {name: value for name, value in more.items() if value}
        data |= {"endings": self.endings} if self.endings != 1 else {}
        kept = {where: _grouped(tests) for where, tests in self.names.items() if _fits(tests)}
        return data | ({"names": kept} if with_names and kept else {})

    @classmethod
    def from_data(cls, data: dict[str, Any] | None) -> TestCounts | None:
        """The stored form read back; None when nothing was counted."""
        if data is None:
            return None
        names = {where: _ungrouped(kept) for where, kept in data.get("names", {}).items()}
        return cls(**{**data, "names": names})


def _fits(tests: Names) -> bool:
    return 0 < len(tests) <= MOST_NAMED and sum(map(len, tests)) <= MOST_CHARACTERS


def _grouped(tests: Names) -> dict[str, dict[str, list[str]]]:
    """Outcome → what ids begin with → how they go on: files and classes are stored once."""
    found: dict[str, dict[str, list[str]]] = {}
    for test, outcome in tests.items():
        match = _GROUP.fullmatch(test)
        head, rest = (match[1] or "", match[2]) if match else ("", test)
        found.setdefault(str(outcome), {}).setdefault(head, []).append(rest)
    return found


def _ungrouped(kept: Mapping[str, Mapping[str, list[str]]]) -> Names:
    return {
        head + rest: TestOutcome(outcome)
        for outcome, groups in kept.items()
        for head, rests in groups.items()
        for rest in rests
    }
