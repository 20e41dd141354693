"""Which program a role's command starts, and what would keep the role from working here."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from signoff.domain.findings import Severity, Trouble
from signoff.process.shell import find_tool
from signoff.settings.loading import Role, implied_variables

_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL = re.compile(r"(?:^|\s)(\|\|?|&&?|\d?>>?|<|\d?>&\d)(?=\s|$)|(;)(?=\s|$)|(\$)(?=[\w{(])")


def troubles_of(
    role: Role, search_path: str, workspace: Path, environ: Mapping[str, str]
) -> Iterator[Trouble]:
    """Everything about a role that its first attempt would stumble over."""
    stopped = program_trouble(role, search_path, workspace)
    if stopped is not None:
        yield stopped
    if stopped is None or stopped.severity is not Severity.ERROR:
        yield from _shell_syntax(role)
    implied = implied_variables(role)
    for name in dict.fromkeys(role.env):
        if name not in environ and name not in implied:
            yield Trouble(
                "role-variable-unset",
                Severity.WARNING,
                f"role `{role.name}` asks for the variable `{name}`, which is not set here",
                f"export {name}=…, or take it out of `env` under [roles.{role.name}]",
            )


def program_trouble(role: Role, search_path: str, workspace: Path) -> Trouble | None:
    """Why the role's command cannot be started at all."""
    try:
        words = shlex.split(role.command)
    except ValueError as error:
        return _unreadable(role, f"role `{role.name}`: command is not a command line: {error}")
    if not words:
        return _unreadable(role, f"role `{role.name}` has an empty command")
    program = words[0]
    if find_tool(program, search_path, workspace) is not None:
        return None
    here = workspace / program
    said, advice = "was not found", f"install `{program}`"
    if _is_file(here) and "/" in program:
        said, advice = "is not executable", f"chmod +x {shlex.quote(str(here))}"
    elif _is_file(here):
        said = "was not found on the search path"
        advice = f"write ./{program} for the file of the workspace"
    return Trouble(
        "role-program-missing",
        Severity.WARNING,
        f"role `{role.name}`: command `{program}` {said}",
        f"{advice}, or change the role's command: --role {role.name}='COMMAND'",
    )


def program_path(word: str, workspace: Path) -> str:
    """The first word of a command: one with a slash is a path, seen from the workspace."""
    return os.path.normpath(workspace / word) if "/" in word else word


def _unreadable(role: Role, message: str) -> Trouble:
    hint = f"mend `command` under [roles.{role.name}], or --role {role.name}='COMMAND'"
    return Trouble("role-command-unreadable", Severity.ERROR, message, hint)


def _shell_syntax(role: Role) -> Iterator[Trouble]:
    """What only a shell understands reaches the program as a plain word."""
    found = _SHELL.search(_QUOTED.sub("_", role.command))
    if found is not None:
        sign = next(group for group in found.groups() if group)
        yield Trouble(
            "role-shell-syntax",
            Severity.WARNING,
            f"role `{role.name}`: no shell runs the command, so `{sign}` is an ordinary word in it",
            "wrap it: sh -c '…', or name a script",
        )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
