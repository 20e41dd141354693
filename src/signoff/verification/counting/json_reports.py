"""JSON reports with totals: jest and vitest (`--json`), pytest-json-report, mocha's `json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from signoff.domain.counts import TestCounts

_LARGEST = 10**9


def read_json(data: bytes) -> TestCounts | None:
    """The totals of one file; None when it is none of the known shapes."""
    try:
        report = json.loads(data)
        for shape in _SHAPES if isinstance(report, dict) else ():
            totals = shape.totals(report)
            if isinstance(totals, dict) and shape.passed in totals:
                return shape.counts(totals)
    except (ValueError, RecursionError):
        return None
    return None


@dataclass(frozen=True)
class _Shape:
    """Where a reporter keeps its totals, and what it calls them."""

    source: str
    totals: Callable[[dict[str, Any]], Any]
    passed: str
    failed: tuple[str, ...]
    skipped: tuple[str, ...]
    deselected: tuple[str, ...] = ()

    def counts(self, totals: dict[str, Any]) -> TestCounts:
        words = ((self.passed,), self.failed, self.skipped, self.deselected)
        sums = (sum(_number(totals.get(key, 0)) for key in keys) for keys in words)
        return TestCounts(self.source, *sums)


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LARGEST:
        raise ValueError("not a number of tests")
    return value


def _pytest_summary(report: dict[str, Any]) -> Any:
    inner = report.get("report", report)  # pytest-json has one level more
    summary = inner.get("summary") if isinstance(inner, dict) else None
    if not isinstance(summary, dict) or "total" not in summary:
        return None
    return {"passed": 0, **summary}  # a total of nothing is left out


_SHAPES = (
    _Shape(
        "jest JSON report",
        lambda report: report if "numTotalTests" in report else None,
        "numPassedTests",
        ("numFailedTests",),
        ("numPendingTests", "numTodoTests"),
    ),
    _Shape(
        "pytest JSON report",
        _pytest_summary,
        "passed",
        ("failed", "error"),
        ("skipped", "xfailed", "xpassed"),
        ("deselected",),
    ),
    _Shape(
        "mocha JSON report",
        lambda report: report.get("stats"),
        "passes",
        ("failures",),
        ("pending",),
    ),
)
