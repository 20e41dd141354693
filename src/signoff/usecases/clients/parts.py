"""What install adds to a client: the commands of its hooks, its MCP entry, how to know them."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from signoff.domain.clients import Client, HookKind

SERVER = "signoff"


@dataclass(frozen=True)
class Wanted:
    """What belongs into one file of a client: its hooks, its MCP entry, or both."""

    client: Client
    program: tuple[str, ...]  # the words that start signoff
    hooks: bool
    mcp: bool

    def command(self, kind: HookKind) -> str:
        """The hook's command line."""
        return shlex.join([*self.program, "hook", self.client.name, kind.value])

    @property
    def server(self) -> dict[str, Any]:
        """The MCP entry."""
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
    """Exactly our command line; a command that only mentions it is somebody else's."""
    command = value.get("command") if isinstance(value, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    program, rest = words[:-3], words[-3:]
    kinds = {kind.value for kind in HookKind}
    return is_our_program(program) and rest[:2] == ["hook", client.name] and rest[2] in kinds


def is_our_server(value: Any) -> bool:
    """Whether an MCP entry starts signoff; an entry of our name may be somebody else's."""
    if not isinstance(value, dict):
        return False
    command, args = value.get("command"), value.get("args")
    if not (isinstance(command, str) and isinstance(args, list) and args[-1:] == ["mcp"]):
        return False
    words = [command, *args[:-1]]
    return all(isinstance(word, str) for word in words) and is_our_program(words)


def is_our_program(words: Sequence[str]) -> bool:
    """Whether these words start signoff, from wherever it is installed."""
    if len(words) == 1:
        return posixpath.basename(words[0]) == "signoff"
    return len(words) == 3 and list(words[1:]) == ["-m", "signoff"]
