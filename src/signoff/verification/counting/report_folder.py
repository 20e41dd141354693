"""The folder for a contract's reports: read with care, because the contract could leave anything.

The caller makes it anew for every judging, outside the workspace, and names it in the environment.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

REPORT_DIR_VARIABLE = "SIGNOFF_REPORT_DIR"
MOST_REPORTS = 2_000
MOST_ENTRIES = 10_000
LARGEST_REPORT_BYTES = 16_000_000
MOST_BYTES = 48_000_000
_DEEPEST = 4
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_reports(folder: Path) -> dict[str, bytes]:
    """Regular files by their path in the folder, in the order of their names.

    Links of both kinds, pipes and devices are left alone, and so is what exceeds the limits. A
    folder that is not there, or not a folder any more, holds no reports.
    """
    found: dict[str, bytes] = {}
    left_bytes = MOST_BYTES
    with _opened(str(folder), None) as folder_fd:
        for path, data in _files(folder_fd, "", _DEEPEST):
            left_bytes -= len(data)
            if left_bytes < 0 or len(found) >= MOST_REPORTS:
                break
            found[path] = data
    return found


def _files(folder_fd: int | None, prefix: str, depth: int) -> Iterator[tuple[str, bytes]]:
    if folder_fd is None:
        return
    with os.scandir(folder_fd) as entries:
        names = sorted(entry.name for entry in islice(entries, MOST_ENTRIES))
    for name in names:
        path = prefix + name
        data = _read(folder_fd, name)
        if data is not None:
            yield path, data
        elif depth > 1:
            with _opened(name, folder_fd) as inner_fd:
                yield from _files(inner_fd, f"{path}/", depth - 1)


@contextmanager
def _opened(name: str, folder_fd: int | None) -> Iterator[int | None]:
    """A folder that is one; None for everything else."""
    try:
        fd = os.open(name, _FOLDER, dir_fd=folder_fd)
    except OSError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _read(folder_fd: int, name: str) -> bytes | None:
    try:
        # Opening a device can have effects: look first.
        if not stat.S_ISREG(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode):
            return None
        fd = os.open(name, _FILE, dir_fd=folder_fd)
    except OSError:
        return None
    with open(fd, "rb") as file:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink != 1:
            return None
        if state.st_size > LARGEST_REPORT_BYTES:
            return None
        data = file.read(LARGEST_REPORT_BYTES + 1)
    return data if len(data) <= LARGEST_REPORT_BYTES else None
