"""Small words for the tests of this room: a command, a daemon, and whether something lives."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from signoff.process.command import Command
from signoff.process.environment import STANDARD_PATH, clean_environment
from signoff.process.limits import Limits
from signoff.process.shell import shell_command

PATIENCE_S = 30.0
# Not the environment's own link to it: a checkout below /tmp is hidden in a sandbox.
PYTHON = str(Path(sys.executable).resolve())

# Starts a process that no longer has a parent of its own, in a session of its own.
DAEMON = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
"""


def bash(text: str, cwd: Path, *, wall_s: float = 60.0, stdin: bytes = b"") -> Command:
    """A contract-like command with a clean environment."""
    return Command(shell_command(text), cwd, environment(), Limits(wall_s=wall_s), stdin=stdin)


def python(code: str, cwd: Path, *args: str, wall_s: float = 60.0) -> Command:
    """A Python process without site packages."""
    argv = (PYTHON, "-I", "-S", "-c", code, *args)
    return Command(argv, cwd, environment(), Limits(wall_s=wall_s))


def environment(**extra: str) -> dict[str, str]:
    """What a contract gets."""
    return clean_environment(os.environ, path=STANDARD_PATH, extra=extra)


def exists(pid: int) -> bool:
    """Whether there is such a process, zombies included."""
    return Path(f"/proc/{pid}").exists()


def await_true(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition; fail, saying what did not happen, when it never comes."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up, f"never happened: {what}"
        time.sleep(0.01)


def read_pid(path: Path) -> int:
    """The pid a process wrote about itself."""
    await_true(lambda: path.exists() and path.read_text().endswith("\n"), f"pid in {path.name}")
    return int(path.read_text())
