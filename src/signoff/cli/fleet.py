"""`signoff run --all`: every ready plan at once, told line by line."""

from __future__ import annotations

import os
import signal
import sys
import threading

from signoff.cli.opening import open_here
from signoff.cli.show import answer_json, say_line
from signoff.domain.names import shown_name
from signoff.domain.text import escape_line
from signoff.settings.loading import MOST_JOBS
from signoff.usecases.fleet import FleetOptions, FleetReport, drive_all


def run_all(
    jobs: int | None,
    yes: bool,
    roles: dict[str, str],
    as_json: bool,
    agent: tuple[str | None, str | None] = (None, None),
) -> int:
    """Drive every ready plan; each line of progress says whose it is."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    options = FleetOptions(
        jobs or min(os.cpu_count() or 1, MOST_JOBS), yes, roles, stop.is_set, agent
    )
    report = drive_all(open_here(), options, _tell)
    if as_json:
        answer_json(**_json(report))
    else:
        for plan in report.plans:
            why = f": {plan.why}" if plan.why else ""
            say_line(f"{plan.ended:<20} {shown_name(plan.name)}{why}")
    return report.exit_code


def _tell(plan: str, line: str) -> None:
    # One write per line: several plans talk at once.
    sys.stderr.write(f"{escape_line(shown_name(plan))} | {escape_line(line)}\n")


def _json(report: FleetReport) -> dict[str, object]:
    return {
        "plans": [{"plan": p.name, "ended": p.ended, "why": p.why or None} for p in report.plans],
        "merged": list(report.merged),
    }
