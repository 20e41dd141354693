"""Verbs about plan files and bindings: init, new, activate, progress, bind, unbind, cancel."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from signoff.cli.opening import open_here, open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.show import answer_json, note, say, say_line
from signoff.usecases.cancel import cancel_run
from signoff.usecases.create import CreateReport, activate, init, new_plan
from signoff.usecases.harness import find_plan
from signoff.usecases.journal import add_progress, progress_of
from signoff.usecases.worktree import BindReport, bind


@click.command("init")
@json_option
def init_command(as_json: bool) -> int:
    """Create a vault, signoff.toml and a first plan.

    Nothing that exists is overwritten."""
    report = init(open_here())
    _show_files(report, as_json)
    if report.agents:
        note(f"agents found here: {', '.join(report.agents)}; `coder` is {report.agents[0]}")
    name = "" if report.agents else "name your agent in signoff.toml, "
    note(f"next: {name}edit the plan, then signoff verify")
    return 0


@click.command("new")
@click.argument("name")
@click.option(
    "--staged",
    is_flag=True,
    help="Create it in queued-plans; `signoff activate` moves it into the vault.",
)
@json_option
def new_command(name: str, staged: bool, as_json: bool) -> int:
    """Create a named plan in the vault."""
    report = new_plan(open_here(), name, staged=staged)
    _show_files(report, as_json)
    verb = "activate" if staged else "verify"
    note(f"next: edit it, then signoff {verb} {shlex.quote(report.name)}")
    return 0


def _show_files(report: CreateReport, as_json: bool) -> None:
    if as_json:
        answer_json(created=[str(p) for p in report.created], kept=[str(p) for p in report.kept])
        return
    for path in report.created:
        say(f"created {path}")
    for path in report.kept:
        say(f"kept {path} as it was")


@click.command("activate")
@click.argument("name")
@click.option("--anyway", is_flag=True, help="Also when everything it produces exists already.")
@json_option
def activate_command(name: str, anyway: bool, as_json: bool) -> int:
    """Move a staged plan from queued-plans into the vault.

    Refused when the plan exists, or when everything it produces exists already."""
    report = activate(open_here(), name, anyway=anyway)
    if as_json:
        body = {"plan": report.name, "path": str(report.path), "file_digest": report.digest}
        answer_json(**body)
    else:
        say_line(f"activated {report.path}")
        note(f"next: signoff verify {shlex.quote(report.name)}")
    return 0


@click.command("progress")
@click.argument("plan", required=False)
@click.option("--add", "text", metavar="TEXT", help="Append one line instead of showing any.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N lines.")
@json_option
def progress_command(plan: str | None, text: str | None, last: int | None, as_json: bool) -> int:
    """Show a plan's progress, or add a line to it.

    Lines are only appended, with time, author, run and step. They are notes for people: nothing is
    decided by them."""
    place = find_plan(Path.cwd(), plan, even_gone=text is None, staged=text is None)
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


@click.command("bind")
@click.argument("name")
@json_option
def bind_command(name: str, as_json: bool) -> int:
    """Bind this worktree to a plan.

    In a bound worktree, commands without PLAN use this plan. The ledger records the binding;
    the file .harness/active-plan only shows it."""
    _show_binding(bind(open_here(), name), as_json)
    return 0


@click.command("unbind")
@json_option
def unbind_command(as_json: bool) -> int:
    """Unbind this worktree."""
    _show_binding(bind(open_here(), None), as_json)
    return 0


def _show_binding(report: BindReport, as_json: bool) -> None:
    if as_json:
        body = {"worktree": str(report.worktree), "plan": report.plan, "was": report.was}
        answer_json(**body)
    elif report.plan is not None:
        before = f" (was `{report.was}`)" if report.was not in (None, report.plan) else ""
        say_line(f"`{report.worktree}` works on plan `{report.plan}`{before}")
    else:
        before = f"; it was bound to `{report.was}`" if report.was else ""
        say_line(f"`{report.worktree}` is bound to no plan{before}")


@click.command("cancel")
@plan_argument
@click.option("--note", "why", default="", help="The reason; recorded in the ledger.")
@json_option
def cancel_command(plan: str | None, workspace: Path | None, why: str, as_json: bool) -> int:
    """Cancel a plan's run and stop its driver."""
    harness, place = open_plan(plan, workspace, staged=False)
    report = cancel_run(harness, place, why)
    if as_json:
        answer_json(plan=place.name, run=report.run, stopped=report.stopped)
    else:
        driver = f"; driver {report.stopped} was told to stop" if report.stopped else ""
        say(f"cancelled run {report.run}{driver}")
    return 0
