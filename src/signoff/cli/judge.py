"""`signoff judge`: how good the opinions of your model are."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import to_builtins

from signoff.cli.opening import open_plan
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, note, say_line

MOST = 100


@click.group("judge")
def judge_command() -> None:
    """Opinions of your model: how good they are."""


@judge_command.command("calibrate")
@click.argument("plan")
@click.argument("step", required=False)
@click.option("--workspace", type=click.Path(path_type=Path), help="Folder the work happens in.")
@click.option(
    "--most",
    type=click.IntRange(1, MOST),
    default=9,
    show_default=True,
    help="Wrong versions that are made of each step's work.",
)
@json_option
def calibrate_command(
    plan: str, step: str | None, workspace: Path | None, most: int, as_json: bool
) -> int:
    """Ask your model about wrong versions of accepted work.

    Every accepted step of PLAN with a rubric is asked about, or STEP alone: once as it was
    accepted, then in wrong versions. Shows how many of those the model refuses, and whether it
    refuses the right one. Costs what the model of [judge] costs; changes nothing in the workspace.
    """
    from signoff.usecases.calibrate import calibrate  # noqa: PLC0415 - grammars load slowly

    opened = open_plan(plan, workspace)
    report = calibrate(opened.harness, opened.place, step, most, note)
    if as_json:
        answer_json(**to_builtins(report))
        return 0
    for asked in report.asked:
        kind = "wrong" if asked.wrong else "right"
        why = f": {asked.why}" if asked.why else ""
        say_line(f"step {asked.step}  {kind}  {asked.result}  {asked.what}{why}")
    say_line(f"opinions of {report.model}, no proof: {report.measured}")
    return 0
