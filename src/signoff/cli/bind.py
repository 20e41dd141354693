"""`signoff bind` and `signoff unbind`: which plan the worktree around here works on."""

from __future__ import annotations

import click

from signoff.cli.options import json_option, open_here
from signoff.cli.show import answer_json, say_line
from signoff.usecases.bind import BindReport, bind, unbind


@click.command("bind")
@click.argument("name")
@json_option
def bind_command(name: str, as_json: bool) -> int:
    """Bind this worktree to a plan.

    The binding is kept in the ledger; the marker .harness/active-plan only shows it. From then
    on verbs without PLAN are about this plan here."""
    _show(bind(open_here(), name), as_json)
    return 0


@click.command("unbind")
@json_option
def unbind_command(as_json: bool) -> int:
    """Take this worktree's binding to a plan back."""
    _show(unbind(open_here()), as_json)
    return 0


def _show(report: BindReport, as_json: bool) -> None:
    if as_json:
        body = {"worktree": str(report.worktree), "plan": report.plan, "was": report.was}
        answer_json(**body)
    elif report.plan is not None:
        before = f" (was `{report.was}`)" if report.was not in (None, report.plan) else ""
        say_line(f"`{report.worktree}` works on plan `{report.plan}`{before}")
    else:
        before = f"; it was bound to `{report.was}`" if report.was else ""
        say_line(f"`{report.worktree}` is bound to no plan{before}")
