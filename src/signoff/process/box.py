"""What stands between a command and the machine during one run: the one face of every sandbox."""

from __future__ import annotations

import subprocess
from typing import Protocol

from signoff.process.command import Command, Refusal, popen
from signoff.process.limits import apply_limits
from signoff.process.pidgroup import PidGroup
from signoff.process.proctable import descendants
from signoff.process.tree import Tree


class Box(Protocol):
    """Made for one run; every descriptor and folder it holds is given back by `close`."""

    def popen(self) -> subprocess.Popen[bytes]:
        """Start the main process."""

    def settle(
        self, process: subprocess.Popen[bytes], tree: Tree, group: PidGroup | None
    ) -> int | None:
        """Put the limits on; returns the cap on processes that the kernel does not see to yet."""

    def outcome(self, code: int, stderr: bytes) -> int | Refusal:
        """How the command itself ended, from how the main process did; negative for a signal."""

    def close(self) -> None:
        """Give everything back; no process of the run is alive any more."""


class Unconfined:
    """No sandbox: the main process is the command."""

    def __init__(self, command: Command):
        self._command = command

    def popen(self) -> subprocess.Popen[bytes]:
        """Start the command itself."""
        return popen(self._command, self._command.argv, self._command.env, self._command.cwd)

    def settle(
        self, process: subprocess.Popen[bytes], tree: Tree, group: PidGroup | None
    ) -> int | None:
        """Limit the running command from outside: a `preexec_fn` would make it a full fork.

        What it forked in the meantime gets the limits too, so only processor time and files of
        the first moments go uncounted.
        """
        del tree, group  # most commands have ended by the time a group would hold them
        return limit_running(process.pid, self._command)

    def outcome(self, code: int, stderr: bytes) -> int | Refusal:
        """The command's own end."""
        del stderr
        return code

    def close(self) -> None:
        """Nothing is held."""


def limit_running(main: int, command: Command) -> int | None:
    """Limit a process that already runs, and what it has started by now."""
    apply_limits((main, *descendants([main])), command.limits)
    return command.limits.processes
