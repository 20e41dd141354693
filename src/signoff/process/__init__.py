"""The only room that starts processes: sandboxes, limits, output, the death of whole trees.

A module is loaded when one of its names is first asked for.
"""

from __future__ import annotations

from signoff.lazy import door

# Not `typing.TYPE_CHECKING`: what must answer at once comes through here.
TYPE_CHECKING = False
if TYPE_CHECKING:
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
    from signoff.process.outlets import own_output
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
    "own_output",
    "probe_sandboxes",
    "run",
    "safe_search_path",
    "shell_command",
]

_MODULE_OF = {
    "ProcessIdentity": "ancestry",
    "ancestors": "ancestry",
    "environment_has": "ancestry",
    "identify": "ancestry",
    "is_alive": "ancestry",
    "Command": "command",
    "Confinement": "confinement",
    "Mount": "confinement",
    "STANDARD_PATH": "environment",
    "clean_environment": "environment",
    "safe_search_path": "environment",
    "WORKSPACE_VARIABLE": "leftovers",
    "kill_marked": "leftovers",
    "Limits": "limits",
    "own_output": "outlets",
    "run": "runner",
    "Support": "sandboxes",
    "best_isolation": "sandboxes",
    "probe_sandboxes": "sandboxes",
    "find_tool": "shell",
    "shell_command": "shell",
    "StreamName": "streams",
    "full_control": "tree",
}

__getattr__ = door(__name__, _MODULE_OF)
