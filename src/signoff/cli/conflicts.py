"""`signoff conflicts`: what cloud drives and lost races left in the vault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from signoff.cli.options import json_option
from signoff.cli.show import answer_json, note, picked, say_line
from signoff.errors import Exit
from signoff.storage.location import find_vault
from signoff.storage.vault import Vault
from signoff.usecases.conflicts import Conflict, find_conflicts, merge_conflicts


@click.group("conflicts", invoke_without_command=True)
@json_option
@click.pass_context
def conflicts_command(ctx: click.Context, as_json: bool) -> int:
    """List conflict copies of plans and progress files.

    Cloud drives make such copies when two machines change the same file. A plan's text that came
    too late (signoff edit) is kept there too. Copies are never deleted and never used as plans.

    Exit code 0: none, 1: some."""
    if ctx.invoked_subcommand is not None:
        return Exit.YES
    found = find_conflicts(_vault())
    if as_json:
        answer_json(conflicts=[_json(conflict) for conflict in found])
    else:
        _show(found)
    return Exit.NOT_DONE if found else Exit.YES


@conflicts_command.command("merge")
@click.argument("name", required=False)
@json_option
def merge_command(name: str | None, as_json: bool) -> int:
    """Merge conflict copies of progress files, line by line.

    Every line is kept once, in the order of time; the originals go to the vault's folder
    conflicts-kept. Copies of plans are only listed: you decide which text is right."""
    report = merge_conflicts(_vault(), name)
    if as_json:
        answer_json(
            merged=[picked(merged, "progress copies kept") for merged in report.merged],
            left=[_json(conflict) for conflict in report.left],
        )
        return Exit.YES
    for merged in report.merged:
        names = ", ".join(f"`{path.name}`" for path in merged.copies)
        say_line(f"merged {names} into {merged.progress}")
        for path in merged.kept:
            note(f"kept {path}")
    if not report.merged:
        none = "no progress file has a" if report.wanted is None else f"{report.wanted.name} has no"
        say_line(f"nothing was merged: {none} conflict copy that can be merged")
    _show(report.left)
    return Exit.YES


def _vault() -> Vault:
    return Vault(find_vault(Path.cwd(), os.environ).folder)


def _json(conflict: Conflict) -> dict[str, Any]:
    return picked(conflict, "path original kind next")


def _show(found: tuple[Conflict, ...]) -> None:
    for conflict in found:
        say_line(f"{conflict.kind}  {conflict.path.name}  of {conflict.original.name}")
        say_line(f"    next: {conflict.next}")
