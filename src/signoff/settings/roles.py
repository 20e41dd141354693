"""Roles of both configuration files: who does a step, with which command, what models cost."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from signoff.errors import ConfigInvalid, nearest

E = TypeVar("E", bound=StrEnum)


def check_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse keys in the table that nobody would read."""
    names = sorted(known)
    for key in table:
        if key in names:
            continue
        close = nearest(key, names)
        hint = f"did you mean `{close}`?" if close else f"known here: {', '.join(names)}"
        raise ConfigInvalid(f"`{where}` has an unknown key `{key}`", hint)


def read_table(
    data: Mapping[str, Any], name: str, known: Iterable[str], where: str
) -> tuple[Mapping[str, Any], str]:
    """A table in which nothing is unknown, empty where there is none; and how its place is told."""
    table, place = data.get(name, {}), f"{where}, {name}"
    if not isinstance(table, dict):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a table")
    check_keys(table, known, place)
    return table, place


def read_choice(table: Mapping[str, Any], name: str, plain: E, where: str) -> E:
    """One of the words of an enumeration."""
    value, choices = table.get(name, plain), list(type(plain))
    if value not in choices:
        raise ConfigInvalid(f"`{where}`: `{name}` must be one of {', '.join(choices)}")
    return type(plain)(value)


def is_positive(value: Any) -> bool:
    """A number above nothing, with an end."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < float("inf")


def read_text(table: Mapping[str, Any], name: str, where: str) -> str | None:
    """A text that is not empty; None when there is none."""
    value = table.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a text")
    return value


def read_texts(
    table: Mapping[str, Any], name: str, where: str, of: str = "paths"
) -> tuple[str, ...]:
    """A list of texts."""
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a list of {of}")
    return tuple(value)


def read_number(
    table: Mapping[str, Any], name: str, where: str, *, default: int, most: int, least: int = 1
) -> int:
    """A whole number from the least to the most there may be."""
    value = table.get(name, default)
    if type(value) is not int or not least <= value <= most:
        raise ConfigInvalid(f"`{where}`: `{name}` must be a number from {least} to {most}")
    return value


def read_boolean(table: Mapping[str, Any], name: str, where: str, *, default: bool = False) -> bool:
    """A switch."""
    value = table.get(name, default)
    if not isinstance(value, bool):
        raise ConfigInvalid(f"`{where}`: `{name}` must be true or false")
    return value


LOOP = "loop"  # the one agent that is built in
AGENT_HOSTS = "@agent"  # in `hosts`: those that the role's agent needs, which follow it once known
PRESET_PREFIX = "agent:"  # `--role coder=agent:claude`: a preset where a command could stand
_ROLE_KEYS = frozenset({"command", "timeout_s", "env", "kind", "network", "reports_usage", "hosts"})
_AGENT_KEYS = _ROLE_KEYS | {"agent", "model"}
_LOOP_KEYS = _AGENT_KEYS - {"command", "reports_usage"} | {"base_url"}
_ANY = "PROVIDER:NAME"  # a model
_HOST = r"(?i)(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?"
_LOOP_WORDS = "-m signoff agent --role-prompt --model"
# Pins of older versions do not have them.
PINNED_IF_SAID = ("agent", "model", "reports_usage", "hosts")


HUMAN_ROLE = "human"


class RoleKind(StrEnum):
    """Kinds of work that a role does; inferred from its name unless stated."""

    CODE = "code"
    REVIEW = "review"
    PERSON = "person"


class Role(Struct, frozen=True):
    """The worker of a step: a command that reads the prompt on stdin, or in place of `{prompt}`."""

    name: str
    command: str
    timeout_s: float | None = None  # caps the step's own timeout
    env: tuple[str, ...] = ()  # variables passed on from the caller's environment
    kind: RoleKind = RoleKind.CODE
    network: bool = True  # most agents talk to a model
    hosts: tuple[str, ...] | None = None  # the only ones it may reach; None is all of them
    agent: str = ""  # the preset that knows this client; empty: any command
    model: str = ""  # that the preset is asked for; empty: the client's own choice
    reports_usage: bool = False  # whoever wrote the command says that it reports what it uses

    def pinned(self) -> dict[str, Any]:
        """The part of it that approval pins."""
        said = to_builtins(self).items()
        return {k: v for k, v in said if k not in PINNED_IF_SAID or v not in (None, "", False)}


class Price(Struct, frozen=True):
    """Price of a model: dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None  # of input that was read from a cache; None: like any input


# Dollars for a million tokens: input, output, input from a cache. `[prices]` overrides it.
PRICES: dict[str, Price] = {
    "claude-opus-4-1": Price(15, 75, 1.5),
    "claude-opus-4-5": Price(5, 25, 0.5),
    "claude-opus-4-6": Price(5, 25, 0.5),
    "claude-opus-4-8": Price(5, 25, 0.5),
    "claude-sonnet-4": Price(3, 15, 0.3),
    "claude-sonnet-4-5": Price(3, 15, 0.3),
    "claude-sonnet-4-6": Price(3, 15, 0.3),
    "claude-haiku-4-5": Price(1, 5, 0.1),
    "gpt-5": Price(1.25, 10, 0.125),
    "gpt-5-codex": Price(1.25, 10, 0.125),
    "gpt-5-mini": Price(0.25, 2, 0.025),
    "gpt-5-nano": Price(0.05, 0.4, 0.005),
    "gpt-5.1": Price(1.25, 10, 0.125),
    "gpt-5.1-codex": Price(1.25, 10, 0.125),
    "gpt-4.1": Price(2, 8, 0.5),
    "gpt-4o": Price(2.5, 10, 1.25),
    "gpt-4o-mini": Price(0.15, 0.6, 0.075),
    "o3": Price(2, 8, 0.5),
    "gemini-2.5-pro": Price(1.25, 10, 0.31),
    "gemini-2.5-flash": Price(0.3, 2.5, 0.075),
    "gemini-3-pro": Price(2, 12, 0.2),
}
# A dated or preview version costs what its model costs; anything else is another model.
_MODEL_VERSION = r"(?:-(?:\d{8}|\d{4}-\d\d-\d\d|latest|preview))+$|\[[^]]*\]$"


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Price of the model, if anybody said."""
    plain = re.sub(_MODEL_VERSION, "", model.rpartition("/")[2].rpartition(":")[2])
    for name in (model, plain):
        for table in (prices, PRICES):
            if name in table:
                return table[name]
    return None


def read_roles(data: Mapping[str, Any], where: str) -> dict[str, Role]:
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
    agent, model = read_text(table, "agent", place) or "", read_text(table, "model", place) or ""
    known = _LOOP_KEYS if agent == LOOP else _AGENT_KEYS if agent else _ROLE_KEYS
    check_keys(table, known, place)
    if agent == LOOP:
        command = _loop_command(table, place)
    elif agent and "command" not in table:
        command = agent  # until whoever knows the presets says with which flags
    else:
        example = f'[roles.{name}] needs a line such as: agent = "claude"'
        command = read_command(table, place, example)
    timeout_s = read_timeout(table, place)
    kind = table.get("kind", kind_of(name))
    if kind not in (RoleKind.CODE, RoleKind.REVIEW):
        raise ConfigInvalid(f"`{place}`: `kind` must be `code` or `review`")
    return Role(
        name,
        command,
        timeout_s,
        env=(*read_texts(table, "env", place, "variable names"), *_model_variables(table)),
        kind=RoleKind(kind),
        network=read_boolean(table, "network", place, default=True),
        hosts=_hosts(table, place),
        agent=agent,
        model=model,
        reports_usage=read_boolean(table, "reports_usage", place),
    )


def _hosts(table: Mapping[str, Any], place: str) -> tuple[str, ...] | None:
    if "hosts" not in table:
        return None
    hosts = read_texts(table, "hosts", place, "host names")
    wrong = [host for host in hosts if host != AGENT_HOSTS and not re.fullmatch(_HOST, host)]
    if wrong:
        raise ConfigInvalid(
            f"`{place}`: `{wrong[0]}` is not a host name",
            f'hosts = ["{AGENT_HOSTS}", "api.example.com", "*.example.org"]',
        )
    return tuple(sorted(hosts, key=lambda host: host == AGENT_HOSTS))  # that word last


def read_command(table: Mapping[str, Any], place: str, hint: str) -> str:
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


def read_timeout(table: Mapping[str, Any], place: str) -> float | None:
    timeout_s: float | None = table.get("timeout_s")
    if timeout_s is not None and not is_positive(timeout_s):
        raise ConfigInvalid(f"`{place}`: `timeout_s` must be a positive number of seconds")
    return timeout_s


def _loop_command(table: Mapping[str, Any], place: str) -> str:
    """The built-in loop, as a command line like any other; the prompt comes on standard input."""
    model, base_url = read_text(table, "model", place), read_text(table, "base_url", place)
    if model is None:
        raise ConfigInvalid(f'`{place}`: `agent = "{LOOP}"` needs a `model`', f'model = "{_ANY}"')
    words = [sys.executable, *_LOOP_WORDS.split(), model]
    return shlex.join([*words, "--base-url", base_url] if base_url else words)


def implied_variables(role: Role) -> tuple[str, ...]:
    """Variables that the built-in loop gets although nobody asked; not every model needs them."""
    _, loop, rest = role.command.partition(f" {_LOOP_WORDS} ")
    return _variables_of(rest.partition(" ")[0]) if loop else ()


def _model_variables(table: Mapping[str, Any]) -> tuple[str, ...]:
    return _variables_of(str(table.get("model"))) if table.get("agent") == LOOP else ()


def _variables_of(model: str) -> tuple[str, ...]:
    """Variables of a provider, all of one form: `OPENAI_API_KEY`, `OPENAI_BASE_URL`."""
    provider = model.partition(":")[0].partition("-")[0].upper()
    return f"{provider}_API_KEY", f"{provider}_BASE_URL"


def as_given(role: Role, command: str) -> Role:
    """The role with what the command line says: a command, or `agent:NAME` or `agent:NAME MODEL`.

    Variables that a preset asked for go with it; time and network stay as they are configured.
    """
    if not command.startswith(PRESET_PREFIX):
        return replace(role, command=command, agent="", model="")
    agent, _, model = command.removeprefix(PRESET_PREFIX).strip().partition(" ")
    if agent != LOOP:
        return replace(role, command=agent, agent=agent, model=model.strip())
    table = {"agent": LOOP, "model": model.strip()}
    if not table["model"]:
        words = f"--role {role.name}={command}"
        raise ConfigInvalid(f"`{words}` names no model", f"--role {role.name}='agent:loop {_ANY}'")
    made, env = _loop_command(table, f"--role {role.name}"), (*role.env, *_model_variables(table))
    return replace(role, command=made, agent=LOOP, model=model, env=env)


def kind_of(name: str) -> RoleKind:
    return RoleKind.REVIEW if "review" in name.lower() else RoleKind.CODE


def read_prices(data: Mapping[str, Any], where: str) -> dict[str, Price]:
    """`[prices."MODEL"]`, in dollars for a million tokens."""
    tables = data.get("prices", {})
    if not isinstance(tables, dict):
        raise ConfigInvalid(f"`{where}`: `prices` must be a table, one `[prices.MODEL]` per model")
    prices = {}
    for model in tables:
        table, place = read_table(tables, model, Price.__struct_fields__, f"{where}, prices")
        said = [table.get("input"), table.get("output"), table.get("cached", 0)]
        if not all(type(value) in (int, float) and 0 <= value < 1e6 for value in said):
            raise ConfigInvalid(
                f"`{place}` needs the numbers `input` and `output`, and may have `cached`",
                "dollars for a million tokens, such as: input = 1.25, output = 10",
            )
        prices[model] = Price(**{name: float(value) for name, value in table.items()})
    return prices
