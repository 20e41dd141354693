"""Configuration: the repository's `signoff.toml` and the user's own file, as validated values.

The repository's file travels with the work, so an agent can write it: it is pinned at approval
and may only make checks stricter. What could loosen a check is read from the user's file alone.
"""

from __future__ import annotations

import difflib
import errno
import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from signoff.errors import ConfigInvalid

REPOSITORY_FILE = "signoff.toml"
USER_FILE_VARIABLE = "SIGNOFF_CONFIG"
DATABASE_VARIABLE = "SIGNOFF_DATABASE"
HUMAN_ROLE = "human"
LARGEST_FILE = 1_000_000


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


@dataclass(frozen=True)
class Policy:
    """Rules on top of the plan; a repository may only switch them on."""

    require_red_first: bool = False  # a contract that held before the first attempt is an error
    forbid_waivers: bool = False  # nobody may waive a step of this repository


@dataclass(frozen=True)
class Settings:
    """Everything configurable, after both files and the command line were read."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    policy: Policy = Policy()
    database_url: str | None = None  # user only; None is the embedded database in the home folder
    vault: str | None = None  # user only
    auto_approve: bool = False  # user only

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
    own = _read(own_path)
    _check_keys(own, {"roles", "policy", "database", "vault", "auto_approve"}, str(own_path))
    return Settings(
        roles={**_roles(own, str(own_path)), **_roles(shared, repository_file)},
        policy=_strictest(_policy(own, str(own_path)), _policy(shared, repository_file)),
        database_url=environ.get(DATABASE_VARIABLE) or _text(own, "database", str(own_path)),
        vault=_text(own, "vault", str(own_path)),
        auto_approve=_boolean(own, "auto_approve", str(own_path)),
    )


def user_file(environ: Mapping[str, str]) -> Path:
    """Where the user's own configuration lives."""
    named = environ.get(USER_FILE_VARIABLE)
    if named:
        return Path(named)
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "/")) / ".config")
    return Path(base) / "signoff" / "config.toml"


def read_config_text(path: Path) -> str:
    """A configuration file as text, for the pin; empty when there is none."""
    try:
        data = _read_regular(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        # Told apart from every text that a file can hold, so that a swap is noticed.
        return f"\0{error.strerror}"
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.hex()


def _read_regular(path: Path) -> bytes:
    """An agent can put a pipe or an endless device in the file's place: neither is waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if state.st_size > LARGEST_FILE:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST_FILE} bytes")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST_FILE)
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = _read_regular(path)
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
    _check_keys(table, {"command", "timeout_s", "env", "kind"}, place)
    command = table.get("command")
    if not isinstance(command, str) or not command.strip():
        raise ConfigInvalid(f"`{place}` has no `command`")
    timeout_s = table.get("timeout_s")
    if timeout_s is not None and not _is_positive(timeout_s):
        raise ConfigInvalid(f"`{place}`: `timeout_s` must be a positive number of seconds")
    env = table.get("env", [])
    if not isinstance(env, list) or not all(isinstance(item, str) for item in env):
        raise ConfigInvalid(f"`{place}`: `env` must be a list of variable names")
    kind = table.get("kind", _kind_of(name))
    if kind not in (RoleKind.CODE, RoleKind.REVIEW):
        raise ConfigInvalid(f"`{place}`: `kind` must be `code` or `review`")
    return Role(name, command, timeout_s, tuple(env), RoleKind(kind))


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
    return Policy(**{name: _boolean(table, name, where) for name in names})


def _strictest(one: Policy, other: Policy) -> Policy:
    names = Policy.__dataclass_fields__
    return Policy(**{name: getattr(one, name) or getattr(other, name) for name in names})


def _is_positive(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < float("inf")


def _text(table: Mapping[str, Any], name: str, where: str) -> str | None:
    value = table.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a text")
    return value


def _boolean(table: Mapping[str, Any], name: str, where: str) -> bool:
    value = table.get(name, False)
    if not isinstance(value, bool):
        raise ConfigInvalid(f"`{where}`: `{name}` must be true or false")
    return value
