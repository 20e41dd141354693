"""`signoff activate`: a staged plan becomes a plan of the vault."""

from __future__ import annotations

import shlex

import click

from signoff.cli.options import json_option, open_here
from signoff.cli.show import answer_json, note, say_line
from signoff.usecases.staging import activate


@click.command("activate")
@click.argument("name")
@click.option("--anyway", is_flag=True, help="Although everything it produces exists already.")
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
