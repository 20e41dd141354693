"""`signoff conflicts`: what cloud drives and lost races left in the vault."""

from __future__ import annotations

import os
from pathlib import Path

import click

from signoff.cli.options import json_option
from signoff.cli.show import answer_json, picked, say_line
from signoff.errors import Exit
from signoff.storage.active import find_vault
from signoff.storage.vault import Vault
from signoff.usecases.check import find_conflicts


@click.command("conflicts")
@json_option
def conflicts_command(as_json: bool) -> int:
    """List conflict copies of plans and progress files.

    Cloud drives make such copies when two machines change the same file. A plan's text that came
    too late (signoff edit) is kept there too. Copies are never merged, deleted or used as plans:
    you decide which text is right.

    Exit code 0: none, 1: some."""
    found = find_conflicts(Vault(find_vault(Path.cwd(), os.environ).folder))
    if as_json:
        answer_json(conflicts=[picked(conflict, "path original kind next") for conflict in found])
        return Exit.NOT_DONE if found else Exit.YES
    for conflict in found:
        say_line(f"{conflict.kind}  {conflict.path.name}  of {conflict.original.name}")
        say_line(f"    next: {conflict.next}")
    return Exit.NOT_DONE if found else Exit.YES
