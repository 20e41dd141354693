"""The workspace as the runtime looks at it: nothing outside of it exists, whatever links say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from signoff.domain.digests import digest_bytes
from signoff.toolbatch.checkers.tree import FileTree

LARGEST_LOOK = 10_000_000
MOST_NAMES = 2_000


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
    digest: Callable[[], str] = str

    def read(self, path: str) -> bytes | None:
        """A regular file of reasonable size; None for anything else."""
        tree = FileTree(self.root)
        size = tree.size(path)
        return tree.read(path) if size is not None and size <= LARGEST_LOOK else None

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder, sorted, and of a crowded one only a part."""
        return FileTree(self.root).list(folder)[:MOST_NAMES]

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        return FileTree(self.root).exists(path)

    def content(self) -> str:
        """The digest of everything in it; empty where nobody can tell."""
        return self.digest()
