"""What lies at a path of a checkout, in the terms of a tree; no link is followed."""

from __future__ import annotations

import os
import stat
from enum import StrEnum
from typing import NamedTuple

from signoff.workspace.folders import open_folder_strictly
from signoff.workspace.gitfolders import ObjectFormat
from signoff.workspace.trees import Mode, TreeEntry

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PIECE = 1 << 20


class Kind(StrEnum):
    """What is found at a path."""

    NOTHING = "nothing"
    ENTRY = "entry"
    FOLDER = "folder"
    BLOCKED = "blocked"
    """A file or a link stands where a folder on the way would be."""
    OTHER = "other"


class Found(NamedTuple):
    """`entry` for a file or symbolic link."""

    kind: Kind
    entry: TreeEntry | None = None


def look(root_fd: int, path: str, form: ObjectFormat) -> Found:
    """What is there now, its content hashed as git would."""
    above, _, name = path.rpartition("/")
    try:
        folder_fd = open_folder_strictly(root_fd, above)
    except FileNotFoundError:
        return Found(Kind.NOTHING)
    except OSError:
        return Found(Kind.BLOCKED)
    try:
        return _look_at(folder_fd, name, form)
    except FileNotFoundError:
        return Found(Kind.NOTHING)
    except OSError:
        return Found(Kind.OTHER)
    finally:
        os.close(folder_fd)


def holds_only(root_fd: int, path: str, leaving: frozenset[str]) -> bool:
    """Whether a folder is empty, or has nothing in it but files that are about to leave."""
    try:
        pending = _inside(root_fd, path)
        while pending:
            below, is_dir = pending.pop()
            further = _inside(root_fd, below) if is_dir else []
            if not further and below not in leaving:
                return False
            pending += further
    except OSError:
        return False
    return True


def _inside(root_fd: int, path: str) -> list[tuple[str, bool]]:
    fd = open_folder_strictly(root_fd, path)
    try:
        with os.scandir(fd) as entries:
            return [(f"{path}/{e.name}", e.is_dir(follow_symlinks=False)) for e in entries]
    finally:
        os.close(fd)


def _look_at(folder_fd: int, name: str, form: ObjectFormat) -> Found:
    seen = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    if stat.S_ISDIR(seen.st_mode):
        return Found(Kind.FOLDER)
    if stat.S_ISLNK(seen.st_mode):
        target = os.readlink(os.fsencode(name), dir_fd=folder_fd)
        named = form.blob_hash(len(target))
        named.update(target)
        return Found(Kind.ENTRY, TreeEntry(Mode.LINK, named.hexdigest()))
    if not stat.S_ISREG(seen.st_mode):
        return Found(Kind.OTHER)
    mode = Mode.EXECUTABLE if seen.st_mode & 0o100 else Mode.FILE
    fd = os.open(name, _READ_FLAGS, dir_fd=folder_fd)
    with open(fd, "rb") as file:
        named = form.blob_hash(os.fstat(fd).st_size)
        while piece := file.read(_PIECE):
            named.update(piece)
    return Found(Kind.ENTRY, TreeEntry(mode, named.hexdigest()))
