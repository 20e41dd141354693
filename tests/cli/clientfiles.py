"""What tests of `install` share: where each client keeps its hooks, and how to look at them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

EVENTS = {
    "claude": ("SessionStart", "PreToolUse", "Stop", "SessionEnd"),
    "codex": ("SessionStart", "PreToolUse", "Stop", "SessionEnd"),
    "gemini": ("SessionStart", "BeforeTool", "AfterAgent", "SessionEnd"),
    "qwen": ("SessionStart", "PreToolUse", "Stop", "SessionEnd"),
}
HOOKS_FILE = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
}
# Somebody's settings: comments of both kinds, an own hook.
MINE = """\
{
  // my own notes
  "model": "best", /* and
     more */ "permissions": {"allow": ["Bash(ls:*)"]},
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]} // loud
    ]
  }
}
"""


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, git's own apart."""
    paths = [p for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts]
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths}


def commands(hooks: dict[str, Any]) -> dict[str, list[str]]:
    """The commands of every event, in order."""
    return {
        event: [handler["command"] for group in groups for handler in group["hooks"]]
        for event, groups in hooks.items()
    }
