"""`signoff undo`: put back what an agent's calls changed, newest first."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, count, say_line
from signoff.domain.text import storable_path
from signoff.errors import UsageError
from signoff.usecases.undo import HowFar, Restoring, Step, UndoReport, Unrestored, undo_changes
from signoff.workspace.repository import find_repository

_SHOWN = {
    Restoring.RESTORE: "restored",
    Restoring.REMOVE: "removed",
    Restoring.LEAVE: "left, for other things are in it now",
    Restoring.CHANGED: "overwritten, though changed since",
    Restoring.UNSURE: "overwritten, though who changed it nobody knows",
    Restoring.BLOCKED: "not put back",
}
_WOULD = {
    Restoring.RESTORE: "would be restored",
    Restoring.REMOVE: "would be removed",
    Restoring.LEAVE: "would be left, for other things are in it now",
    Restoring.CHANGED: "was changed since by somebody else: only with --force",
    Restoring.UNSURE: "the call was cut off, and who changed it nobody knows: only with --force",
    Restoring.BLOCKED: "cannot be put back",
}


@click.command("undo")
@click.argument("changes", metavar="[N]", type=click.IntRange(1), required=False)
@click.option("--step", is_flag=True, help="Everything since the agent began its current step.")
@click.option("--all", "everything", is_flag=True, help="Everything that the session changed.")
@click.option("--session", metavar="ID", help="Of this session [default: the newest one here].")
@click.option("--workspace", type=click.Path(path_type=Path), help="Folder it worked in.")
@click.option("--dry-run", is_flag=True, help="Only say what would be put back.")
@click.option("--force", is_flag=True, help="Overwrite what somebody else changed since.")
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
    """Put back what the last N calls of an agent's session changed (one, unless you say more).

    Kept before each call: files with their permissions, links and empty folders; for commands the
    whole workspace but for what is ignored. What could not be kept is named. With --step the
    workspace goes back to where the agent began the step that it worked on last; without steps that
    is where the session began.

    All of it is put back, or nothing. What somebody else changed since is left alone, and so is
    everything then; --force overwrites it, and keeps what was there.

    Exit code 0: put back (or shown), 5: changed since by somebody else, or something in the way."""
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
    """What was put back, for people."""
    words = _SHOWN if report.undone else _WOULD
    for step in report.steps:
        blocked = f": {step.why}" if step.doing is Restoring.BLOCKED else ""
        say_line(f"{step.number}. {storable_path(step.path)}: {words[step.doing]}{blocked}")
    for one in report.lost:
        name = storable_path(one.lost.path) or "something"
        say_line(f"{one.number}. {name}: cannot be put back: {one.lost.text}")
    if not report.steps and not report.lost:
        say_line("nothing was changed since then")
    say_line(f"{report.session}: {count(report.left, 'change')} left that can be undone")


def undo_json(report: UndoReport) -> dict[str, object]:
    """The same as data."""
    return {
        "session": report.session,
        "undone": report.undone,
        "left": report.left,
        "files": [_file(step) for step in report.steps],
        "lost": [_lost(one) for one in report.lost],
    }


def _file(step: Step) -> dict[str, object]:
    said = {"change": step.number, "path": storable_path(step.path), "doing": step.doing}
    return {**said, "why": step.why} if step.why else said


def _lost(one: Unrestored) -> dict[str, object]:
    path = storable_path(one.lost.path)
    return {"change": one.number, "path": path or None, "why": one.lost.why, "text": one.lost.text}
