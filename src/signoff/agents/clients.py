"""Clients that keep state of their own in the user's home: what each must be able to write."""

from __future__ import annotations

import posixpath
from pathlib import Path

CLIENTS: dict[str, tuple[str, ...]] = {
    "claude": (".claude", ".claude.json"),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "qwen": (".qwen",),
    "opencode": (".local/share/opencode", ".local/state/opencode", ".config/opencode"),
    "aider": (".aider",),
    "goose": (".config/goose", ".local/share/goose"),
    "cursor-agent": (".cursor",),
}


def paths_of_client(command: str, home: Path) -> tuple[Path, ...]:
    """The places of a known client that exist; an unknown command gets none."""
    known = CLIENTS.get(posixpath.basename(command), ())
    return tuple(home / place for place in known if (home / place).exists())
