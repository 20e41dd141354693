"""The result as people and programs read it."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass

from signoff.domain.verdict import Isolation
from truth.corpus import Corpus, Filed
from truth.report import Report

SCHEMA_VERSION = 1
SLOWEST = 3


@dataclass(frozen=True)
class Tally:
    """Everything that came of one isolation."""

    isolation: Isolation
    reports: tuple[Report, ...]
    left_out: tuple[tuple[Filed, str], ...]

    @property
    def as_it_should_be(self) -> bool:
        """Whether no case has a complaint."""
        return not any(report.complaints for report in self.reports)

    @property
    def result_line(self) -> str:
        """The one line to quote."""
        hostile, honest = self._of(Corpus.ADVERSARY), self._of(Corpus.HONEST)
        return (
            f"adversary: {sum(r.accepted for r in hostile)} of {len(hostile)} accepted; "
            f"honest: {sum(not r.complaints for r in honest)} of {len(honest)} accepted"
        )

    def _of(self, corpus: Corpus) -> list[Report]:
        return [r for r in self.reports if r.corpus == corpus]


def show(tally: Tally) -> None:
    """Failures first, then a table, then the result line."""
    print(f"isolation: {tally.isolation}\n")
    for report in tally.reports:
        if report.complaints:
            _show_failure(report)
    _show_table(tally)
    for filed, why in tally.left_out:
        print(f"left out ({why}): {filed.case.name}")
    for report in sorted(tally.reports, key=lambda r: -r.duration_s)[:SLOWEST]:
        print(f"slow: {report.duration_s:.1f} s  {report.name}")
    print(f"\n{tally.result_line}", flush=True)


def as_json(tallies: list[Tally]) -> str:
    """The same for programs."""
    found = [
        {
            "isolation": tally.isolation,
            "result": tally.result_line,
            "ok": tally.as_it_should_be,
            "cases": [asdict(report) for report in tally.reports],
            "left_out": [{"name": f.case.name, "why": why} for f, why in tally.left_out],
        }
        for tally in tallies
    ]
    return json.dumps({"schema_version": SCHEMA_VERSION, "isolations": found}, indent=1)


def _show_failure(report: Report) -> None:
    print(f"NOT AS IT SHOULD BE: {report.name} ({report.corpus}, {report.group})")
    for complaint in report.complaints:
        print("  " + complaint.replace("\n", "\n    "))
    for line in report.ledger:
        print(f"  | {line}")
    print()


def _show_table(tally: Tally) -> None:
    groups: dict[tuple[str, str], list[Report]] = defaultdict(list)
    for report in tally.reports:
        groups[report.corpus, report.group].append(report)
    print(f"{'corpus':<10} {'group':<24} {'cases':>5} {'accepted':>8} {'wrong':>5} {'seconds':>8}")
    for (corpus, group), reports in sorted(groups.items()):
        accepted = sum(r.accepted for r in reports)
        wrong = sum(bool(r.complaints) for r in reports)
        seconds = sum(r.duration_s for r in reports)
        print(
            f"{corpus:<10} {group:<24} {len(reports):>5} {accepted:>8} {wrong:>5} {seconds:>8.1f}"
        )
