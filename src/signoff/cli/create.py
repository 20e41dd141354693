"""`signoff init` and `signoff new`: first files."""

from __future__ import annotations

import shlex

import click

from signoff.cli.options import json_option, open_here
from signoff.cli.show import answer_json, note, say
from signoff.usecases.create import CreateReport, init, new_plan


@click.command("init")
@json_option
def init_command(as_json: bool) -> int:
    """Make a vault, signoff.toml and a first plan.

    Nothing that exists is overwritten."""
    report = init(open_here())
    _show(report, as_json)
    note("next: name your agent in signoff.toml, edit the plan, then signoff verify")
    return 0


@click.command("new")
@click.argument("name")
@click.option("--staged", is_flag=True, help="Put it into queued-plans until it is activated.")
@json_option
def new_command(name: str, staged: bool, as_json: bool) -> int:
    """Make a named plan in the vault."""
    report = new_plan(open_here(), name, staged=staged)
    _show(report, as_json)
    verb = "activate" if staged else "verify"
    note(f"next: edit it, then signoff {verb} {shlex.quote(report.name)}")
    return 0


def _show(report: CreateReport, as_json: bool) -> None:
    if as_json:
        answer_json(created=[str(p) for p in report.created], kept=[str(p) for p in report.kept])
        return
    for path in report.created:
        say(f"created {path}")
    for path in report.kept:
        say(f"kept {path} as it was")
