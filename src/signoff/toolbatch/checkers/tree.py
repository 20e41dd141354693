"""The other files around a subject: as they are on disk, or as they would be after writes."""

from __future__ import annotations

import os
import posixpath
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
# Above this nothing is read, whoever asks.
LARGEST_READ = 64_000_000


class Tree(ABC):
    """A read-only view of the files below one root, at one moment.

    Paths are relative to the root and written with `/`; the root itself is `""`. Nothing outside
    the root exists, whatever links say.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._recalled: dict[tuple[str, str], Any] = {}

    @abstractmethod
    def size(self, path: str) -> int | None:
        """The bytes of a regular file; None when there is none."""

    @abstractmethod
    def is_folder(self, path: str) -> bool:
        """Whether it is a folder."""

    @abstractmethod
    def read(self, path: str) -> bytes | None:
        """The content of a regular file; None when it cannot be read or is larger than allowed."""

    @abstractmethod
    def list(self, folder: str) -> tuple[str, ...]:
        """The names in a folder, sorted; none when it is no folder."""

    def is_link(self, path: str) -> bool:  # noqa: ARG002 - what is written is never a link
        """Whether it is a symbolic link: what it leads to is looked at where it is."""
        return False

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        return self.size(path) is not None or self.is_folder(path)

    def recall(self, what: str, path: str, make: Callable[[], T]) -> T:
        """`make()`, worked out once for this view: many pages link to the same one."""
        key = (what, path)
        if key not in self._recalled:
            self._recalled[key] = make()
        found: T = self._recalled[key]
        return found


class DiskTree(Tree):
    """The files on disk. Links inside the root are followed, links out of it lead nowhere."""

    def __init__(self, root: Path):
        super().__init__(root)
        self._real = os.path.realpath(root)

    def size(self, path: str) -> int | None:
        found = self._stat(path)
        return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None

    def is_folder(self, path: str) -> bool:
        found = self._stat(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def read(self, path: str) -> bytes | None:
        real = self._inside(path)
        if real is None:
            return None
        try:
            # Resolved before; a link put there since then is refused, and no pipe is waited for.
            fd = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        with open(fd, "rb") as file:
            state = os.fstat(fd)
            if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST_READ:
                return None
            try:
                content = file.read(LARGEST_READ + 1)
            except OSError:
                return None
        return content if len(content) <= LARGEST_READ else None

    def list(self, folder: str) -> tuple[str, ...]:
        real = self._inside(folder)
        try:
            return tuple(sorted(p.name for p in Path(real).iterdir())) if real else ()
        except (OSError, ValueError):
            return ()

    def is_link(self, path: str) -> bool:
        return Path(f"{self._real}/{path}").is_symlink()

    def _stat(self, path: str) -> os.stat_result | None:
        # Many links lead to the same few files.
        return self.recall("stat", path, lambda: self._look(path))

    def _look(self, path: str) -> os.stat_result | None:
        real = self._inside(path)
        try:
            return Path(real).lstat() if real is not None else None
        except (OSError, ValueError):
            return None

    def _inside(self, path: str) -> str | None:
        """The real place of a path, if that is below the real root."""
        if "\0" in path or path.startswith("/"):
            return None
        try:
            real = os.path.realpath(f"{self._real}/{path}")
        except (OSError, ValueError):
            return None
        below = real == self._real or real.startswith(self._real.rstrip("/") + "/")
        return real if below else None


class WrittenTree(Tree):
    """Another tree with writes applied; `None` is a file taken away."""

    def __init__(self, below: Tree, writes: Mapping[str, bytes | None]):
        super().__init__(below.root)
        self._below = below
        self._writes = {posixpath.normpath(path): content for path, content in writes.items()}
        self._folders = {
            parent
            for path, content in self._writes.items()
            if content is not None
            for parent in _parents(path)
        }

    def size(self, path: str) -> int | None:
        path = posixpath.normpath(path)
        if path in self._writes:
            content = self._writes[path]
            return None if content is None else len(content)
        return None if self._covered(path) else self._below.size(path)

    def is_folder(self, path: str) -> bool:
        path = posixpath.normpath(path)
        if path in self._folders or path == ".":
            return True
        return path not in self._writes and self._below.is_folder(path)

    def read(self, path: str) -> bytes | None:
        path = posixpath.normpath(path)
        if path in self._writes:
            return self._writes[path]
        return None if self._covered(path) else self._below.read(path)

    def list(self, folder: str) -> tuple[str, ...]:
        folder = posixpath.normpath(folder)
        prefix = "" if folder == "." else f"{folder}/"
        names = set(self._below.list("" if folder == "." else folder))
        for path, content in self._writes.items():
            if not path.startswith(prefix):
                continue
            name, _, deeper = path[len(prefix) :].partition("/")
            if content is not None:
                names.add(name)
            elif not deeper:
                names.discard(name)
        return tuple(sorted(names))

    def is_link(self, path: str) -> bool:
        path = posixpath.normpath(path)
        return path not in self._writes and self._below.is_link(path)

    def _covered(self, path: str) -> bool:
        """Whether a written file stands where a folder of this path was."""
        return any(self._writes.get(parent) is not None for parent in _parents(path))


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]
