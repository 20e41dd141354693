"""The only room that starts processes: sandboxes, limits, output, the death of whole trees."""

from signoff.process.ancestry import (
    ProcessIdentity,
    ancestors,
    environment_has,
    identify,
    is_alive,
)
from signoff.process.command import Command
from signoff.process.confinement import Confinement, Mount
from signoff.process.environment import STANDARD_PATH, clean_environment, safe_search_path
from signoff.process.leftovers import WORKSPACE_VARIABLE, kill_marked
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.sandboxes import Support, best_isolation, probe_sandboxes
from signoff.process.shell import find_tool, shell_command
from signoff.process.streams import StreamName
from signoff.process.tree import full_control

__all__ = [
    "STANDARD_PATH",
    "WORKSPACE_VARIABLE",
    "Command",
    "Confinement",
    "Limits",
    "Mount",
    "ProcessIdentity",
    "StreamName",
    "Support",
    "ancestors",
    "best_isolation",
    "clean_environment",
    "environment_has",
    "find_tool",
    "full_control",
    "identify",
    "is_alive",
    "kill_marked",
    "probe_sandboxes",
    "run",
    "safe_search_path",
    "shell_command",
]
