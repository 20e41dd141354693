"""The workspace as the runtime looks at it: reads that follow no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from signoff.domain.digests import digest_bytes

LARGEST_LOOK = 10_000_000
MOST_NAMES = 2_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Disk(Protocol):
    """What the runtime may ask about files; paths are relative to the workspace."""

    @property
    def root(self) -> Path:
        """The workspace."""

    def read(self, path: str) -> bytes | None:
        """A regular file of reasonable size; None for anything else."""

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder, sorted; nothing where there is none."""

    def exists(self, path: str) -> bool:
        """Whether anything is there."""

    def content(self) -> str:
        """The digest of everything in it; empty where nobody can tell."""


def digest_at(disk: Disk, path: str) -> str:
    """The digest of a file as it is now; empty for one that is not there."""
    data = disk.read(path)
    return "" if data is None else digest_bytes(data)


@dataclass(frozen=True)
class Folder:
    """A workspace read directly. `digest` gives that of all its content, where there is one."""

    root: Path
    digest: Callable[[], str] | None = None

    def read(self, path: str) -> bytes | None:
        """A regular file of reasonable size; None for anything else."""
        try:
            with opened_folder(self.root, parts_of(path)[:-1]) as folder:
                fd = os.open(parts_of(path)[-1], _FILE, dir_fd=folder)
                with open(fd, "rb") as file:
                    state = os.fstat(fd)
                    if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST_LOOK:
                        return None
                    return file.read(LARGEST_LOOK)
        except (OSError, ValueError, IndexError):
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder, sorted, and of a crowded one only a part."""
        try:
            with opened_folder(self.root, parts_of(folder)) as fd, os.scandir(fd) as found:
                return tuple(sorted(e.name for e, _ in zip(found, range(MOST_NAMES), strict=False)))
        except (OSError, ValueError):
            return ()

    def exists(self, path: str) -> bool:
        """Whether anything is there, a dangling link included."""
        try:
            parts = parts_of(path)
            if not parts:
                return True
            with opened_folder(self.root, parts[:-1]) as folder:
                os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        except (OSError, ValueError):
            return False
        return True

    def content(self) -> str:
        """The digest of everything in it; empty where nobody can tell."""
        return "" if self.digest is None else self.digest()


def parts_of(path: str) -> tuple[str, ...]:
    """The names on the way to a path; ValueError for one that does not lie in the workspace."""
    parts = tuple(part for part in PurePosixPath(path).parts if part != ".")
    if path.startswith("/") or ".." in parts:
        raise ValueError(f"`{path}` does not lie in the workspace")
    return parts


@contextmanager
def opened_folder(root: Path, parts: tuple[str, ...] | list[str]) -> Iterator[int]:
    """A descriptor of a folder that was reached without following any link."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            deeper = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = deeper
        yield fd
    finally:
        os.close(fd)
