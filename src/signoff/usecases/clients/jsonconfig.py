"""A client's JSON configuration: our hooks and MCP entry put in and taken out, nothing else.

Text in, text out; what cannot be edited safely raises ConfigInvalid and changes nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from signoff.domain.clients import Client, HookKind
from signoff.errors import ConfigInvalid
from signoff.usecases.clients.jsontext import JsonNode, NotJson, has_comments, insert, read, remove
from signoff.usecases.clients.jsontext import replace as replace_value
from signoff.usecases.clients.parts import SERVER, Wanted, is_our_handler, is_our_server

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
    """What in this text keeps our hooks from doing their work, in words for a person."""
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
            words = ", ".join(f"`{key}`" for key in changed)
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
    """What the next thing to take out lies in, and that thing: as much as is ours alone."""
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
    """An empty container would stay behind: it goes too, unless it is the whole file."""
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
