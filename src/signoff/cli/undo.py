"""`signoff undo`: put back what an agent's calls changed, newest first."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, count, say_line
from signoff.domain.text import storable_path
from signoff.errors import UsageError
from signoff.usecases.undo import HowFar, Lost, Restoring, UndoReport, UndoStep, undo_changes
from signoff.workspace.folders import find_repository

_SHOWN = {
    Restoring.RESTORE: "restored",
    Restoring.REMOVE: "removed",
    Restoring.LEAVE: "left: other things are in it now",
    Restoring.CHANGED: "overwritten, although somebody changed it since",
    Restoring.BLOCKED: "not put back",
}
_WOULD = {
    Restoring.RESTORE: "would be restored",
    Restoring.REMOVE: "would be removed",
    Restoring.LEAVE: "would be left: other things are in it now",
    Restoring.CHANGED: "was changed since by somebody else: restored only with --force",
    Restoring.BLOCKED: "cannot be put back",
}


@click.command("undo")
@click.argument("changes", metavar="[N]", type=click.IntRange(1), required=False)
@click.option(
    "--step", is_flag=True, help="Undo everything since the agent began its current step."
)
@click.option("--all", "everything", is_flag=True, help="Undo everything that the session changed.")
@click.option("--session", metavar="ID", help="The session [default: the newest one here].")
@click.option("--workspace", type=click.Path(path_type=Path), help="Folder the agent worked in.")
@click.option("--dry-run", is_flag=True, help="Only show what would be restored.")
@click.option("--force", is_flag=True, help="Also overwrite what somebody else changed since.")
@json_option
def undo_command(
    changes: int | None,
    step: bool,
    everything: bool,
    session: str | None,
    workspace: Path | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Undo what the last N calls of an agent's session changed (default: one call).

    Before each call signoff keeps the whole workspace, with permissions, links and empty folders,
    except ignored files. What could not be kept is named. --step goes back to the start of the
    agent's last step, or of the session.

    Either everything is restored or nothing. If somebody else changed one of the files since,
    nothing is; --force overwrites it and keeps a copy.

    Exit code 0: restored (or shown), 5: changed by somebody else, or something is in the way."""
    report = undo_changes(
        open_here(),
        _folder(workspace),
        _how_far(changes, step, everything),
        session=session,
        force=force,
        dry_run=dry_run,
    )
    if as_json:
        answer_json(**undo_json(report))
    else:
        show_undo(report)
    return 0


def _how_far(changes: int | None, step: bool, everything: bool) -> int | HowFar:
    if (changes is not None) + step + everything > 1:
        raise UsageError("N, --step and --all exclude each other", "signoff undo --help")
    if step or everything:
        return HowFar.STEP if step else HowFar.ALL
    return changes or 1


def _folder(workspace: Path | None) -> Path:
    here = Path.cwd()
    if workspace is not None:
        return (here / workspace).resolve()
    repository = find_repository(here)
    return (repository.top if repository else here).resolve()


def show_undo(report: UndoReport) -> None:
    """Show people what was put back."""
    words = _SHOWN if report.undone else _WOULD
    for step in report.steps:
        blocked = f": {step.why}" if step.doing is Restoring.BLOCKED else ""
        say_line(f"{step.number}. {storable_path(step.path)}: {words[step.doing]}{blocked}")
    for one in report.lost:
        name = storable_path(one.path) or "something"
        say_line(f"{one.number}. {name}: cannot be put back: {one.text}")
    if not report.steps and not report.lost:
        say_line("nothing was changed since then")
    say_line(f"{report.session}: {count(report.left, 'change')} left that can be undone")


def undo_json(report: UndoReport) -> dict[str, object]:
    """The undo report as data."""
    return {
        "session": report.session,
        "undone": report.undone,
        "left": report.left,
        "files": [_file(step) for step in report.steps],
        "lost": [_lost(one) for one in report.lost],
    }


def _file(step: UndoStep) -> dict[str, object]:
    said = {"change": step.number, "path": storable_path(step.path), "doing": step.doing}
    return {**said, "why": step.why} if step.why else said


def _lost(one: Lost) -> dict[str, object]:
    path = storable_path(one.path)
    return {"change": one.number, "path": path or None, "why": one.why, "text": one.text}
