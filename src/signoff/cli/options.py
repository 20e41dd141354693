"""Arguments that several verbs share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from signoff.cli.show import ColorChoice

F = TypeVar("F", bound=Callable[..., Any])


def color_option(hidden: bool) -> Callable[[F], F]:
    """`--color`; behind a verb it is hidden, since `signoff --help` tells of it."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        expose_value=False,
        hidden=hidden,
        callback=_choose_color,
        help="Colours: on terminals unless NO_COLOR is set [default], always, or never.",
    )


def _choose_color(_ctx: click.Context, _param: click.Parameter, mode: str | None) -> None:
    ColorChoice.mode = mode or ColorChoice.mode


def json_option(command: F) -> F:
    """`--json` and `--color` behind the verb; before it they mean the same."""
    command = color_option(hidden=True)(command)
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


def no_write_option(command: F) -> F:
    """`--no-write`: by the files alone, also where there is no home, such as in a contract."""
    return click.option(
        "--no-write",
        is_flag=True,
        help="Look at the files only: record nothing, need no home. Works inside a contract.",
    )(command)


def agent_option(command: F) -> F:
    """`--agent NAME [--model NAME]`: a known client for every role of the plan."""
    command = click.option(
        "--model", metavar="NAME", help="With --agent: the model that it is asked for."
    )(command)
    return click.option(
        "--agent",
        metavar="NAME",
        help="Who does every step: claude, codex, gemini, qwen, opencode, aider, pi, mini or loop.",
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
