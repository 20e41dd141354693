"""Both configuration files read, checked and merged: roles, policies, agent, sandbox, places."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from signoff.errors import ConfigInvalid
from signoff.places import DATABASE_VARIABLE, read_config_file, read_toml, user_file
from signoff.settings.policy import (
    JudgeModel,
    Policy,
    SessionPolicy,
    read_agent,
    read_judge,
    read_policy,
    strictest,
)
from signoff.settings.roles import (
    PINNED_IF_SAID,
    Price,
    Role,
    RoleKind,
    as_given,
    check_keys,
    kind_of,
    read_boolean,
    read_choice,
    read_command,
    read_number,
    read_prices,
    read_roles,
    read_table,
    read_text,
    read_texts,
    read_timeout,
)

if TYPE_CHECKING:
    from signoff.settings.notify import NotifyWays


REPOSITORY_FILE = "signoff.toml"
MOST_JOBS = 64
DEFAULT_SETUP_TIMEOUT_S = 600.0
_SHARED_KEYS = frozenset({"roles", "policy", "agent", "setup", "lanes"})
_USER_KEYS = frozenset(
    {"roles", "policy", "database", "vault", "projects", "auto_approve", "sandbox", "agent"}
    | {"prices", "disk", "run", "judge", "notify", "content"}
)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(kB|MB|GB|TB)", re.IGNORECASE)
_BYTES_IN = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


class SandboxChoice(StrEnum):
    """The user's choice of a sandbox; `auto` is the best that this machine has."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    NONE = "none"


class RunOn(StrEnum):
    """Machines on which a run is driven: this one, or those of the workers."""

    HERE = "here"
    WORKERS = "workers"


class Sandbox(Struct, frozen=True):
    """Confinement of processes; the user's own choice, because it could loosen a check."""

    isolation: SandboxChoice = SandboxChoice.AUTO
    agents: bool = True  # confine agents too, not contracts alone
    clean_room: bool = True  # judge in a checkout the agent never touched, where that is cheap
    writable: tuple[str, ...] = ()  # more places that agents may change, such as a client's own
    readable: tuple[str, ...] = ()  # more places that must be seen, such as tools below /tmp


class Setup(Struct, frozen=True):
    """The command that makes by-products on a fresh checkout: dependencies, environments, builds.

    The repository's, and pinned with the plan: what it makes is what contracts are judged with.
    """

    command: str
    timeout_s: float = DEFAULT_SETUP_TIMEOUT_S
    network: bool = False  # without a sandbox nothing keeps it from the network


class Settings(Struct, frozen=True):
    """Everything configurable, after both files and the command line were read."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    policy: Policy = Policy()
    database_url: str | None = None  # user only; None is the embedded database in the home folder
    vault: str | None = None  # user only
    auto_approve: bool = False  # user only
    sandbox: Sandbox = Sandbox()  # user only
    jobs: int = 1  # user only; attempts of one run at the same time
    on_workers: bool = False  # user only; runs go to workers unless the command line says otherwise
    remote: str | None = None  # user only; the git remote by which content goes to workers
    quota: int | None = None  # user only; bytes that the home folder should not exceed
    agent: SessionPolicy = field(default_factory=SessionPolicy)
    setup: Setup | None = None
    share: tuple[str, ...] = ()  # globs of by-products of which each lane gets a copy of its own
    prices: Mapping[str, Price] = field(default_factory=dict)  # user only
    judge: JudgeModel | None = None  # user only; gives opinions on rubrics
    notify: NotifyWays | None = None  # user only

    def pinned(self) -> dict[str, Any]:
        """The part that approval pins: all that decides how steps are dispatched and judged."""
        return {
            "roles": {name: role.pinned() for name, role in sorted(self.roles.items())},
            "policy": to_builtins(self.policy),
            **({} if self.setup is None else {"setup": to_builtins(self.setup)}),
            **({"lanes": {"share": list(self.share)}} if self.share else {}),
        }

    def with_roles(self, commands: Mapping[str, str]) -> Settings:
        """The same settings with roles given on the command line."""
        given = {
            name: as_given(self.roles.get(name) or Role(name, "", kind=kind_of(name)), command)
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
            hosts=tuple(data["hosts"]) if "hosts" in data else None,
            **{name: data[name] for name in PINNED_IF_SAID if name in data and name != "hosts"},
        )
        for name, data in pin["roles"].items()
    }
    setup = Setup(**pin["setup"]) if "setup" in pin else None
    share = tuple(pin.get("lanes", {}).get("share", ()))
    policy = convert(pin["policy"], Policy)
    return Settings(roles=roles, policy=policy, setup=setup, share=share)


def load_settings(repository: Path | None, environ: Mapping[str, str]) -> Settings:
    """Both files merged; a missing file is an empty one."""
    shared = read_toml(repository / REPOSITORY_FILE) if repository else {}
    repository_file = str(repository / REPOSITORY_FILE) if repository else REPOSITORY_FILE
    own_path = user_file(environ)
    _refuse_loosening(shared, repository_file, own_path)
    check_keys(shared, _SHARED_KEYS, repository_file)
    own = read_toml(own_path)
    check_keys(own, _USER_KEYS, str(own_path))
    return Settings(
        roles={**read_roles(own, str(own_path)), **read_roles(shared, repository_file)},
        policy=strictest(
            read_policy(own, str(own_path), Policy()), read_policy(shared, repository_file)
        ),
        database_url=environ.get(DATABASE_VARIABLE) or read_text(own, "database", str(own_path)),
        vault=read_text(own, "vault", str(own_path)),
        auto_approve=read_boolean(own, "auto_approve", str(own_path)),
        sandbox=_sandbox(own, str(own_path)),
        **_run(own, str(own_path)),
        remote=_remote(own, str(own_path)),
        quota=_quota(own, str(own_path)),
        agent=read_agent(own, shared, str(own_path), repository_file),
        setup=_setup(shared, repository_file),
        share=_share(shared, repository_file),
        prices=read_prices(own, str(own_path)),
        judge=read_judge(own, str(own_path)),
        notify=_notify(own, str(own_path)),
    )


def _notify(own: Mapping[str, Any], where: str) -> NotifyWays | None:
    if "notify" not in own:
        return None
    from signoff.settings.notify import read_notify  # noqa: PLC0415 - most files have no such table

    return read_notify(own, where)


def _refuse_loosening(shared: Mapping[str, Any], where: str, own_path: Path) -> None:
    """A repository is written by agents too: what could loosen a check is the user's own."""
    for key in sorted(set(shared) & (_USER_KEYS - _SHARED_KEYS)):
        shown = f"[{key}]" if isinstance(shared[key], dict) else key
        raise ConfigInvalid(
            f"`{where}` has `{shown}`, which belongs in the user's file: `{own_path}`",
            f"move it to {shlex.quote(str(own_path))}",
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
    """True when two texts of the repository's file mean the same to a plan with these roles.

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
        used = {n: role for n, role in read_roles(data, REPOSITORY_FILE).items() if n in roles}
        # What `agent` says reaches every role that is the built-in loop.
        where = REPOSITORY_FILE
        rest = data.get("agent", {}), _setup(data, where), _share(data, where)
        return used, read_policy(data, REPOSITORY_FILE), *rest
    except (tomllib.TOMLDecodeError, ConfigInvalid):
        return None


def _setup(data: Mapping[str, Any], where: str) -> Setup | None:
    if "setup" not in data:
        return None
    table, place = read_table(data, "setup", Setup.__struct_fields__, where)
    return Setup(
        read_command(table, place, '[setup] needs a line such as: command = "uv sync --frozen"'),
        float(read_timeout(table, place) or DEFAULT_SETUP_TIMEOUT_S),
        read_boolean(table, "network", place),
    )


def _share(data: Mapping[str, Any], where: str) -> tuple[str, ...]:
    table, place = read_table(data, "lanes", ("share",), where)
    found = read_texts(table, "share", place)
    for glob in found:
        if glob.startswith("/") or not {".", ".."}.isdisjoint(glob.split("/")):
            raise ConfigInvalid(
                f"`{place}`: `share` has `{glob}`, which names nothing in the workspace",
                'share = ["node_modules", "target"]',
            )
    return found


def _quota(data: Mapping[str, Any], where: str) -> int | None:
    table, place = read_table(data, "disk", ("quota",), where)
    text = read_text(table, "quota", place)
    size = _SIZE.fullmatch(text.strip()) if text is not None else None
    if text is not None and size is None:
        raise ConfigInvalid(f"`{place}`: `quota` must be a size", 'quota = "2 GB"')
    return None if size is None else int(float(size[1]) * _BYTES_IN[size[2].lower()])


def _run(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    table, place = read_table(data, "run", ("jobs", "on"), where)
    on = read_choice(table, "on", RunOn.HERE, place)
    jobs = read_number(table, "jobs", place, default=1, most=MOST_JOBS)
    return {"jobs": jobs, "on_workers": on is RunOn.WORKERS}


def _remote(data: Mapping[str, Any], where: str) -> str | None:
    table, place = read_table(data, "content", ("remote",), where)
    remote = read_text(table, "remote", place)
    if (remote or "").startswith("-"):
        raise ConfigInvalid(f"`{place}`: `remote` must be an address", 'remote = "ssh://…/x.git"')
    return remote


def _sandbox(data: Mapping[str, Any], where: str) -> Sandbox:
    table, place = read_table(data, "sandbox", Sandbox.__struct_fields__, where)
    return Sandbox(
        isolation=read_choice(table, "isolation", SandboxChoice.AUTO, place),
        agents=read_boolean(table, "agents", place, default=True),
        clean_room=read_boolean(table, "clean_room", place, default=True),
        writable=read_texts(table, "writable", place),
        readable=read_texts(table, "readable", place),
    )
