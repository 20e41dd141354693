"""A client's JSON configuration: our hooks and MCP entry put in and taken out, nothing else.

Text in, text out; what cannot be edited safely raises ConfigInvalid and changes nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from signoff.domain.clients import Client, HookKind
from signoff.errors import ConfigInvalid
from signoff.usecases.clients import jsontext
from signoff.usecases.clients.jsontext import Node, NotJson
from signoff.usecases.clients.parts import SERVER, Wanted, is_our_handler, is_our_server

# Keys of a group of hooks that mean nothing once its hooks are gone.
_GROUP_KEYS = frozenset({"hooks", "matcher", "sequential"})
# Keys of a hook that decide whether the client waits for it, or runs it at all.
_STEERING_KEYS = frozenset({"async", "if", "once", "shell", "enabled"})


class _Found(NamedTuple):
    """A hook of ours: the containers it lies in, from the array of its event inwards."""

    event: Node
    group: Node
    handlers: Node
    handler: Node


def add_to_json(text: str | None, wanted: Wanted, path: str) -> str:
    """The text with everything that is wanted; the same text if it is all there."""
    text = "{}\n" if text is None or not text.strip() else text
    _root(text, path)
    for kind in HookKind if wanted.hooks else ():
        text = _add_hook(text, wanted, kind, path)
    return _add_server(text, wanted, path) if wanted.mcp else text


def take_from_json(text: str, wanted: Wanted, path: str) -> str:
    """The text without what is ours, wherever the user moved it."""
    while text.strip():
        root = _root(text, path)
        target = _ours_to_remove(text, root, wanted)
        if target is None:
            break
        text = jsontext.remove(text, *target)
    return text


def doubts_about(text: str, wanted: Wanted, path: str) -> Iterator[str]:
    """What in this text keeps our hooks from doing their work, in words for a person."""
    if not text.strip():
        return
    root = _root(text, path)
    if root.value.get("disableAllHooks") is True:
        yield f"`{path}`: `disableAllHooks` is true, so no hook runs"
    config = root.value.get("hooksConfig")
    if isinstance(config, dict) and config.get("enabled") is False:
        yield f"`{path}`: `hooksConfig.enabled` is false, so no hook runs"
    for found in _our_hooks(root, wanted.client) if wanted.hooks else ():
        name = found.event.key
        kind = _kind_of(found)
        if name != wanted.client.events[kind]:
            yield f"`{path}`: the hook for {kind.value} is under `{name}`"
        changed = sorted(_differences(found, wanted.group(kind)))
        if changed:
            words = ", ".join(f"`{key}`" for key in changed)
            yield f"`{path}`: `{name}` is not as install writes it ({words}); left as it is"
    server = _server(root) if wanted.mcp else None
    if server is not None and not is_our_server(server.value):
        yield f"`{path}`: `mcpServers.{SERVER}` is an entry of your own; left as it is"


def _add_hook(text: str, wanted: Wanted, kind: HookKind, path: str) -> str:
    root = _root(text, path)
    event = wanted.client.events[kind]
    there = [f for f in _our_hooks(root, wanted.client) if _kind_of(f) is kind]
    for found in there:
        command = found.handler.member("command")
        if command is not None and command.value != wanted.command(kind):
            return _add_hook(
                jsontext.replace(text, command, wanted.command(kind)), wanted, kind, path
            )
    if any(found.event.key == event for found in there):
        return text
    hooks = _object(text, root, "hooks", path)
    if hooks is None:
        new = {"hooks": {event: [wanted.group(kind)]}}
        return jsontext.insert_member(text, root, "hooks", new["hooks"])
    groups = _member(text, hooks, event, path)
    if groups is None:
        return jsontext.insert_member(text, hooks, event, [wanted.group(kind)])
    if not isinstance(groups.value, list):
        raise _invalid(text, path, f"`hooks.{event}` is not a list", groups.start)
    return jsontext.append_item(text, groups, wanted.group(kind))


def _add_server(text: str, wanted: Wanted, path: str) -> str:
    root = _root(text, path)
    servers = _object(text, root, "mcpServers", path)
    if servers is None:
        return jsontext.insert_member(text, root, "mcpServers", {SERVER: wanted.server})
    own = _member(text, servers, SERVER, path)
    if own is None:
        return jsontext.insert_member(text, servers, SERVER, wanted.server)
    if not is_our_server(own.value):
        return text
    for key, value in wanted.server.items():
        part = own.member(key)
        if part is not None and part.value != value:
            return _add_server(jsontext.replace(text, part, value), wanted, path)
    return text


def _ours_to_remove(text: str, root: Node, wanted: Wanted) -> tuple[Node, Node] | None:
    """The next thing to take out, and what it lies in: as much as is ours alone."""
    if wanted.hooks:
        hooks = root.member("hooks")
        for found in _our_hooks(root, wanted.client):
            assert hooks is not None, "a hook was found in it"
            chain = [root, hooks, found.event]
            if _is_only(text, found.handlers, found.handler) and not (
                set(found.group.value) - _GROUP_KEYS or jsontext.has_comments(text, found.group)
            ):
                return _widest(text, chain, found.group)
            return found.handlers, found.handler
    server = _server(root) if wanted.mcp else None
    if server is not None and is_our_server(server.value):
        servers = root.member("mcpServers")
        assert servers is not None, "the server was found in it"
        return _widest(text, [root, servers], server)
    return None


def _widest(text: str, chain: Sequence[Node], target: Node) -> tuple[Node, Node]:
    """An empty container would stay behind: it goes too, unless it is the whole file."""
    where = chain[-1]
    while len(chain) > 1 and _is_only(text, where, target):
        chain, target = chain[:-1], where
        where = chain[-1]
    return where, target


def _is_only(text: str, where: Node, node: Node) -> bool:
    return where.inner == (node,) and not jsontext.has_comments(text, where)


def _our_hooks(root: Node, client: Client) -> Iterator[_Found]:
    hooks = root.member("hooks")
    for event in hooks.inner if hooks is not None and isinstance(hooks.value, dict) else ():
        for group in event.inner if isinstance(event.value, list) else ():
            handlers = group.member("hooks") if isinstance(group.value, dict) else None
            for handler in handlers.inner if handlers and isinstance(handlers.value, list) else ():
                if is_our_handler(handler.value, client):
                    assert handlers is not None, "the handler was found in it"
                    yield _Found(event, group, handlers, handler)


def _kind_of(found: _Found) -> HookKind:
    return HookKind(shlex.split(found.handler.value["command"])[-1])


def _differences(found: _Found, group: dict[str, Any]) -> Iterator[str]:
    """Keys that steer whether and how our hook runs, where they differ from ours."""
    hook = group["hooks"][0]
    for key, value in found.handler.value.items():
        if (key in hook and value != hook[key]) or key in _STEERING_KEYS:
            yield key
    if found.group.value.get("matcher") not in (None, "", "*", ".*"):
        yield "matcher"


def _server(root: Node) -> Node | None:
    servers = root.member("mcpServers")
    return servers.member(SERVER) if servers and isinstance(servers.value, dict) else None


def _root(text: str, path: str) -> Node:
    try:
        root = jsontext.read(text)
        for key in ("hooks", "mcpServers"):
            inner = root.member(key)
            for name in {node.key for node in inner.inner} if inner else ():
                if inner is not None and name is not None:
                    inner.member(name)
    except NotJson as error:
        raise _invalid(text, path, str(error), error.at) from error
    if not isinstance(root.value, dict):
        raise _invalid(text, path, "it is not an object", root.start)
    return root


def _object(text: str, where: Node, key: str, path: str) -> Node | None:
    node = _member(text, where, key, path)
    if node is not None and not isinstance(node.value, dict):
        raise _invalid(text, path, f"`{key}` is not an object", node.start)
    return node


def _member(text: str, where: Node, key: str, path: str) -> Node | None:
    try:
        return where.member(key)
    except NotJson as error:
        raise _invalid(text, path, str(error), error.at) from error


def _invalid(text: str, path: str, message: str, at: int) -> ConfigInvalid:
    number = jsontext.line_of(text, at)
    line = text.split("\n")[number - 1].strip()
    return ConfigInvalid(f"`{path}:{number}`: {message}\n{line[:200]}", f"correct `{path}`")
