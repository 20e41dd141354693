"""Starting one process: its own session, its limits, and what it means when that fails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.observation import Ending
from signoff.process.proctable import descendants
from signoff.process.tree import Tree

if sys.platform != "win32":
    import resource


@dataclass(frozen=True)
class Limits:
    """How long a run may last, how much of its output is kept, what the kernel caps.

    `max_output` counts both streams together. `open_files`, `file_size` and `cpu_s` hold for each
    process of the run.
    """

    wall_s: float
    grace_s: float = 1.0
    keep_head: int = 16_384
    keep_tail: int = 49_152
    max_output: int | None = None
    open_files: int | None = None
    file_size: int | None = None
    cpu_s: int | None = None


@dataclass(frozen=True)
class Command:
    """What to run, where, with which environment, and what to look for in its output.

    `marked_by` names the variable of `env` by which `kill_marked` finds the run's processes after
    the harness itself was killed; its value must be unique to the run.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    limits: Limits
    stdin: bytes = b""
    find_stdout: tuple[bytes, ...] = ()
    find_stderr: tuple[bytes, ...] = ()
    marked_by: str | None = None


@dataclass(frozen=True)
class Refusal:
    """Why there is no process."""

    ending: Ending
    detail: str


def start(command: Command, tree: Tree) -> subprocess.Popen[bytes] | Refusal:
    """The running main process, or what kept it from starting."""
    if not command.argv:
        return Refusal(Ending.NOT_STARTED, "the command is empty")
    try:
        process = tree.start(lambda: _popen(command))
    except (OSError, ValueError) as error:
        return _refusal(command, error)
    _apply_limits(process.pid, command.limits)
    return process


def _popen(command: Command) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command.argv,
        cwd=command.cwd,
        env=dict(command.env),
        stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def _apply_limits(main: int, limits: Limits) -> None:
    """From outside, right after the start: a `preexec_fn` would make every start a full fork.

    What the process forked in the meantime gets the limits too, so only processor time and files
    of the first moments go uncounted.
    """
    if sys.platform != "linux":
        return
    wanted = {
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_CPU: limits.cpu_s,
    }
    asked = {number: value for number, value in wanted.items() if value is not None}
    if not asked:
        return
    for pid in (main, *descendants([main])):
        for number, value in asked.items():
            with suppress(OSError):
                hard = resource.prlimit(pid, number)[1]
                cap = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.prlimit(pid, number, (cap, cap))


def _refusal(command: Command, error: OSError | ValueError) -> Refusal:
    program = command.argv[0]
    if not isinstance(error, OSError):
        return Refusal(Ending.NOT_STARTED, f"`{program}`: {error}")
    reason = os.strerror(error.errno or 0).lower()
    if not command.cwd.is_dir():
        return Refusal(Ending.NOT_STARTED, f"the folder `{command.cwd}` is not there")
    if not os.access(command.cwd, os.X_OK):
        return Refusal(Ending.NOT_STARTED, f"the folder `{command.cwd}` may not be entered")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Refusal(Ending.NOT_FOUND, f"`{program}`: {reason}")
    if error.errno in (errno.EACCES, errno.ENOEXEC, errno.EPERM):
        return Refusal(Ending.NOT_EXECUTABLE, f"`{program}`: {reason}")
    return Refusal(Ending.NOT_STARTED, f"`{program}`: {reason}")
