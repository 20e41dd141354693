"""`signoff doctor`: what this machine offers, and what is missing."""

from __future__ import annotations

import os
from pathlib import Path

import click
from msgspec.structs import asdict

from signoff.cli.options import json_option
from signoff.cli.show import answer_json, say_line
from signoff.errors import Exit
from signoff.usecases.doctor import examine


@click.command("doctor")
@json_option
def doctor_command(as_json: bool) -> int:
    """Check this machine and the vault, and say what to do.

    Checks tools, sandboxes, configuration, roles, home, database, plans, bindings, conflict
    copies, worktrees and installed hooks.

    Exit code 0: signoff can work here (WARN: something could be better), 1: it cannot (FAIL)."""
    report = examine(os.environ, Path.cwd())
    if as_json:
        checks = [asdict(check) for check in report.checks]
        answer_json(healthy=report.healthy, checks=checks)
    else:
        for check in report.checks:
            say_line(f"{check.health.upper():4}  {check.name}: {check.detail}")
            if check.next:
                say_line(f"      next: {check.next}")
    return Exit.YES if report.healthy else Exit.NOT_DONE
