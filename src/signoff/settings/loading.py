"""Both configuration files read, checked and merged: roles, policies, sandbox, places."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from signoff.errors import ConfigInvalid
from signoff.places import DATABASE_VARIABLE, read_config_file, read_toml, user_file
from signoff.settings.agent import SessionPolicy, read_agent
from signoff.settings.reading import (
    check_keys,
    is_positive,
    read_boolean,
    read_choice,
    read_number,
    read_table,
    read_text,
    read_texts,
)

REPOSITORY_FILE = "signoff.toml"
HUMAN_ROLE = "human"
MOST_JUDGINGS = 100
_ROLE_KEYS = frozenset({"command", "timeout_s", "env", "kind", "network"})
_LOOP_KEYS = _ROLE_KEYS - {"command"} | {"agent", "model", "base_url"}
_LOOP_WORDS = "-m signoff agent --role-prompt --model"
DEFAULT_SETUP_TIMEOUT_S = 600.0
_SHARED_KEYS = frozenset({"roles", "policy", "agent", "setup"})
_USER_KEYS = frozenset(
    {"roles", "policy", "database", "vault", "projects", "auto_approve", "sandbox", "agent"}
)


class SandboxChoice(StrEnum):
    """Which sandbox the user wants; `auto` is the best that this machine has."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    NAMESPACES = "namespaces"
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
class Setup:
    """The command that makes by-products on a fresh checkout: dependencies, environments, builds.

    The repository's, and pinned with the plan: what it makes is what contracts are judged with.
    """

    command: str
    timeout_s: float = DEFAULT_SETUP_TIMEOUT_S
    network: bool = False  # without a sandbox nothing keeps it from the network


@dataclass(frozen=True)
class Settings:
    """Everything configurable, after both files and the command line were read."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    policy: Policy = Policy()
    database_url: str | None = None  # user only; None is the embedded database in the home folder
    vault: str | None = None  # user only
    auto_approve: bool = False  # user only
    sandbox: Sandbox = Sandbox()  # user only
    agent: SessionPolicy = field(default_factory=SessionPolicy)
    setup: Setup | None = None

    def pinned(self) -> dict[str, Any]:
        """What approval pins: the part that decides how steps are dispatched and judged."""
        return {
            "roles": {name: asdict(role) for name, role in sorted(self.roles.items())},
            "policy": asdict(self.policy),
            **({} if self.setup is None else {"setup": asdict(self.setup)}),
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
    setup = Setup(**pin["setup"]) if "setup" in pin else None
    return Settings(roles=roles, policy=Policy(**pin["policy"]), setup=setup)


def load_settings(repository: Path | None, environ: Mapping[str, str]) -> Settings:
    """Both files merged; a missing file is an empty one."""
    shared = read_toml(repository / REPOSITORY_FILE) if repository else {}
    repository_file = str(repository / REPOSITORY_FILE) if repository else REPOSITORY_FILE
    check_keys(shared, _SHARED_KEYS, repository_file)
    own_path = user_file(environ)
    own = read_toml(own_path)
    check_keys(own, _USER_KEYS, str(own_path))
    return Settings(
        roles={**_roles(own, str(own_path)), **_roles(shared, repository_file)},
        policy=_strictest(_policy(own, str(own_path)), _policy(shared, repository_file)),
        database_url=environ.get(DATABASE_VARIABLE) or read_text(own, "database", str(own_path)),
        vault=read_text(own, "vault", str(own_path)),
        auto_approve=read_boolean(own, "auto_approve", str(own_path)),
        sandbox=_sandbox(own, str(own_path)),
        agent=read_agent(own, shared, str(own_path), repository_file),
        setup=_setup(shared, repository_file),
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


def says_the_same(one: str, other: str, roles: Collection[str]) -> bool:
    """Whether two texts of the repository's file mean the same to a plan that uses these roles.

    A text that cannot be read means something else than every other text.
    """
    if one == other:
        return True
    meanings = [_meaning(text, roles) for text in (one, other)]
    return None not in meanings and meanings[0] == meanings[1]


def _meaning(text: str, roles: Collection[str]) -> tuple[object, ...] | None:
    try:
        data = tomllib.loads(text)
        check_keys(data, _SHARED_KEYS, REPOSITORY_FILE)
        used = {n: role for n, role in _roles(data, REPOSITORY_FILE).items() if n in roles}
        # What `agent` says reaches every role that is the built-in loop.
        rest = data.get("agent", {}), _setup(data, REPOSITORY_FILE)
        return used, _policy(data, REPOSITORY_FILE), *rest
    except (tomllib.TOMLDecodeError, ConfigInvalid):
        return None


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
    check_keys(table, _LOOP_KEYS if "agent" in table else _ROLE_KEYS, place)
    if "agent" in table:
        command = _loop_command(table, place)
    else:
        example = 'command = "claude -p --permission-mode acceptEdits"'
        command = _command(table, place, f"[roles.{name}] needs a line such as: {example}")
    timeout_s = _timeout(table, place)
    kind = table.get("kind", _kind_of(name))
    if kind not in (RoleKind.CODE, RoleKind.REVIEW):
        raise ConfigInvalid(f"`{place}`: `kind` must be `code` or `review`")
    return Role(
        name,
        command,
        timeout_s,
        env=(*read_texts(table, "env", place, "variable names"), *_model_key(table)),
        kind=RoleKind(kind),
        network=read_boolean(table, "network", place, default=True),
    )


def _command(table: Mapping[str, Any], place: str, hint: str) -> str:
    """The one command line that a table must have."""
    command = table.get("command")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        raise ConfigInvalid(
            f"`{place}`: `command` is a list, and must be one command line",
            f"command = {json.dumps(shlex.join(command))}",
        )
    if isinstance(command, str) and command.strip():
        return command
    missing = command is None or isinstance(command, str)
    wrong = "`command` must be a text with a command line"
    said = f"`{place}` has no `command`" if missing else f"`{place}`: {wrong}"
    raise ConfigInvalid(said, hint)


def _timeout(table: Mapping[str, Any], place: str) -> float | None:
    timeout_s: float | None = table.get("timeout_s")
    if timeout_s is not None and not is_positive(timeout_s):
        raise ConfigInvalid(f"`{place}`: `timeout_s` must be a positive number of seconds")
    return timeout_s


def _setup(data: Mapping[str, Any], where: str) -> Setup | None:
    if "setup" not in data:
        return None
    table, place = read_table(data, "setup", Setup.__dataclass_fields__, where)
    return Setup(
        _command(table, place, '[setup] needs a line such as: command = "uv sync --frozen"'),
        float(_timeout(table, place) or DEFAULT_SETUP_TIMEOUT_S),
        read_boolean(table, "network", place),
    )


def _loop_command(table: Mapping[str, Any], place: str) -> str:
    """The built-in loop, as a command line like any other; the prompt comes on standard input."""
    model, base_url = read_text(table, "model", place), read_text(table, "base_url", place)
    if table["agent"] != "loop" or model is None:
        raise ConfigInvalid(f"`{place}`: `agent` must be `loop`, with a `model`")
    words = [sys.executable, *_LOOP_WORDS.split(), model]
    return shlex.join([*words, "--base-url", base_url] if base_url else words)


def implied_variables(role: Role) -> tuple[str, ...]:
    """What the built-in loop is given although nobody asked for it; not every model needs it."""
    _, loop, rest = role.command.partition(f" {_LOOP_WORDS} ")
    return (_key_of(rest.partition(" ")[0]),) if loop else ()


def _model_key(table: Mapping[str, Any]) -> tuple[str, ...]:
    return (_key_of(str(table.get("model"))),) if "agent" in table else ()


def _key_of(model: str) -> str:
    """Every provider's key is in a variable of one form: `OPENAI_API_KEY`, `GOOGLE_API_KEY`."""
    return f"{model.partition(':')[0].partition('-')[0].upper()}_API_KEY"


def _named_role(name: str, command: str) -> Role:
    return Role(name, command, kind=_kind_of(name))


def _kind_of(name: str) -> RoleKind:
    return RoleKind.REVIEW if "review" in name.lower() else RoleKind.CODE


def _policy(data: Mapping[str, Any], where: str) -> Policy:
    names = set(Policy.__dataclass_fields__)
    table, place = read_table(data, "policy", names, where)
    judgings = read_number(table, "judgings", place, default=1, most=MOST_JUDGINGS)
    switches = {name: read_boolean(table, name, place) for name in names - {"judgings"}}
    return Policy(judgings=judgings, **switches)


def _strictest(one: Policy, other: Policy) -> Policy:
    names = Policy.__dataclass_fields__
    return Policy(**{name: max(getattr(one, name), getattr(other, name)) for name in names})


def _sandbox(data: Mapping[str, Any], where: str) -> Sandbox:
    table, place = read_table(data, "sandbox", Sandbox.__dataclass_fields__, where)
    return Sandbox(
        isolation=read_choice(table, "isolation", SandboxChoice.AUTO, place),
        agents=read_boolean(table, "agents", place, default=True),
        clean_room=read_boolean(table, "clean_room", place, default=True),
        writable=read_texts(table, "writable", place),
        readable=read_texts(table, "readable", place),
    )
