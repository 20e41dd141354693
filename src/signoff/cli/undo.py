"""`signoff undo`: put back what an agent's calls changed, newest first."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.options import json_option, open_here
from signoff.cli.show import count, say_json, say_line, versioned, wants_json
from signoff.domain.text import storable_path
from signoff.usecases.undo import Restoring, Step, UndoReport, undo_changes
from signoff.workspace import find_repository

_SHOWN = {
    Restoring.RESTORE: "restored",
    Restoring.REMOVE: "removed",
    Restoring.CHANGED: "overwritten, though changed since",
}
_WOULD = {
    Restoring.RESTORE: "would be restored",
    Restoring.REMOVE: "would be removed",
    Restoring.CHANGED: "was changed since by somebody else: only with --force",
}


@click.command("undo")
@click.argument("changes", metavar="[N]", type=click.IntRange(1), default=1)
@click.option("--session", metavar="ID", help="Of this session [default: the newest one here].")
@click.option("--workspace", type=click.Path(path_type=Path), help="Folder it worked in.")
@click.option("--dry-run", is_flag=True, help="Only say what would be put back.")
@click.option("--force", is_flag=True, help="Overwrite what somebody else changed since.")
@json_option
@click.pass_context
def undo_command(
    ctx: click.Context,
    changes: int,
    session: str | None,
    workspace: Path | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Put back what the last N calls of an agent's session changed.

    Every call that changes files is kept with what they held before: those of the file tools, and
    what a command changed. A file that somebody else changed since is left alone, and so is
    everything then; --force overwrites it, and keeps what it held.

    Exit code 0: put back (or shown), 5: changed since by somebody else."""
    machine = wants_json(ctx, as_json)
    here = Path.cwd()
    if workspace is not None:
        folder = (here / workspace).resolve()
    else:
        repository = find_repository(here)
        folder = (repository.top if repository else here).resolve()
    report = undo_changes(
        open_here(), folder, changes, session=session, force=force, dry_run=dry_run
    )
    if machine:
        say_json(versioned(**_body(report)))
    else:
        _show(report)
    return 0


def _show(report: UndoReport) -> None:
    words = _SHOWN if report.undone else _WOULD
    for step in report.steps:
        say_line(f"{step.number}. {storable_path(step.path)}: {words[step.doing]}")
    say_line(f"{report.session}: {count(report.left, 'change')} left that can be undone")


def _body(report: UndoReport) -> dict[str, object]:
    return {
        "session": report.session,
        "undone": report.undone,
        "left": report.left,
        "files": [_file(step) for step in report.steps],
    }


def _file(step: Step) -> dict[str, object]:
    return {"change": step.number, "path": storable_path(step.path), "doing": step.doing}
