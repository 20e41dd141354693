"""Arguments that several verbs share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

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
        help="Folder the work is done in [default: the git repository around the plan].",
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
        help="Command that does this role's steps; it gets the prompt on stdin or as {prompt}.",
    )(command)


def worker_option(command: F) -> F:
    """`--worker NAME`: who asks."""
    return click.option(
        "--worker",
        metavar="NAME",
        help="Name under which plans are claimed [default: $SIGNOFF_WORKER, else this process].",
    )(command)


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
