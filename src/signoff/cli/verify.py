"""`signoff verify`: findings with line numbers."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.options import json_option, plan_argument, role_option
from signoff.cli.plain import tell_findings


@click.command("verify")
@plan_argument
@role_option
@json_option
def verify_command(
    plan: str | None, workspace: Path | None, roles: dict[str, str], as_json: bool
) -> int:
    """Check a plan without running anything.

    A draft without errors becomes verified; warnings and notes stop nothing."""
    return tell_findings(plan, workspace, roles, as_json)
