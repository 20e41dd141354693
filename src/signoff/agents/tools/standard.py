"""The tools that every model gets unless its user names others."""

from __future__ import annotations

from signoff.agents.tools.definition import Tool
from signoff.agents.tools.notes import ask_user, scratchpad, todo
from signoff.agents.tools.reading import glob, grep, read
from signoff.agents.tools.shell import bash
from signoff.agents.tools.writing import edit, patch, write

STANDARD_TOOLS: list[Tool] = [
    read,
    write,
    edit,
    patch,
    glob,
    grep,
    bash,
    todo,
    scratchpad,
    ask_user,
]
