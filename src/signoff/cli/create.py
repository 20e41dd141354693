"""`signoff init` and `signoff new`: first files."""

from __future__ import annotations

import shlex

import click

from signoff.cli.options import json_option, open_here
from signoff.cli.show import note, say, say_json, versioned, wants_json
from signoff.usecases.create import CreateReport, init, new_plan


@click.command("init")
@json_option
@click.pass_context
def init_command(ctx: click.Context, as_json: bool) -> int:
    """Make a vault, signoff.toml and a first plan.

    Nothing that exists is overwritten."""
    report = init(open_here())
    _show(report, wants_json(ctx, as_json))
    note("next: name your agent in signoff.toml, edit the plan, then signoff verify")
    return 0


@click.command("new")
@click.argument("name")
@click.option("--staged", is_flag=True, help="Put it into queued-plans until it is activated.")
@json_option
@click.pass_context
def new_command(ctx: click.Context, name: str, staged: bool, as_json: bool) -> int:
    """Make a named plan in the vault."""
    report = new_plan(open_here(), name, staged=staged)
    _show(report, wants_json(ctx, as_json))
    verb = "activate" if staged else "verify"
    note(f"next: edit it, then signoff {verb} {shlex.quote(report.name)}")
    return 0


def _show(report: CreateReport, as_json: bool) -> None:
    if as_json:
        say_json(
            versioned(created=[str(p) for p in report.created], kept=[str(p) for p in report.kept])
        )
        return
    for path in report.created:
        say(f"created {path}")
    for path in report.kept:
        say(f"kept {path} as it was")
