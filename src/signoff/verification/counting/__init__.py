"""Test counts: how many tests a contract ran, read from its reports and from what it printed.

What this can prove. Counts are evidence against honest mistakes and simple lies: tests deleted,
deselected or skipped, a runner that found nothing, a summary line printed by the product. Where
two sources disagree the smaller one counts, so a forger has to silence the runner as well.

What it cannot prove. The product runs inside the runner's process with the runner's rights. Code
that prints a summary and ends the process (`os._exit(0)`), or that rewrites the runner in memory,
can say anything, in reports as well as on the streams. Only an isolated check (held-out contracts,
protected tests, red first) answers that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from signoff.domain.counts import TestCounts
from signoff.verification.counting.printed import count_printed, lines_of
from signoff.verification.counting.reports import (
    DOCUMENTS,
    REPORT_DIR_VARIABLE,
    count_document,
    count_reports,
    read_reports,
)
from signoff.verification.counting.sight import look_at, runs_only_tests, tools_called

__all__ = [
    "REPORT_DIR_VARIABLE",
    "SAYS_FILES",
    "count_files",
    "count_tests",
    "look_at",
    "read_reports",
    "runs_only_tests",
    "tools_called",
]
# Checkers that say how many files they looked at, whether they find fault or not.
SAYS_FILES = frozenset(
    (
        *("mypy", "dmypy", "black", "ruff format", "rubocop"),
        *("biome", "oxlint", "deno lint", "swiftlint"),
    )
)
_FILES = r"([0-9]{1,9}) (?:source )?files?"
_CHECKED = re.compile(
    rf"(?:Success: no issues found in|Found .* \(checked|Checked|(?:Finished|Done) .* (?:on|in)) "
    rf"{_FILES}(?:\W.*)?|{_FILES} (?:inspected|checked|linted)\b.*"
    r"|((?:[0-9]{1,9} files? (?:would |be |left |already |unchanged|(?:re)?formatted)+(?:, )?)+)\.?"
)


def count_tests(
    command: str,
    stdout: bytes,
    stderr: bytes,
    reports: Mapping[str, bytes],
    *,
    recipes: Sequence[str] = (),
    ended_well: bool = True,
) -> TestCounts | None:
    """What one run of a contract says about its tests; None when it says nothing.

    The streams may have a gap in the middle. `reports` must come from a folder that was empty when
    the contract started (`read_reports`): a report of an earlier run is not evidence. `recipes` are
    texts that the contract runs indirectly: where it shows no runner itself, they say how often
    one is called, and other runners may still be behind them.
    """
    sight = look_at(command)
    if sight.nothing_can_run:
        return None
    if recipes and not sight.calls:
        sight = replace(look_at("\n".join(recipes)), shows_all=False)
    shown = count_printed(sight, (lines_of(stdout), lines_of(stderr)), ended_well=ended_well)
    if shown is None and sight.calls:
        shown = count_document(stdout, DOCUMENTS)
    return _smaller(count_reports(reports, several_runners=len(sight.calls) > 1), shown)


def count_files(texts: Sequence[str], stdout: bytes, stderr: bytes) -> int:
    """How many files the checkers in these texts say they looked at; 0 where they do not say."""
    if not any(tools_called(text) & SAYS_FILES for text in texts):
        return 0
    lines = (line for data in (stdout, stderr) for line in lines_of(data) if len(line) < 1_000)
    found = (match[match.lastindex or 0] for match in map(_CHECKED.fullmatch, lines) if match)
    return sum(int(number) for told in found for number in re.findall("[0-9]+", told))


def _smaller(reported: TestCounts | None, shown: TestCounts | None) -> TestCounts | None:
    """Report and text of the same tests: what both admit, with everything either left out."""
    if reported is None or shown is None:
        return reported or shown
    least, most = sorted((reported, shown), key=lambda c: (c.passed, c.executed))
    agree = (least.passed, least.executed) == (most.passed, most.executed)
    return replace(
        least,
        source=reported.source if agree else f"{least.source}, less than {most.source}",
        skipped=max(least.skipped, most.skipped),
        deselected=max(least.deselected, most.deselected),
        cut_short=least.cut_short or most.cut_short,
        names={**most.names, **least.names},
    )
