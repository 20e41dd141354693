"""Tools for models: the `@tool` decorator, and the standard ones."""

from signoff.agents.tools.context import Changes, Notebook, Shell, ToolContext, Trace, Watch
from signoff.agents.tools.definition import Effect, Tool, ToolOutcome, tool
from signoff.agents.tools.failure import ToolError
from signoff.agents.tools.files import Files
from signoff.agents.tools.notes import ask_user, scratchpad, todo
from signoff.agents.tools.plan import plan_tools
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

__all__ = [
    "STANDARD_TOOLS",
    "Changes",
    "Effect",
    "Files",
    "Notebook",
    "Shell",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolOutcome",
    "Trace",
    "Watch",
    "plan_tools",
    "tool",
]
