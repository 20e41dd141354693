"""codex's `config.toml`: the MCP entry in one marked block, everything else byte for byte.

What cannot be edited safely raises ConfigInvalid and changes nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from signoff.errors import ConfigInvalid
from signoff.usecases.clients.parts import SERVER, Wanted, is_our_server

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
    """What in codex's config keeps our parts from working."""
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
    """Where our block stands: from the start of its first line to the end of its last."""
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
