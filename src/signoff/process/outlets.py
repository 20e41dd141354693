"""The files that our own output ends up in: redirected, or written by a program that reads it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from signoff.process.proctable import all_pids, has_proc

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
    """Where a descriptor leads; a regular file is kept."""
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
