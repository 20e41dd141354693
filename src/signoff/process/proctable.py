"""Read the kernel's table of processes: children, state, environment, ancestors, our own output."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

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


_LOOKS = 10
_PAUSE_S = 0.002


class ProcessIdentity(Struct, frozen=True):
    """One process for ever: a pid that is used again has another start."""

    pid: int
    started: str


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of a living process; None when there is none."""
    if not has_proc():
        return ProcessIdentity(pid, "") if _answers(pid) else None
    stat = read_stat(pid)
    if stat is None or stat.dead:
        return None
    return ProcessIdentity(pid, f"{stat.start_ticks}@{_boot()}")


def ancestors() -> tuple[ProcessIdentity, ...]:
    """Our parent, its parent, and so on; only the parent where the system does not say more."""
    found: list[ProcessIdentity] = []
    pid = os.getppid()
    while pid > 0:
        identity = identify(pid)
        if identity is None:
            break
        found.append(identity)
        stat = read_stat(pid) if has_proc() else None
        pid = stat.parent if stat is not None else 0
    return tuple(found)


def leads_terminal(pid: int) -> bool:
    """True when a terminal begins here: a shell that somebody types into, in a window or a pane."""
    stat = read_stat(pid) if has_proc() else None
    return stat is not None and stat.session == pid and stat.terminal != 0


def is_typed_below(pid: int) -> bool:
    """True when we have the terminal and this ancestor has not: a shell gave it to us.

    So it is below `su`, an editor or a tool's own shell, where a person types commands. What a
    client starts has the terminal together with the client, or has none.
    """
    ours, above = (read_stat(one) if has_proc() else None for one in (os.getpid(), pid))
    if ours is None or above is None or ours.terminal == 0:
        return False
    return ours.terminal == above.terminal and ours.group == ours.foreground != above.group


def is_alive(identity: ProcessIdentity) -> bool:
    """True when this very process still runs; one that took over its pid does not count."""
    return identify(identity.pid) == identity


def environment_has(pid: int, name: str) -> bool:
    """True when a process was started with this variable, whatever it unset since."""
    wanted = f"{name}=".encode("utf-8", "surrogateescape")
    return any(entry.startswith(wanted) for entry in _settled_environment(pid).split(b"\0"))


def _settled_environment(pid: int) -> bytes:
    """Read a process's environment once it has one: while it replaces its program it has none."""
    for _ in range(_LOOKS):
        data = environment_of(pid)
        if data or identify(pid) is None:
            return data
        time.sleep(_PAUSE_S)
    return b""


@lru_cache(maxsize=1)
def _boot() -> str:
    return read_proc("/proc/sys/kernel/random/boot_id").decode().strip()


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


_OURS = ("/proc/self/fd/1", "/proc/self/fd/2")
_OPEN_FOR_WRITING = stat.S_IWUSR  # on the links in `/proc/<pid>/fd`


def own_output() -> tuple[Path, ...]:
    """Regular files that grow as we print, through `>` and through pipes such as `| tee`."""
    if not has_proc():
        return ()
    files: set[Path] = set()
    seen: set[str] = set()
    links = list(_OURS)
    while links:
        pipes = {target for link in links if (target := _sort(link, files)).startswith("pipe:")}
        links = _outlets_of_readers(pipes - seen)
        seen |= pipes
    return tuple(sorted(files))


def _sort(link: str, files: set[Path]) -> str:
    """The target of a descriptor; a regular file is added to `files`."""
    try:
        target = str(Path(link).readlink())
        if stat.S_ISREG(Path(link).stat().st_mode):
            files.add(Path(target.removesuffix(" (deleted)")))
    except OSError:
        return ""
    return target


def _outlets_of_readers(pipes: set[str]) -> list[str]:
    """Everything that programs have open for writing whose input is one of these pipes."""
    if not pipes:
        return []
    ours = os.getpid()
    readers = (pid for pid in all_pids() if pid != ours and _input_of(pid) in pipes)
    return [link for pid in readers for link in _outlets_of(pid)]


def _input_of(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/fd/0").readlink())
    except OSError:
        return ""


def _outlets_of(pid: int) -> list[str]:
    found = []
    try:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if link.lstat().st_mode & _OPEN_FOR_WRITING:
                found.append(str(link))
    except OSError:
        return found
    return found
