"""The workspace as the runtime looks at it: reads that follow no link, large files in pieces."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from signoff.domain.digests import digest_bytes

LARGEST_LOOK = 10_000_000
MOST_NAMES = 2_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PIECE = 1 << 20


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


class ThingKind(StrEnum):
    """What can lie at a path. Stored words."""

    NOTHING = "nothing"
    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    OTHER = "other"  # a pipe, a device, or what nobody can read: never the same as anything


@dataclass(frozen=True)
class Thing:
    """Something at a path at one moment; `digest` is of a file's content or a link's target."""

    kind: ThingKind
    digest: str = ""
    mode: int | None = None  # permission bits; None: there are none, or nobody knows them
    size: int = 0

    def same(self, other: Thing) -> bool:
        """Whether both are surely the same; permissions that are not known are no difference."""
        if ThingKind.OTHER in (self.kind, other.kind):
            return False
        modes = None in (self.mode, other.mode) or self.mode == other.mode
        return modes and (self.kind, self.digest) == (other.kind, other.digest)

    def to_data(self) -> list[Any]:
        """The stored form."""
        return [str(self.kind), self.digest, self.mode, self.size]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Thing:
        """As it was stored."""
        kind, digest, mode, size = data
        return cls(ThingKind(kind), digest, mode, size)


NOTHING = Thing(ThingKind.NOTHING)
UNKNOWN = Thing(ThingKind.OTHER)


def look(root: Path, path: str) -> Thing:
    """What is there now; a file's content is read whatever its size, in pieces."""
    return taken(root, path, 0)[0]


def taken(root: Path, path: str, most_bytes: int) -> tuple[Thing, bytes | None]:
    """What is there now, with the content of a link or of a file of at most so many bytes."""
    try:
        *above, name = parts_of(path)
        with opened_folder(root, above) as folder:
            return _at(folder, name, most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING, None
    except (OSError, ValueError):
        return UNKNOWN, None


def missing_above(root: Path, path: str) -> str:
    """The topmost folder above a path that is not there; empty: all of them are."""
    parts = parts_of(path)
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        if look(root, above).kind is ThingKind.NOTHING:
            return above
    return ""


def holds_only(root: Path, path: str, leaving: frozenset[str]) -> bool:
    """Whether a folder is empty, or holds nothing but what is about to leave."""
    try:
        pending = list(_inside(root, path))
        while pending:
            below, is_folder = pending.pop()
            further = list(_inside(root, below)) if is_folder else []
            if not further and below not in leaving:
                return False
            pending += further
    except OSError:
        return False
    return True


def _inside(root: Path, path: str) -> Iterator[tuple[str, bool]]:
    with opened_folder(root, parts_of(path)) as folder, os.scandir(folder) as entries:
        for entry in entries:
            yield f"{path}/{entry.name}", entry.is_dir(follow_symlinks=False)


def _at(folder: int, name: str, most_bytes: int) -> tuple[Thing, bytes | None]:
    seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
    mode = stat.S_IMODE(seen.st_mode)
    if stat.S_ISDIR(seen.st_mode):
        return Thing(ThingKind.FOLDER, mode=mode), None
    if stat.S_ISLNK(seen.st_mode):
        target = os.readlink(os.fsencode(name), dir_fd=folder)
        return Thing(ThingKind.LINK, digest_bytes(target), None, len(target)), target
    if not stat.S_ISREG(seen.st_mode):
        return UNKNOWN, None
    with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        if seen.st_size <= most_bytes:
            data = file.read(most_bytes + 1)
            if len(data) <= most_bytes:
                return Thing(ThingKind.FILE, digest_bytes(data), mode, len(data)), data
            file.seek(0)
        content, size = hashlib.sha256(), 0
        while piece := file.read(_PIECE):
            content.update(piece)
            size += len(piece)
    return Thing(ThingKind.FILE, content.hexdigest(), mode, size), None
