"""`signoff gc`: give back disk space that nobody needs any more."""

from __future__ import annotations

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, note, say_line
from signoff.storage.home import shown_size
from signoff.usecases.gc import DEFAULT_DAYS, GcReport, collect_garbage


@click.command("gc")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option(
    "--older-than",
    "days",
    metavar="DAYS",
    type=click.FloatRange(0),
    default=DEFAULT_DAYS,
    show_default=True,
    help="Content of workspaces that are gone, and conversations, stay for so many days.",
)
@json_option
def gc_command(dry_run: bool, days: float, as_json: bool) -> int:
    """Give back disk space of the home folder that nobody needs any more.

    Removes clean rooms and what set-up commands made (both are made again), reports of runs that
    are over, conversations of sessions that nobody went on with, and the content of workspaces
    that are gone with all their plans. What an open run, undo, audit or a receipt needs stays, and
    so does everything that is in use."""
    tell = (lambda _: None) if as_json else (lambda text: note(f"looking at {text}"))
    report = collect_garbage(open_here(), days=days, dry_run=dry_run, tell=tell)
    if as_json:
        _answer(report)
    else:
        _show(report)
    return 0


def _answer(report: GcReport) -> None:
    answer_json(
        dry_run=report.dry_run,
        removed=[
            {"what": r.what.name.lower(), "path": str(r.path), "bytes": r.taken, "about": r.about}
            for r in report.removed
        ],
        left=[{"path": str(one.path), "why": one.why} for one in report.left],
        given_back_bytes=report.given_back,
        home_bytes=report.taken,
        content_bytes=report.content,
        quota_bytes=report.quota,
    )


def _show(report: GcReport) -> None:
    verb = "would remove" if report.dry_run else "removed"
    for one in report.removed:
        say_line(f"{verb} {shown_size(one.taken)}: {one.what} ({one.about})")
    for left in report.left:
        say_line(f"left {left.path.parent.name}/{left.path.name}: {left.why}")
    if report.content:
        say_line(
            f"kept {shown_size(report.content)} of content, which audit, diff and undo may ask for:"
            " each version of a file once, compressed, so there is nothing to pack again"
        )
    would = "would give back" if report.dry_run else "gave back"
    quota = "" if report.quota is None else f", and the quota is {shown_size(report.quota)}"
    say_line(
        f"{would} {shown_size(report.given_back)}; "
        f"the home folder takes {shown_size(report.taken)}{quota}"
    )
