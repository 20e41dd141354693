"""Add our hooks and MCP entry to a client's JSON or TOML, and take them out again.

Text in, text out; what cannot be edited safely raises ConfigInvalid and changes nothing. The rest
of a file stays byte for byte; in codex's `config.toml` ours is one marked block.
"""

from __future__ import annotations

import posixpath
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from msgspec import Struct

from signoff.domain.clients import Client, HookKind
from signoff.domain.text import shown_list
from signoff.errors import ConfigInvalid
from signoff.usecases.clients.jsontext import JsonNode, NotJson, has_comments, insert, read, remove
from signoff.usecases.clients.jsontext import replace as replace_value

SERVER = "signoff"


class Wanted(Struct, frozen=True):
    """Content for one file of a client: its hooks, its MCP entry, or both."""

    client: Client
    program: tuple[str, ...]  # the words that start signoff
    hooks: bool
    mcp: bool

    def command(self, kind: HookKind) -> str:
        return shlex.join([*self.program, "hook", self.client.name, kind.value])

    @property
    def server(self) -> dict[str, Any]:
        return {"command": self.program[0], "args": [*self.program[1:], "mcp"]}

    def group(self, kind: HookKind) -> dict[str, Any]:
        """The hook as a group of its own; without a matcher, so that it sees every tool."""
        hook = {
            "type": "command",
            "command": self.command(kind),
            "timeout": self.client.timeout(kind),
        }
        return {"hooks": [hook]}


def is_our_handler(value: Any, client: Client) -> bool:
    """True for exactly our command line; one that only mentions it is somebody else's."""
    command = value.get("command") if isinstance(value, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    program, rest = words[:-3], words[-3:]
    kinds = {kind.value for kind in HookKind}
    return is_our_program(program) and rest[:2] == ["hook", client.name] and rest[2] in kinds


def is_our_server(value: Any) -> bool:
    """True when an MCP entry starts signoff; an entry of our name may be somebody else's."""
    if not isinstance(value, dict):
        return False
    command, args = value.get("command"), value.get("args")
    if not (isinstance(command, str) and isinstance(args, list) and args[-1:] == ["mcp"]):
        return False
    words = [command, *args[:-1]]
    return all(isinstance(word, str) for word in words) and is_our_program(words)


def is_our_program(words: Sequence[str]) -> bool:
    """True when these words start signoff, from wherever it is installed."""
    if len(words) == 1:
        return posixpath.basename(words[0]) == "signoff"
    return len(words) == 3 and list(words[1:]) == ["-m", "signoff"]


# Keys of a group of hooks that mean nothing once its hooks are gone.
_GROUP_KEYS = frozenset({"hooks", "matcher", "sequential"})
# Keys of a hook that decide whether the client waits for it, or runs it at all.
_STEERING_KEYS = frozenset({"async", "if", "once", "shell", "enabled"})


class _Found(NamedTuple):
    """A hook of ours: the containers it lies in, from the array of its event inwards."""

    event: JsonNode
    group: JsonNode
    handlers: JsonNode
    handler: JsonNode

    @property
    def kind(self) -> HookKind:
        return HookKind(shlex.split(self.handler.value["command"])[-1])


def add_to_json(text: str | None, wanted: Wanted, path: str) -> str:
    """The text with everything that is wanted; the same text if it is all there."""
    text = "{}\n" if text is None or not text.strip() else text
    with _explained(path):
        for kind in HookKind if wanted.hooks else ():
            text = _add_hook(text, wanted, kind)
        return _add_server(text, wanted) if wanted.mcp else _root(text).text


def take_from_json(text: str, wanted: Wanted, path: str) -> str:
    """The text without what is ours, wherever the user moved it."""
    with _explained(path):
        while text.strip() and (target := _ours_to_remove(_root(text), wanted)):
            text = remove(*target)
    return text


def doubts_about(text: str, wanted: Wanted, path: str) -> Iterator[str]:
    """Settings in this text that keep our hooks from working, in words for a person."""
    if not text.strip():
        return
    with _explained(path):
        root = _root(text)
    if root.value.get("disableAllHooks") is True:
        yield f"`{path}`: `disableAllHooks` is true, so no hook runs"
    config = root.value.get("hooksConfig")
    if isinstance(config, dict) and config.get("enabled") is False:
        yield f"`{path}`: `hooksConfig.enabled` is false, so no hook runs"
    for found in _our_hooks(root, wanted.client) if wanted.hooks else ():
        name = found.event.key
        if name != wanted.client.events[found.kind]:
            yield f"`{path}`: the hook for {found.kind.value} is under `{name}`"
        if changed := sorted(_differences(found, wanted)):
            words = shown_list(changed)
            yield f"`{path}`: `{name}` is not as install writes it ({words}); left as it is"
    server = _server(root) if wanted.mcp else None
    if server is not None and not is_our_server(server.value):
        yield f"`{path}`: `mcpServers.{SERVER}` is an entry of your own; left as it is"


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except NotJson as error:
        said = f"`{path}:{error.line}`: {error}\n{error.source[:200]}"
        raise ConfigInvalid(said, f"correct `{path}`") from error


def _add_hook(text: str, wanted: Wanted, kind: HookKind) -> str:
    root, event = _root(text), wanted.client.events[kind]
    there = [found for found in _our_hooks(root, wanted.client) if found.kind is kind]
    for found in there:
        command = found.handler.member("command")
        if command is not None and command.value != wanted.command(kind):
            return _add_hook(replace_value(command, wanted.command(kind)), wanted, kind)
    if any(found.event.key == event for found in there):
        return text
    group = wanted.group(kind)
    hooks = root.member("hooks")
    if hooks is None:
        return insert(root, {event: [group]}, "hooks")
    groups = hooks.member(event)
    if groups is None:
        return insert(hooks, [group], event)
    if not isinstance(groups.value, list):
        raise NotJson(f"`hooks.{event}` is not a list", text, groups.start)
    return insert(groups, group)


def _add_server(text: str, wanted: Wanted) -> str:
    root = _root(text)
    servers, own = root.member("mcpServers"), _server(root)
    if servers is None:
        return insert(root, {SERVER: wanted.server}, "mcpServers")
    if own is None:
        return insert(servers, wanted.server, SERVER)
    for key, value in wanted.server.items() if is_our_server(own.value) else ():
        part = own.member(key)
        if part is not None and part.value != value:
            return _add_server(replace_value(part, value), wanted)
    return text


def _ours_to_remove(root: JsonNode, wanted: Wanted) -> tuple[JsonNode, JsonNode] | None:
    """The next thing to take out, behind what it lies in: as much as is ours alone."""
    hooks, servers, server = root.member("hooks"), root.member("mcpServers"), _server(root)
    for found in _our_hooks(root, wanted.client) if wanted.hooks and hooks else ():
        assert hooks is not None, "a hook was found in it"
        others = set(found.group.value) - _GROUP_KEYS or has_comments(found.group)
        if others or not _is_only(found.handlers, found.handler):
            return found.handlers, found.handler
        return _widest([root, hooks, found.event], found.group)
    if wanted.mcp and servers and server and is_our_server(server.value):
        return _widest([root, servers], server)
    return None


def _widest(chain: Sequence[JsonNode], target: JsonNode) -> tuple[JsonNode, JsonNode]:
    """Take the widest container that would stay behind empty, unless it is the whole file."""
    *outer, where = chain
    return _widest(outer, where) if outer and _is_only(where, target) else (where, target)


def _is_only(where: JsonNode, node: JsonNode) -> bool:
    return where.inner == (node,) and not has_comments(where)


def _our_hooks(root: JsonNode, client: Client) -> Iterator[_Found]:
    hooks = root.member("hooks")
    for event in hooks.inner if hooks is not None else ():
        for group in event.inner if isinstance(event.value, list) else ():
            handlers = group.member("hooks") if isinstance(group.value, dict) else None
            if handlers is not None and isinstance(handlers.value, list):
                for handler in handlers.inner:
                    if is_our_handler(handler.value, client):
                        yield _Found(event, group, handlers, handler)


def _differences(found: _Found, wanted: Wanted) -> Iterator[str]:
    """Keys that steer whether and how our hook runs, where they differ from ours."""
    hook = wanted.group(found.kind)["hooks"][0]
    for key, value in found.handler.value.items():
        if (key in hook and value != hook[key]) or key in _STEERING_KEYS:
            yield key
    if found.group.value.get("matcher") not in (None, "", "*", ".*"):
        yield "matcher"


def _server(root: JsonNode) -> JsonNode | None:
    servers = root.member("mcpServers")
    return servers.member(SERVER) if servers is not None else None


def _root(text: str) -> JsonNode:
    """The file's object; what we look into is there once, and an object too."""
    root = read(text)
    if not isinstance(root.value, dict):
        raise NotJson("it is not an object", text, root.start)
    for key in ("hooks", "mcpServers"):
        inner = root.member(key)
        if inner is not None and not isinstance(inner.value, dict):
            raise NotJson(f"`{key}` is not an object", text, inner.start)
        for name in inner.value if inner is not None else ():
            _ = inner and inner.member(name)  # raises for a name that is there twice
    return root


BEGIN = "# >>> signoff (`signoff uninstall codex` takes this block away) >>>"
END = "# <<< signoff <<<"


def add_to_toml(text: str | None, wanted: Wanted, path: str) -> str:
    """codex's config with the MCP entry in a marked block at its end."""
    text = text or ""
    before = _toml(text, path)
    servers = _servers(before, path)
    if SERVER in servers:
        if servers[SERVER] == wanted.server or _block_in(text) is None:
            return text
        taken = take_from_toml(text, wanted, path)
        return text if taken == text else add_to_toml(taken, wanted, path)
    line = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else line if text.endswith("\n") else line * 2
    after = text + gap + _block(wanted, line)
    return _checked(after, {**before, "mcp_servers": {**servers, SERVER: wanted.server}}, path)


def take_from_toml(text: str, wanted: Wanted, path: str) -> str:
    """The text without our block; a block that somebody wrote into is left."""
    before = _toml(text, path)
    place = _block_in(text)
    server: Any = _servers(before, path).get(SERVER)
    if place is None or not is_our_server(server):
        return text
    start, end = place
    line = "\r\n" if "\r\n" in text else "\n"
    own = Wanted(wanted.client, (server["command"], *server["args"][:-1]), hooks=False, mcp=True)
    if text[start:end] != _block(own, line):
        return text
    head = text[:start]
    left = {k: v for k, v in before["mcp_servers"].items() if k != SERVER}
    expected = {**before, "mcp_servers": left}
    if not left:
        del expected["mcp_servers"]
    return _checked(head.removesuffix(line) + text[end:], expected, path)


def toml_doubts(text: str, wanted: Wanted, path: str) -> Iterator[str]:
    """Settings in codex's config that keep our parts from working."""
    data = _toml(text, path)
    features = data.get("features")
    if isinstance(features, dict) and features.get("hooks") is False:
        yield f"`{path}`: `features.hooks` is false, so no hook runs"
    server = _servers(data, path).get(SERVER)
    if server is not None and server != wanted.server:
        yield f"`{path}`: `mcp_servers.{SERVER}` is not as install writes it; left as it is"


def _servers(data: dict[str, Any], path: str) -> dict[str, Any]:
    servers: Any = data.get("mcp_servers", {})
    if not isinstance(servers, dict):
        raise ConfigInvalid(f"`{path}`: `mcp_servers` is not a table", f"correct `{path}`")
    return servers


def _block(wanted: Wanted, line: str) -> str:
    words = ", ".join(_toml_text(word) for word in wanted.server["args"])
    lines = [
        BEGIN,
        f"[mcp_servers.{SERVER}]",
        f"command = {_toml_text(wanted.server['command'])}",
        f"args = [{words}]",
        END,
    ]
    return "".join(f"{one}{line}" for one in lines)


def _toml_text(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _block_in(text: str) -> tuple[int, int] | None:
    """Position of our block: from the start of its first line to the end of its last."""
    start = text.find(BEGIN)
    end = text.find(END, start)
    if start < 0 or end < 0:
        return None
    after = text.find("\n", end)
    return start, len(text) if after < 0 else after + 1


def _toml(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(f"`{path}` is not valid TOML: {error}", f"correct `{path}`") from error


def _checked(after: str, expected: dict[str, Any], path: str) -> str:
    """The new text, if it says what it should and nothing else changed its meaning."""
    try:
        if _toml(after, path) == expected:
            return after
    except ConfigInvalid:
        pass
    raise ConfigInvalid(
        f"`{path}` is written in a way that cannot be edited safely",
        f"change `mcp_servers.{SERVER}` by hand",
    )
