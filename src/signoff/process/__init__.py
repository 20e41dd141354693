"""The only room that starts processes: limits, output, and the death of whole process trees."""

from signoff.process.ancestry import (
    ProcessIdentity,
    ancestors,
    environment_has,
    identify,
    is_alive,
)
from signoff.process.environment import STANDARD_PATH, clean_environment, safe_search_path
from signoff.process.leftovers import WORKSPACE_VARIABLE, kill_marked
from signoff.process.runner import run
from signoff.process.shell import find_tool, shell_command
from signoff.process.spawn import Command, Limits
from signoff.process.streams import StreamName
from signoff.process.tree import full_control

__all__ = [
    "STANDARD_PATH",
    "WORKSPACE_VARIABLE",
    "Command",
    "Limits",
    "ProcessIdentity",
    "StreamName",
    "ancestors",
    "clean_environment",
    "environment_has",
    "find_tool",
    "full_control",
    "identify",
    "is_alive",
    "kill_marked",
    "run",
    "safe_search_path",
    "shell_command",
]
