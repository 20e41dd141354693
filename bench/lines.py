"""One line per claim: what was measured, the floor it is held against, and the goal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

_WIDTHS = (58, 12, 12, 8, 8)
_TITLES = ("what", "measured", "floor", "ratio", "goal")


class Unit(StrEnum):
    """What a number counts."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MEGABYTES = "MB"
    PER_SECOND = "/s"
    COUNT = ""


class Measure(StrEnum):
    """Which of a line's numbers its goal is about."""

    MEASURED = "measured"
    RATIO = "ratio"


@dataclass(frozen=True)
class Line:
    """A claim with its numbers; the ratio is the median of ratios taken in the same round."""

    what: str
    measured: float
    unit: Unit
    floor: float | None = None
    ratio: float | None = None
    goal: float | None = None
    goal_is_for: Measure = Measure.MEASURED

    @property
    def ok(self) -> bool | None:
        """Whether the goal is met; None without a goal."""
        found = self.ratio if self.goal_is_for is Measure.RATIO else self.measured
        return None if self.goal is None or found is None else found <= self.goal

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {**asdict(self), "ok": self.ok}

    def as_text(self) -> str:
        """One row of the table."""
        verdict = {True: "ok", False: "over", None: ""}[self.ok]
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x"
        times = "x" if self.goal_is_for is Measure.RATIO else f" {self.unit}".rstrip()
        goal = "" if self.goal is None else f"{self.goal:g}{times}"
        measured, floor = _number(self.measured, self.unit), _number(self.floor, self.unit)
        return f"{_row((self.what, measured, floor, ratio, goal))}  {verdict}".rstrip()


def heading() -> str:
    """The table's first row."""
    return _row(_TITLES)


def compared(
    what: str,
    unit: Unit,
    measured: Sequence[float],
    floors: Sequence[float],
    goal: float | None = None,
) -> Line:
    """A line from rounds that each measured both; the goal is for the ratio."""
    ratios = [m / f for m, f in zip(measured, floors, strict=True)]
    return Line(
        what,
        statistics.median(measured),
        unit,
        statistics.median(floors),
        statistics.median(ratios),
        goal,
        Measure.RATIO,
    )


def _number(value: float | None, unit: Unit) -> str:
    if value is None:
        return ""
    digits = 0 if unit in (Unit.COUNT, Unit.PER_SECOND) or value >= 100 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def _row(cells: Sequence[str]) -> str:
    first, *others = zip(cells, _WIDTHS, strict=True)
    return first[0].ljust(first[1]) + "".join(f"{cell:>{width}}" for cell, width in others)
