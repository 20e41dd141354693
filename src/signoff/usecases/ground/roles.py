"""Who plays the roles of a plan, and which of them only the command line named."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from signoff.domain.ledger import Kind
from signoff.domain.plan import Plan
from signoff.errors import SignoffError, UnknownRole
from signoff.settings.loading import (
    HUMAN_ROLE,
    REPOSITORY_FILE,
    Settings,
    load_settings,
    read_config_text,
)
from signoff.usecases.ground.history import PlanHistory, pinned_plan, read_pins
from signoff.usecases.ground.site import Site
from signoff.verification.pins import Pins


def role_words(roles: Mapping[str, str]) -> str:
    """The same roles to be typed again, behind a command."""
    return "".join(
        f" --role {shlex.quote(name)}={shlex.quote(command)}" for name, command in roles.items()
    )


def roles_given(site: Site, history: PlanHistory) -> dict[str, str]:
    """Roles of the newest run that no configuration has; of the plan's own only."""
    if history.run is None:
        return {}
    try:
        pins = read_pins(site.ledger, history.run)
        given = {**_given_at_approval(site, pins), **_given_at_run(history)}
        targets = {step.target for step in pinned_plan(pins).steps}
    except SignoffError:
        return {}  # what to type next is a help, and no reason to fail
    return {name: command for name, command in given.items() if name in targets}


def _given_at_approval(site: Site, pins: Pins) -> dict[str, str]:
    """Pinned commands that the file cannot have said: it has no such role, or is as it was."""
    workspace = Path(pins.workspace)
    now = load_settings(workspace, site.environ).roles
    unedited = read_config_text(workspace / REPOSITORY_FILE) == pins.config_text
    pinned = {name: str(role["command"]) for name, role in pins.settings["roles"].items()}
    return {
        name: command
        for name, command in pinned.items()
        if name not in now or (unedited and now[name].command != command)
    }


def _given_at_run(history: PlanHistory) -> dict[str, str]:
    given: dict[str, str] = {}
    for entry in history.entries:
        if entry.run == history.run_id and entry.kind in (Kind.RUN_STARTED, Kind.RUN_RESUMED):
            given |= entry.data.get("roles") or {}
    return given


def check_roles(plan: Plan, settings: Settings, search_path: str, workspace: Path) -> None:
    """Whether somebody is configured, and can be started, for every role of the plan."""
    from signoff.agents.command import check_role  # noqa: PLC0415 - loads what starts processes

    for target in dict.fromkeys(step.target for step in plan.steps):
        if target == HUMAN_ROLE:
            continue
        if target not in settings.roles:
            raise UnknownRole(
                f"nobody is configured for role `{target}`",
                f"add [roles.{target}] to signoff.toml, or --role {target}='COMMAND'",
            )
        check_role(settings.roles[target], search_path, workspace)
