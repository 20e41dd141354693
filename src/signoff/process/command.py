"""What to run, what it may see and do, what it means when it cannot be started, what it printed."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from signoff.domain.observation import Ending, Output
from signoff.domain.verdict import Isolation
from signoff.process.limits import Limits


class Unavailable(Exception):
    """A sandbox cannot do here what is asked of it; the message says why."""


@dataclass(frozen=True)
class Mount:
    """What is seen at `at` is really `source`."""

    source: Path
    at: Path
    writable: bool = False
    holds_parents: bool = True  # whether folders on the way to it are kept from being moved


@dataclass(frozen=True)
class Confinement:
    """Everything is readable except what is hidden or private; only what is named can be changed.

    The most specific rule holds: a writable folder below a hidden one is seen, a hidden one below
    a writable one is not. `readonly`, `readable`, `hidden` and `scratch` paths that do not exist
    are left out; a `writable` path that does not exist is refused.
    """

    isolation: Isolation
    writable: tuple[Path, ...]
    readonly: tuple[Path, ...] = ()
    """Holes in the writable ones: seen, not changeable."""
    absent: tuple[Path, ...] = ()
    """Not there, and not to be made: shown empty and not changeable while the command runs."""
    readable: tuple[Path, ...] = ()
    """Seen although they lie below a private or hidden folder."""
    shown: tuple[Path, ...] = ()
    """Seen and not changeable, even below a hidden folder."""
    hidden: tuple[Path, ...] = ()
    """Folders or files of which nothing can be read."""
    scratch: tuple[Path, ...] = ()
    """Empty, writable, and gone afterwards."""
    mounts: tuple[Mount, ...] = ()
    network: bool = False
    traceless: bool = False
    """Leaves nothing of what it saw behind in shared memory or in attributes of files."""

    def __post_init__(self) -> None:
        if self.isolation is Isolation.NONE:
            raise ValueError("a run without a sandbox has no confinement")


def is_within(path: Path, folder: Path) -> bool:
    """Whether a path is the folder or lies in it, links followed."""
    return path.resolve().is_relative_to(folder.resolve())


@dataclass(frozen=True)
class Command:
    """What to run, where, with which environment, and what to look for in its output.

    `marked_by` names the variable of `env` by which `kill_marked` finds the run's processes after
    the harness itself was killed; its value must be unique to the run. `born_with` is such a name
    and value for a command whose environment is not to tell who runs it: then only the birthmark
    does. Without a `confinement` the command may do what the user may.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    limits: Limits
    stdin: bytes = b""
    find_stdout: tuple[bytes, ...] = ()
    find_stderr: tuple[bytes, ...] = ()
    marked_by: str | None = None
    born_with: tuple[str, str] | None = None
    confinement: Confinement | None = None


@dataclass(frozen=True)
class Refusal:
    """Why there is no process."""

    ending: Ending
    detail: str


def popen(
    command: Command,
    argv: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """A process in a session of its own, its output in pipes."""
    return subprocess.Popen(
        [as_bytes(word) for word in argv],
        cwd=cwd,
        env={as_bytes(name): as_bytes(value) for name, value in env.items()},
        stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def as_bytes(text: str) -> bytes:
    """What a process is given: UTF-8, whatever the caller's locale is able to write."""
    return text.encode("utf-8", "surrogateescape")


def refusal_of(command: Command, error: OSError | ValueError) -> Refusal:
    """What it means that the system did not start the command."""
    program = command.argv[0]
    if not isinstance(error, OSError):
        return Refusal(Ending.NOT_STARTED, f"`{program}`: {error}")
    missing = refusal_of_folder(command.cwd)
    return missing or refusal_of_program(program, error.errno or 0)


def refusal_of_folder(cwd: Path) -> Refusal | None:
    """Why nothing can run in this folder; None when something can."""
    if not cwd.is_dir():
        return Refusal(Ending.NOT_STARTED, f"the folder `{cwd}` is not there")
    if not os.access(cwd, os.X_OK):
        return Refusal(Ending.NOT_STARTED, f"the folder `{cwd}` may not be entered")
    return None


def refusal_of_program(program: str, number: int) -> Refusal:
    """What an error number of starting a program means."""
    reason = os.strerror(number).lower()
    ending = Ending.NOT_STARTED
    if number in (errno.ENOENT, errno.ENOTDIR):
        ending = Ending.NOT_FOUND
    elif number in (errno.EACCES, errno.ENOEXEC, errno.EPERM):
        ending = Ending.NOT_EXECUTABLE
    return Refusal(ending, f"`{program}`: {reason}")


class StreamName(StrEnum):
    """Which of the two a piece of output came from."""

    STDOUT = "stdout"
    STDERR = "stderr"


class StreamRecord:
    """Takes chunks of any size in bounded memory."""

    def __init__(self, keep_head: int, keep_tail: int, needles: tuple[bytes, ...] = ()):
        self.size = 0
        self._hash = hashlib.sha256()
        self._head = bytearray()
        self._tail = bytearray()
        self._keep_head = keep_head
        self._keep_tail = keep_tail
        self._needles = needles
        self._found = [needle == b"" for needle in needles]
        self._carry = b""

    def feed(self, chunk: bytes) -> None:
        """Account for the next piece of the stream."""
        self.size += len(chunk)
        self._hash.update(chunk)
        self._search(chunk)
        room = self._keep_head - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk[-self._keep_tail :] if self._keep_tail else b""
        # Trimming at twice the length keeps the copying linear in the output.
        if len(self._tail) > 2 * self._keep_tail:
            del self._tail[: -self._keep_tail]

    def output(self) -> Output:
        """What is known of the stream so far."""
        tail = self._tail[-self._keep_tail :] if self._keep_tail else b""
        return Output(self.size, self._hash.hexdigest(), bytes(self._head), bytes(tail))

    def matches(self) -> tuple[bool, ...]:
        """For each needle, whether it appeared anywhere."""
        return tuple(self._found)

    def _search(self, chunk: bytes) -> None:
        missing = [i for i, found in enumerate(self._found) if not found]
        if not missing:
            return
        text = self._carry + chunk
        for i in missing:
            self._found[i] = self._needles[i] in text
        longest = max(len(self._needles[i]) for i in missing)
        self._carry = text[-(longest - 1) :] if longest > 1 else b""
