"""`signoff verify`: findings with line numbers."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.opening import agent_roles
from signoff.cli.options import (
    agent_option,
    json_option,
    no_write_option,
    plan_argument,
    role_option,
)
from signoff.cli.plain import tell_findings


@click.command("verify")
@plan_argument
@agent_option
@role_option
@no_write_option
@json_option
def verify_command(
    plan: str | None,
    workspace: Path | None,
    agent: str | None,
    model: str | None,
    roles: dict[str, str],
    no_write: bool,
    as_json: bool,
) -> int:
    """Check a plan without running anything.

    A draft without errors becomes verified; warnings and notes stop nothing."""
    roles = agent_roles(plan, workspace, agent, model) | roles
    return tell_findings(plan, workspace, roles, as_json, no_write)
