"""`signoff diff`: the plan against its pin, and the work against the approved content."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.opening import open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.show import answer_json, count, note, say, say_line, short
from signoff.domain.text import storable_path
from signoff.errors import UsageError
from signoff.usecases.diff import diff_plan


@click.command("diff")
@plan_argument
@click.option("--step", help="Only what the newest attempt at this step changed.")
@click.option("--attempt", type=int, help="With --step: which attempt.")
@json_option
def diff_command(
    plan: str | None, workspace: Path | None, step: str | None, attempt: int | None, as_json: bool
) -> int:
    """Show what changed since approval.

    With --step, only what one attempt at that step changed."""
    if attempt is not None and step is None:
        raise UsageError("--attempt needs the step it is about", "add --step STEP")
    harness, place = open_plan(plan, workspace)
    report = diff_plan(harness, place, step, attempt)
    changes = [{"path": storable_path(c.path), "kind": c.kind} for c in report.changes]
    if as_json:
        answer_json(
            plan=place.name,
            plan_diff=report.plan,
            old=report.old,
            new=report.new,
            changes=changes,
            content_diff=report.content,
        )
        return 0
    if report.plan:
        say(report.plan)
    say(f"content {short(report.old)} → {short(report.new)}: {count(len(changes), 'file')} changed")
    for change in changes:
        say_line(f"  {change['kind']} {change['path']}")
    if report.content:
        say(report.content.rstrip("\n"))
    if report.next:
        note(f"next: {report.next}")
    return 0
