"""How many tests a contract ran: the denominator behind "all tests pass"."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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

    @property
    def executed(self) -> int:
        """Tests that ran to an answer."""
        return self.passed + self.failed

    @property
    def collected(self) -> int:
        """Every test the runner found, run or not."""
        return self.passed + self.failed + self.skipped + self.deselected

    def __add__(self, other: TestCounts) -> TestCounts:
        """Two reports of one contract, taken together."""
        sources = dict.fromkeys((*self.source.split(" + "), *other.source.split(" + ")))
        return TestCounts(
            " + ".join(sources),
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.deselected + other.deselected,
        )

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any] | None) -> TestCounts | None:
        """The stored form read back; None when nothing was counted."""
        return None if data is None else cls(**data)
