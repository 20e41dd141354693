"""`signoff progress`: the plan's progress file, read and written line by line."""

from __future__ import annotations

import os
from pathlib import Path

import click

from signoff.cli.options import json_option
from signoff.cli.show import answer_json, note, say_line
from signoff.usecases.ground.site import find_plan
from signoff.usecases.progress import add_progress, progress_of


@click.command("progress")
@click.argument("plan", required=False)
@click.option("--add", "text", metavar="TEXT", help="Append one line instead of showing any.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N lines.")
@json_option
def progress_command(plan: str | None, text: str | None, last: int | None, as_json: bool) -> int:
    """Show a plan's progress, or add a line to it.

    Lines are only ever appended, with time, author, run and step. They are for reading along:
    nothing is decided by them."""
    place = find_plan(Path.cwd(), plan)
    report = add_progress(place, text, os.environ) if text is not None else progress_of(place, last)
    if as_json:
        body = {"plan": place.name, "path": str(report.path), "lines": list(report.lines)}
        answer_json(**body)
        return 0
    for line in report.lines:
        say_line(line)
    if not report.lines:
        note(f"no progress yet: {report.path}")
    return 0
