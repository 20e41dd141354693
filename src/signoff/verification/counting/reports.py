"""The formats of machine-readable reports, and how several reports of one contract add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from signoff.domain.counts import TestCounts
from signoff.verification.counting.go_text import read_go_events
from signoff.verification.counting.json_reports import read_json
from signoff.verification.counting.junit import read_junit
from signoff.verification.counting.lines import lines_of
from signoff.verification.counting.tap import read_tap

# Tags, lines and escapes of all reports together: a bound on the time, whatever they hold.
MOST_MARKS = 500_000

Format = Callable[[bytes], TestCounts | None]


def _read_go_json(data: bytes) -> TestCounts | None:
    counts = read_go_events(lines_of(data))
    return replace(counts, source="go test -json report") if counts else None


def _read_tap_file(data: bytes) -> TestCounts | None:
    return next((replace(c, source="TAP report") for c in read_tap(lines_of(data))), None)


# Formats in which other lines cannot stand between: a whole stream can be such a document.
DOCUMENTS: tuple[Format, ...] = (read_junit, read_json)
FORMATS: tuple[Format, ...] = (*DOCUMENTS, _read_go_json, _read_tap_file)


def count_document(data: bytes, formats: tuple[Format, ...] = FORMATS) -> TestCounts | None:
    """One report, in the first format that it is in; None when it is in none."""
    return next((found for found in (read(data) for read in formats) if found), None)


def count_reports(reports: Mapping[str, bytes], *, several_runners: bool) -> TestCounts | None:
    """All reports of one contract; None when there is none that can be read.

    Files of one format are parts of one report and are added; the same bytes twice are one file.
    Two formats are two runners where the contract calls several, otherwise the same tests told
    twice, and then the smaller one counts.
    """
    by_format: dict[str, TestCounts] = {}
    left = MOST_MARKS
    for data in dict.fromkeys(reports[name] for name in sorted(reports)):
        left -= sum(map(data.count, (b"<", b"\n", b"\x1b")))
        found = count_document(data) if left >= 0 else None
        if found:
            before = by_format.get(found.source)
            by_format[found.source] = found if before is None else before + found
    told = sorted(by_format.values(), key=lambda c: (c.passed, c.executed))
    if not told:
        return None
    total = told[0]
    for more in told[1:] if several_runners else ():
        total += more
    return total
