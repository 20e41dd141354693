"""Find out who started us and where our output goes: a person's terminal or an agent's attempt."""

from __future__ import annotations

import os
import stat
import time
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from signoff.process.proctable import all_pids, environment_of, has_proc, read_proc, read_stat

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
