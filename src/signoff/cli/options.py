"""Arguments that several verbs share."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from signoff.domain.session import SESSION_ID
from signoff.usecases.ground.site import PlanPlace, Site, find_plan
from signoff.wiring import open_site

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """`--json` behind the verb; `signoff --json VERB` means the same."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        callback=lambda ctx, _param, given: given or bool((ctx.find_root().obj or {}).get("json")),
        help="Machine-readable output.",
    )(command)


def plan_argument(command: F) -> F:
    """PLAN and the workspace it is about."""
    command = click.option(
        "--workspace",
        type=click.Path(path_type=Path),
        help="Folder the plan is about [default: git top level around the plan file].",
    )(command)
    return click.argument("plan", required=False)(command)


def role_option(command: F) -> F:
    """`--role NAME='COMMAND'`, as often as needed."""
    return click.option(
        "--role",
        "roles",
        multiple=True,
        metavar="NAME='COMMAND'",
        callback=_read_roles,
        help="Who does the steps of this role; the prompt goes to stdin or to {prompt}.",
    )(command)


def worker_option(command: F) -> F:
    """`--worker NAME`: who asks."""
    return click.option(
        "--worker",
        metavar="NAME",
        help="Who works: claims are kept by name [default: $SIGNOFF_WORKER, else the caller].",
    )(command)


class Opened(NamedTuple):
    """A plan and the site it is worked on from."""

    site: Site
    place: PlanPlace


def open_plan(
    plan: str | None, workspace: Path | None = None, roles: dict[str, str] | None = None
) -> Opened:
    """Find the plan, then open home, ledger and the configuration of its workspace."""
    cwd = Path.cwd()
    place = find_plan(cwd, plan, workspace, even_gone=True)
    return Opened(open_site(dict(os.environ), cwd, place.workspace, roles), place)


def open_signed(plan: str | None, workspace: Path | None = None) -> Opened:
    """The same for verbs about a sign-off: PLAN may also be the id of an agent's session."""
    if plan is None or not SESSION_ID.fullmatch(plan):
        return open_plan(plan, workspace)
    from signoff.usecases.sessions.sittings import signed_place  # noqa: PLC0415 - seldom needed

    site = open_session_site(plan)
    return Opened(site, signed_place(site, plan))


def open_session_site(session: str) -> Site:
    """With the configuration of the session's own workspace."""
    from signoff.usecases.sessions.sittings import find_sitting  # noqa: PLC0415 - seldom needed

    folder = find_sitting(open_here(), session).workspace
    return open_site(dict(os.environ), Path.cwd(), folder)


def open_here() -> Site:
    """For verbs that are about no single plan."""
    return open_site(dict(os.environ), Path.cwd(), None)


def _read_roles(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    roles = {}
    for value in values:
        name, equals, command = value.partition("=")
        if not (name and equals and command.strip()):
            raise click.BadParameter(f"`{value}` is not NAME='COMMAND'")
        try:
            shlex.split(command)
        except ValueError as error:
            said = f"`{command}` is not a command line: {str(error).lower()}"
            raise click.BadParameter(said) from None
        roles[name.strip()] = command
    return roles
