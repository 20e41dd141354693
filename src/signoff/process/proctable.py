"""Read the kernel's table of processes: children, state, environment."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_READ_SIZE = 65_536


class Stat(NamedTuple):
    """The fields of `/proc/<pid>/stat` that matter here."""

    state: str
    parent: int
    group: int
    session: int
    terminal: int  # that controls it; 0: none
    foreground: int  # the group that is typed at in that terminal
    threads: int
    start_ticks: int

    @property
    def dead(self) -> bool:
        """True for a zombie whose last thread ended; a leader that ended first is not dead."""
        return self.state in "ZXx" and self.threads <= 1


@lru_cache(maxsize=1)
def has_proc() -> bool:
    """True when `/proc` is there and shows our own process namespace."""
    try:
        return str(Path("/proc/self").readlink()) == str(os.getpid())
    except OSError:
        return False


def read_proc(path: str) -> bytes:
    """The whole of a small kernel file; empty when the process is gone or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, _READ_SIZE):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def read_stat(pid: int) -> Stat | None:
    """State of a process, None when there is none."""
    data = read_proc(f"/proc/{pid}/stat")
    # A process may name itself `x) Z 1 (`: only the last parenthesis ends the name.
    fields = data[data.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Stat(
        state=fields[0].decode(),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        terminal=int(fields[4]),
        foreground=int(fields[5]),
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
    )


def all_pids() -> list[int]:
    """Every process there is."""
    return _numbers_in("/proc")


def child_lookup() -> Callable[[int], list[int]]:
    """Choose a way to find children: the kernel's own lists, or else one pass over all parents."""
    return children_from_lists if _has_children_files() else children_from_parents()


def descendants(roots: Iterable[int]) -> Iterator[int]:
    """Everything below the given processes, parents before children, as it is found."""
    children = child_lookup()
    seen = set(roots)
    queue = list(seen)
    while queue:
        for child in children(queue.pop()):
            if child not in seen:
                seen.add(child)
                queue.append(child)
                yield child


def environment_of(pid: int) -> bytes:
    """NUL-separated environment a process was started with; empty when it cannot be read."""
    data = read_proc(f"/proc/{pid}/environ")
    if data:
        return data
    # A main thread that ended takes its view of the memory along; the other threads still have it.
    for tid in _numbers_in(f"/proc/{pid}/task"):
        data = read_proc(f"/proc/{pid}/task/{tid}/environ")
        if data:
            return data
    return b""


def children_from_parents() -> Callable[[int], list[int]]:
    """Children as every process names its parent, at this moment."""
    by_parent: dict[int, list[int]] = {}
    for pid in all_pids():
        stat = read_stat(pid)
        if stat is not None:
            by_parent.setdefault(stat.parent, []).append(pid)
    return lambda parent: by_parent.get(parent, [])


def children_from_lists(pid: int) -> list[int]:
    """Children as the kernel lists them for each thread of a process."""
    found: list[int] = []
    for tid in _numbers_in(f"/proc/{pid}/task"):
        found.extend(map(int, read_proc(f"/proc/{pid}/task/{tid}/children").split()))
    return found


@lru_cache(maxsize=1)
def _has_children_files() -> bool:
    pid = os.getpid()
    return Path(f"/proc/{pid}/task/{pid}/children").exists()


def _numbers_in(folder: str) -> list[int]:
    try:
        with os.scandir(folder) as entries:
            return [int(entry.name) for entry in entries if entry.name.isdecimal()]
    except OSError:
        return []


_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
_INFO_SIZE = 64
_EXIT_CODE_AT = 60


def open_pidfd(pid: int) -> int:
    """A handle on a process, -1 without one."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.pidfd_open(pid)
    return -1


@lru_cache(maxsize=1)
def remembers_exits() -> bool:
    """True when the kernel can tell exits of the past: older ones do not know the question."""
    fd = open_pidfd(os.getpid())
    if fd < 0:
        return False
    try:
        fcntl.ioctl(fd, _PIDFD_GET_INFO, bytearray(_INFO_SIZE))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def wait_status(pidfd: int) -> int | None:
    """The status its parent got from `wait`; None when the kernel does not tell."""
    info = bytearray(_INFO_SIZE)
    struct.pack_into("=Q", info, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    (mask,) = struct.unpack_from("=Q", info, 0)
    if not mask & _PIDFD_INFO_EXIT:
        return None
    (status,) = struct.unpack_from("=i", info, _EXIT_CODE_AT)
    return int(status)
