"""`signoff worktree`: a checkout of its own for every plan."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, count, note, picked, say, say_line
from signoff.usecases.worktree import Pruned, WorktreeLine, add, list_all, prune, remove

_PATH = click.Path(path_type=Path)


@click.group("worktree")
def worktree_command() -> None:
    """Worktrees: one plan, one branch, one checkout each."""


@worktree_command.command("add")
@click.argument("name")
@click.option("--path", type=_PATH, help="Folder to create [default: REPOSITORY.worktrees/NAME].")
@click.option("--base", help="Branch to start from [default: the main checkout's].")
@click.option(
    "--adopt", is_flag=True, help="Use an existing branch although it has unmerged commits."
)
@json_option
def add_command(name: str, path: Path | None, base: str | None, adopt: bool, as_json: bool) -> int:
    """Create a worktree on branch plan/NAME, bound to the plan.

    The vault stays in the main checkout and serves all worktrees. A new one gets copies of what
    `[lanes] share` names, and `[setup] command` runs in it, in a sandbox; a failure is told."""
    seen = add(open_here(), name, path, base, adopt=adopt)
    if as_json:
        answer_json(**_json(seen), notes=list(seen.notes))
    else:
        say_line(f"{seen.path}")
        for text in seen.notes:
            note(text)
        run = f"signoff run {shlex.quote(seen.plan or name)}"
        note(f"branch {seen.branch}, bound to plan {seen.plan}; next: {run}")
    return 0


@worktree_command.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List this repository's checkouts, their plans and unfinished work."""
    found = list_all(open_here())
    if as_json:
        answer_json(worktrees=[_json(seen) for seen in found])
        return 0
    for seen in found:
        say_line(_line(seen))
    return 0


@worktree_command.command("remove")
@click.argument("name")
@click.option("--force", is_flag=True, help="Remove it even if work is lost.")
@json_option
def remove_command(name: str, force: bool, as_json: bool) -> int:
    """Remove a worktree, by plan or by path; its branch stays.

    Refused (exit 5) when it has uncommitted files or commits that are nowhere else; they are
    listed."""
    seen = remove(open_here(), name, force=force)
    if as_json:
        answer_json(**_json(seen))
    else:
        say_line(f"removed {seen.path}")
    return 0


@worktree_command.command("prune")
@json_option
def prune_command(as_json: bool) -> int:
    """Remove worktrees whose plan is merged, or whose folder is gone."""
    found = prune(open_here())
    if as_json:
        answer_json(worktrees=[_pruned_json(pruned) for pruned in found])
        return 0
    for pruned in found:
        say_line(f"{pruned.fate} {pruned.path}: {pruned.why}")
    if not found:
        say("nothing to prune")
    return 0


def _line(seen: WorktreeLine) -> str:
    what = "main checkout" if seen.is_main else (seen.plan or "bound to no plan")
    where = f"{seen.path}  {seen.branch or 'detached'}  {what}"
    lost = seen.unfinished
    if lost is None:
        return where if seen.state == "present" else f"{where}  {seen.state}"
    return (
        f"{where}  unfinished: {count(len(lost.uncommitted), 'path')}, "
        f"{count(len(lost.commits), 'commit')} not in the base"
    )


def _json(seen: WorktreeLine) -> dict[str, Any]:
    lost = seen.unfinished
    return {
        **picked(seen, "path branch plan state"),
        "main": seen.is_main,
        "unfinished": {
            "paths": list(lost.uncommitted) if lost else [],
            "commits": [commit.id for commit in lost.commits] if lost else [],
        },
    }


def _pruned_json(pruned: Pruned) -> dict[str, Any]:
    return picked(pruned, "path plan fate why")
