"""Configuration: the repository's `signoff.toml` and the user's own file, as validated values.

The repository's file travels with the work, so an agent can write it: it is pinned at approval
and may only make checks stricter. What could loosen a check is read from the user's file alone.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from signoff.errors import ConfigInvalid
from signoff.places import DATABASE_VARIABLE, read_config_file, user_choices, user_file

REPOSITORY_FILE = "signoff.toml"
HUMAN_ROLE = "human"
MOST_JUDGINGS = 100
_USER_KEYS = ("roles", "policy", "database", "vault", "projects", "auto_approve", "sandbox")


class SandboxChoice(StrEnum):
    """Which sandbox the user wants; `auto` is the best that this machine has."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


class RoleKind(StrEnum):
    """What sort of work a role does; inferred from its name unless stated."""

    CODE = "code"
    REVIEW = "review"
    PERSON = "person"


@dataclass(frozen=True)
class Role:
    """Who does a step: a command that reads the prompt on stdin, or where `{prompt}` stands."""

    name: str
    command: str
    timeout_s: float | None = None  # caps the step's own timeout
    env: tuple[str, ...] = ()  # variables passed on from the caller's environment
    kind: RoleKind = RoleKind.CODE
    network: bool = True  # most agents talk to a model


@dataclass(frozen=True)
class Sandbox:
    """How processes are confined; the user's own choice, because it could loosen a check."""

    isolation: SandboxChoice = SandboxChoice.AUTO
    agents: bool = True  # confine agents too, not contracts alone
    clean_room: bool = True  # judge in a checkout the agent never touched, where that is cheap
    writable: tuple[str, ...] = ()  # more places that agents may change, such as a client's own
    readable: tuple[str, ...] = ()  # more places that must be seen, such as tools below /tmp


@dataclass(frozen=True)
class Policy:
    """Rules on top of the plan; a repository may only make them stricter."""

    require_red_first: bool = False  # a contract that held before the first attempt is an error
    forbid_waivers: bool = False  # nobody may waive a step of this repository
    require_sandbox: bool = False  # contracts and agents run confined, or not at all
    escalate_handoffs: bool = False  # files that make other programs act need a person's yes
    judgings: int = 1  # how often in a row a contract must hold before it is kept


@dataclass(frozen=True)
class Settings:
    """Everything configurable, after both files and the command line were read."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    policy: Policy = Policy()
    database_url: str | None = None  # user only; None is the embedded database in the home folder
    vault: str | None = None  # user only
    auto_approve: bool = False  # user only
    sandbox: Sandbox = Sandbox()  # user only

    def pinned(self) -> dict[str, Any]:
        """What approval pins: the part that decides how steps are dispatched and judged."""
        return {
            "roles": {name: asdict(role) for name, role in sorted(self.roles.items())},
            "policy": asdict(self.policy),
        }

    def with_roles(self, commands: Mapping[str, str]) -> Settings:
        """The same settings with roles given on the command line."""
        given = {
            name: replace(self.roles.get(name) or _named_role(name, command), command=command)
            for name, command in commands.items()
        }
        return replace(self, roles={**self.roles, **given})


def settings_from_pin(pin: Mapping[str, Any]) -> Settings:
    """The settings a run executes: those that were pinned, whatever the files say now."""
    roles = {
        name: Role(
            name=name,
            command=data["command"],
            timeout_s=data["timeout_s"],
            env=tuple(data["env"]),
            kind=RoleKind(data["kind"]),
            network=data.get("network", True),
        )
        for name, data in pin["roles"].items()
    }
    return Settings(roles=roles, policy=Policy(**pin["policy"]))


def load_settings(repository: Path | None, environ: Mapping[str, str]) -> Settings:
    """Both files merged; a missing file is an empty one."""
    shared = _read(repository / REPOSITORY_FILE) if repository else {}
    repository_file = str(repository / REPOSITORY_FILE) if repository else REPOSITORY_FILE
    _check_keys(shared, {"roles", "policy"}, repository_file)
    own_path = user_file(environ)
    own = user_choices(environ)
    _check_keys(own, _USER_KEYS, str(own_path))
    return Settings(
        roles={**_roles(own, str(own_path)), **_roles(shared, repository_file)},
        policy=_strictest(_policy(own, str(own_path)), _policy(shared, repository_file)),
        database_url=environ.get(DATABASE_VARIABLE) or _text(own, "database", str(own_path)),
        vault=_text(own, "vault", str(own_path)),
        auto_approve=_boolean(own, "auto_approve", str(own_path)),
        sandbox=_sandbox(own, str(own_path)),
    )


def read_config_text(path: Path) -> str:
    """A configuration file as text, for the pin; empty when there is none."""
    try:
        data = read_config_file(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        # Told apart from every text that a file can hold, so that a swap is noticed.
        return f"\0{error.strerror}"
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.hex()


def _read(path: Path) -> dict[str, Any]:
    try:
        data = read_config_file(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigInvalid(f"cannot read `{path}`: {error.strerror}") from error
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigInvalid(f"`{path}` is not valid TOML: {error}") from error


def _check_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    names = sorted(known)
    for key in table:
        if key in names:
            continue
        close = difflib.get_close_matches(key, names, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(names)}"
        raise ConfigInvalid(f"`{where}` has an unknown key `{key}`", hint)


def _roles(data: Mapping[str, Any], where: str) -> dict[str, Role]:
    tables = data.get("roles", {})
    if not isinstance(tables, dict):
        raise ConfigInvalid(f"`{where}`: `roles` must be a table, one `[roles.NAME]` per role")
    return {name: _role(name, table, where) for name, table in tables.items()}


def _role(name: str, table: Any, where: str) -> Role:
    place = f"{where}, role {name}"
    if name == HUMAN_ROLE:
        raise ConfigInvalid(f"`{place}`: `human` is built in and has no command")
    if isinstance(table, str):
        table = {"command": table}
    if not isinstance(table, dict):
        raise ConfigInvalid(f"`{place}` must be a table or a command line")
    _check_keys(table, {"command", "timeout_s", "env", "kind", "network"}, place)
    command = table.get("command")
    if not isinstance(command, str) or not command.strip():
        raise ConfigInvalid(f"`{place}` has no `command`")
    timeout_s = table.get("timeout_s")
    if timeout_s is not None and not _is_positive(timeout_s):
        raise ConfigInvalid(f"`{place}`: `timeout_s` must be a positive number of seconds")
    kind = table.get("kind", _kind_of(name))
    if kind not in (RoleKind.CODE, RoleKind.REVIEW):
        raise ConfigInvalid(f"`{place}`: `kind` must be `code` or `review`")
    return Role(
        name,
        command,
        timeout_s,
        env=_texts(table, "env", place, "variable names"),
        kind=RoleKind(kind),
        network=_boolean(table, "network", place, default=True),
    )


def _named_role(name: str, command: str) -> Role:
    return Role(name, command, kind=_kind_of(name))


def _kind_of(name: str) -> RoleKind:
    return RoleKind.REVIEW if "review" in name.lower() else RoleKind.CODE


def _policy(data: Mapping[str, Any], where: str) -> Policy:
    table = data.get("policy", {})
    if not isinstance(table, dict):
        raise ConfigInvalid(f"`{where}`: `policy` must be a table")
    names = set(Policy.__dataclass_fields__)
    _check_keys(table, names, f"{where}, policy")
    judgings = table.get("judgings", 1)
    if type(judgings) is not int or not 1 <= judgings <= MOST_JUDGINGS:
        raise ConfigInvalid(f"`{where}`: `judgings` must be a number from 1 to {MOST_JUDGINGS}")
    switches = {name: _boolean(table, name, where) for name in names - {"judgings"}}
    return Policy(judgings=judgings, **switches)


def _strictest(one: Policy, other: Policy) -> Policy:
    names = Policy.__dataclass_fields__
    return Policy(**{name: max(getattr(one, name), getattr(other, name)) for name in names})


def _sandbox(data: Mapping[str, Any], where: str) -> Sandbox:
    table = data.get("sandbox", {})
    if not isinstance(table, dict):
        raise ConfigInvalid(f"`{where}`: `sandbox` must be a table")
    place = f"{where}, sandbox"
    _check_keys(table, Sandbox.__dataclass_fields__, place)
    choices = [choice.value for choice in SandboxChoice]
    chosen = table.get("isolation", SandboxChoice.AUTO)
    if chosen not in choices:
        raise ConfigInvalid(f"`{place}`: `isolation` must be one of {', '.join(choices)}")
    return Sandbox(
        isolation=SandboxChoice(chosen),
        agents=_boolean(table, "agents", place, default=True),
        clean_room=_boolean(table, "clean_room", place, default=True),
        writable=_texts(table, "writable", place),
        readable=_texts(table, "readable", place),
    )


def _is_positive(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < float("inf")


def _text(table: Mapping[str, Any], name: str, where: str) -> str | None:
    value = table.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a text")
    return value


def _texts(table: Mapping[str, Any], name: str, where: str, of: str = "paths") -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a list of {of}")
    return tuple(value)


def _boolean(table: Mapping[str, Any], name: str, where: str, *, default: bool = False) -> bool:
    value = table.get(name, default)
    if not isinstance(value, bool):
        raise ConfigInvalid(f"`{where}`: `{name}` must be true or false")
    return value
