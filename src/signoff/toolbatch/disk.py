"""The workspace as the runtime looks at it: nothing outside of it exists, whatever links say."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from signoff.domain.digests import digest_bytes
from signoff.toolbatch.checkers.tree import FileTree

LARGEST_LOOK = 10_000_000
MOST_NAMES = 2_000
_NOT_ENTERED = frozenset(
    {"node_modules", "__pycache__", "venv", "build", "dist", "target", "vendor"}
)


def entries_below(root: Path, most: int) -> Iterator[str]:
    """Entries of a tree, the nearest first, folders with a trailing `/`; at most so many.

    Links are not followed, and hidden folders and those of tools are passed over.
    """
    ahead, seen = deque([""]), 0
    while ahead:
        folder = ahead.popleft()
        try:
            with os.scandir(root / folder) as found:
                inside = sorted((e.name, e.is_dir(follow_symlinks=False)) for e in found)
        except OSError:
            continue
        for name, is_folder in inside:
            if is_folder and (name.startswith(".") or name in _NOT_ENTERED):
                continue
            seen += 1
            if seen > most:
                return
            yield f"{folder}{name}/" if is_folder else f"{folder}{name}"
            if is_folder:
                ahead.append(f"{folder}{name}/")


class WorkspaceFolder(Struct, frozen=True):
    """Files as the runtime may see them; paths are relative to the workspace."""

    root: Path

    def read(self, path: str) -> bytes | None:
        """A regular file of reasonable size; None for anything else."""
        tree = FileTree(self.root)
        size = tree.size(path)
        return tree.read(path) if size is not None and size <= LARGEST_LOOK else None

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted, and of a crowded one only a part."""
        return FileTree(self.root).list(folder)[:MOST_NAMES]

    def exists(self, path: str) -> bool:
        return FileTree(self.root).exists(path)

    def digest(self, path: str) -> str:
        """The digest of a file as it is now; empty for one that is not there."""
        data = self.read(path)
        return "" if data is None else digest_bytes(data)
