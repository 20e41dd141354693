"""`signoff cancel`: end a run for good."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.options import json_option, open_plan, plan_argument
from signoff.cli.show import answer_json, say
from signoff.usecases.cancel import cancel_run


@click.command("cancel")
@plan_argument
@click.option("--note", "why", default="", help="Why; kept in the ledger.")
@json_option
def cancel_command(plan: str | None, workspace: Path | None, why: str, as_json: bool) -> int:
    """End the plan's run as cancelled, and stop its driver."""
    site, place = open_plan(plan, workspace)
    report = cancel_run(site, place, why)
    if as_json:
        answer_json(plan=place.name, run=report.run, stopped=report.stopped)
    else:
        driver = f"; driver {report.stopped} was told to stop" if report.stopped else ""
        say(f"cancelled run {report.run}{driver}")
    return 0
