"""Folders reached by descriptor: never through a symlink, however deep they lie."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from signoff.errors import StorageFailed, WorkspaceMissing

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

# Folders nest without a limit of the system's; ours keeps a hostile tree from costing quadratic
# time and memory. The system takes paths of up to 4096 bytes in one call.
MAX_PATH_CHARS = 16_384
_HOP_BYTES = 4_000


@contextmanager
def opened_root(root: Path) -> Iterator[int]:
    """A descriptor of the root folder, or the error that says it is missing."""
    try:
        fd = os.open(root, FOLDER_FLAGS)
    except OSError as error:
        raise WorkspaceMissing(
            f"workspace `{root}` cannot be opened as a folder: {error.strerror}"
        ) from error
    try:
        yield fd
    finally:
        os.close(fd)


def open_folder(root_fd: int, path: str) -> int:
    """Open a folder below the root; the last component is never followed if it is a symlink."""
    raw = os.fsencode(path) if path else b"."
    if len(raw) <= _HOP_BYTES:
        return os.open(raw, FOLDER_FLAGS, dir_fd=root_fd)
    fd = os.dup(root_fd)
    while raw:
        cut = len(raw) if len(raw) <= _HOP_BYTES else raw.rindex(b"/", 0, _HOP_BYTES)
        hop, raw = raw[:cut], raw[cut + 1 :]
        fd = _step_down(fd, hop)
    return fd


def open_folder_strictly(root_fd: int, path: str, create: bool = False) -> int:
    """Open a folder component by component, so that no symlink on the way is followed.

    For writing: content must not land outside the root whatever a racing process puts in the way.
    """
    fd = os.dup(root_fd)
    for name in path.split("/") if path else []:
        if create:
            try:
                os.mkdir(name, dir_fd=fd)
            except FileExistsError:
                pass
            except OSError:
                os.close(fd)
                raise
        fd = _step_down(fd, os.fsencode(name))
    return fd


def _step_down(fd: int, name: bytes) -> int:
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=fd)
    finally:
        os.close(fd)


def remove_tree(parent_fd: int, name: str) -> None:
    """Remove a folder and everything in it without following links and without recursion."""
    pending = [name]
    while pending:
        path = pending[-1]
        below = _empty_of_files(parent_fd, path)
        if below:
            pending.extend(f"{path}/{n}" for n in below)
            continue
        pending.pop()
        _remove_folder(parent_fd, path)


def _empty_of_files(root_fd: int, path: str) -> list[str]:
    """Unlink everything in the folder that is no folder; the names of those that are."""
    try:
        fd = open_folder(root_fd, path)
    except FileNotFoundError:
        return []
    try:
        with os.scandir(fd) as entries:
            names = [(e.name, e.is_dir(follow_symlinks=False)) for e in entries]
        for name, is_dir in names:
            if not is_dir:
                unlink_if_there(fd, name)
        return [name for name, is_dir in names if is_dir]
    finally:
        os.close(fd)


def _remove_folder(root_fd: int, path: str) -> None:
    above, _, name = path.rpartition("/")
    fd = open_folder(root_fd, above)
    try:
        with suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=fd)
    finally:
        os.close(fd)


def unlink_if_there(folder_fd: int, name: str) -> None:
    """Unlink; gone already is as good."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder_fd)


def is_same_folder(fd: int, seen: os.stat_result) -> bool:
    """Whether the opened folder is the one that was listed, not one swapped in since."""
    now = os.fstat(fd)
    return stat.S_ISDIR(seen.st_mode) and (now.st_dev, now.st_ino) == (seen.st_dev, seen.st_ino)


def unreadable(path: str, error: OSError) -> StorageFailed:
    """The error for a path that the system does not let us read or write."""
    return StorageFailed(
        f"`{path}` in the workspace: {error.strerror or error}",
        hint="give the user who runs signoff access to it, or stop the process that changes it",
        facts={"path": path, "errno": error.errno},
    )
