"""Find, without starting anything, what the first attempt of a role would stumble over."""

from __future__ import annotations

import posixpath
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from signoff.agents.presets import PRESETS, preset_of, with_preset
from signoff.domain.findings import Severity, Trouble
from signoff.domain.plan import Budget
from signoff.domain.verdict import Isolation
from signoff.errors import ConfigInvalid
from signoff.process.shell import find_tool
from signoff.settings.loading import Settings
from signoff.settings.roles import Price, Role, implied_variables, price_of
from signoff.workspace.folders import find_repository

_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL = re.compile(r"(?:^|\s)(\|\|?|&&?|\d?>>?|<|\d?>&\d)(?=\s|$)|(;)(?=\s|$)|(\$)(?=[\w{(])")


def check_role(
    role: Role, search_path: str, workspace: Path, environ: Mapping[str, str] | None = None
) -> None:
    """Raise when the role's command cannot be started at all, or surely cannot log in."""
    trouble = _program_trouble(role, search_path, workspace)
    if trouble is None and environ is not None:
        login = login_trouble(role, environ)
        trouble = login if login is not None and login.severity is Severity.ERROR else None
    if trouble is not None:
        raise ConfigInvalid(trouble.message, trouble.hint)


def troubles_of(
    role: Role, search_path: str, workspace: Path, environ: Mapping[str, str]
) -> Iterator[Trouble]:
    """Everything about a role that its first attempt would stumble over."""
    role = with_preset(role)
    stopped = _program_trouble(role, search_path, workspace)
    if stopped is not None:
        yield stopped
    syntax = _SHELL.search(_QUOTED.sub("_", role.command))
    if syntax is not None and (stopped is None or stopped.severity is not Severity.ERROR):
        sign = next(group for group in syntax.groups() if group)
        yield Trouble(
            "role-shell-syntax",
            Severity.WARNING,
            f"role `{role.name}`: no shell runs the command, so `{sign}` is an ordinary word in it",
            "wrap it: sh -c '…', or name a script",
        )
    login = login_trouble(role, environ) if stopped is None else None
    if login is not None:
        yield replace(login, severity=Severity.WARNING)
    preset = preset_of(role)
    known = (*preset.keys, *preset.variables) if preset is not None else ()
    implied = (*implied_variables(role), *known)
    for name in dict.fromkeys(role.env):
        if name not in environ and name not in implied:
            yield Trouble(
                "role-variable-unset",
                Severity.WARNING,
                f"role `{role.name}` asks for the variable `{name}`, which is not set here",
                f"export {name}=…, or take it out of `env` under [roles.{role.name}]",
            )


def sandbox_troubles(role: Role, settings: Settings, workspace: Path) -> Iterator[Trouble]:
    """Find what the sandbox in use denies a known client, and where it cannot keep it to hosts."""
    preset, keeps_to_hosts = preset_of(role), role.hosts is not None and role.network
    if preset is None and not keeps_to_hosts:
        return
    from signoff.process.sandboxes import best_isolation  # noqa: PLC0415 - tries what works here
    from signoff.verification.enclosure import wanted_isolation  # noqa: PLC0415 - likewise

    wanted = wanted_isolation(settings)
    isolation = best_isolation(wanted) if settings.sandbox.agents else Isolation.NONE
    named = [workspace / path for path in settings.sandbox.writable]
    for written in () if preset is None else preset.places_denied(isolation):
        place, here = written, workspace / written
        if here.is_file() and (repository := find_repository(workspace)) is not None:
            here = repository.main / written  # a linked worktree only points there
            place = str(here)
        if here not in named and here.exists():
            line = f'writable = ["{place}"]'
            yield Trouble(
                "role-place-denied",
                Severity.WARNING,
                f"role `{role.name}`: `{role.agent}` must write to `{place}`, which isolation"
                f" `{isolation}` does not allow",
                f"write `{line}` under `[sandbox]` in your own configuration",
            )
    if keeps_to_hosts and not isolation.has_own_view:
        yield Trouble(
            "role-hosts-open",
            Severity.WARNING,
            f"role `{role.name}`: isolation `{isolation}` cannot keep it to its hosts; it can reach"
            " every host",
            "install bubblewrap or allow user namespaces, and confine agents ([sandbox] agents)",
        )


def command_words(role: Role) -> list[str]:
    """The words of a role's command; ConfigInvalid when there are none."""
    try:
        words = shlex.split(role.command)
    except ValueError as error:
        raise ConfigInvalid(f"role `{role.name}`: command is not a command line: {error}") from None
    if not words:
        raise ConfigInvalid(f"role `{role.name}` has an empty command")
    return words


def _program_trouble(role: Role, search_path: str, workspace: Path) -> Trouble | None:
    """The reason why the role's command cannot be started at all."""
    try:
        program = command_words(role)[0]
    except ConfigInvalid as error:
        hint = f"correct `command` under [roles.{role.name}], or --role {role.name}='COMMAND'"
        return Trouble("role-command-unreadable", Severity.ERROR, error.message, hint)
    if find_tool(program, search_path, workspace) is not None:
        return None
    here = workspace / program
    try:
        is_file = here.is_file()
    except (OSError, ValueError):
        is_file = False
    preset = preset_of(role)
    advice = f"install `{program}`" if preset is None else preset.package
    said = "was not found"
    if is_file and "/" in program:
        said, advice = "is not executable", f"chmod +x {shlex.quote(str(here))}"
    elif is_file:
        said = "was not found on the search path"
        advice = f"write ./{program} for the file of the workspace"
    return Trouble(
        "role-program-missing",
        Severity.WARNING,
        f"role `{role.name}`: command `{program}` {said}",
        f"{advice}, or change the role's command: --role {role.name}='COMMAND'",
    )


def login_trouble(role: Role, environ: Mapping[str, str]) -> Trouble | None:
    """The reason why the client will say that it is not logged in; None where it may well be.

    It is certain only where nothing of the client's own could log it in: ERROR then.
    """
    program = posixpath.basename((shlex.split(role.command) or [""])[0])
    preset = preset_of(role) or PRESETS.get(program)
    keys = () if preset is None else preset.keys
    if preset is None or not keys or any(n in role.env and n in environ for n in keys):
        return None
    home = Path(environ.get("HOME", "/"))
    if any((home / file).exists() for file in preset.login):
        return None
    held = [name for name in keys if name in environ]
    if not held and (preset.keyless or not role.agent):
        return None
    # Elsewhere a client may keep its login where no file shows it.
    known = any((home / folder).exists() for folder in preset.folders)
    sure = sys.platform == "linux" and bool(held or not known)
    severity = Severity.ERROR if sure and not preset.keyless else Severity.WARNING
    if held:
        return Trouble(
            "role-variable-withheld",
            severity,
            f"role `{role.name}`: `{held[0]}` is set, and not passed to `{program}`,"
            " which is not logged in otherwise",
            f'agent = "{preset.name}" under [roles.{role.name}], or env = ["{held[0]}"]',
        )
    return Trouble(
        "role-not-logged-in",
        severity,
        f"role `{role.name}`: `{preset.name}` is not logged in: {_one_of(preset.keys)} is set, and"
        f" there is no {_one_of(tuple(f'~/{file}' for file in preset.login))}",
        f"export {preset.keys[0]}=…, or log in once: {preset.words[0]}",
    )


def _one_of(names: tuple[str, ...]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"none of {', '.join(quoted)}"


def budget_trouble(role: Role, budget: Budget, prices: Mapping[str, Price]) -> Trouble | None:
    """The reason why a budget cannot be enforced for this role; None where usage can be read."""
    preset = preset_of(role)
    lacks = ""
    if preset is None:
        if not role.reports_usage and (budget.tokens is not None or budget.usd is not None):
            lacks = "nothing tells what its command uses"
    elif budget.tokens is not None and not preset.tells_tokens:
        lacks = f"`{preset.name}` does not tell tokens"
    elif budget.usd is not None and not preset.tells_usd and _unpriced(role, prices):
        lacks = f"`{preset.name}` tells tokens only, and the price of its model is not known"
    if not lacks:
        return None
    hint = "name a `model` whose price is known, or add [prices] to your own configuration"
    if preset is None:
        hint = (
            f"`agent = …` under [roles.{role.name}] for a known client; `reports_usage = true` if"
            " the command writes to $SIGNOFF_USAGE_FILE; or set a limit in minutes"
        )
    return Trouble(
        "budget-not-enforced",
        Severity.WARNING,
        f"this budget cannot be enforced for `{role.name}`: {lacks}",
        hint,
    )


def _unpriced(role: Role, prices: Mapping[str, Price]) -> bool:
    return not role.model or price_of(role.model, prices) is None
