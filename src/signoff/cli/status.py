"""`signoff status`: where a plan stands, computed from the ledger."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.options import json_option, plan_argument
from signoff.cli.plain import tell_status


@click.command("status")
@plan_argument
@click.option("--strict", is_flag=True, help="Waived steps count as not done (exit 1).")
@json_option
def status_command(plan: str | None, workspace: Path | None, strict: bool, as_json: bool) -> int:
    """Show which steps of a plan are done and what is missing.

    PLAN may also be the id of a session (signoff sessions). Exit code 0: done, 1: not done,
    6: waiting for a person."""
    return tell_status(plan, workspace, strict, as_json)
