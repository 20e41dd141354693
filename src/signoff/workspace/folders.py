"""Folders reached by descriptor, never through a symlink; and which checkout a path lies in."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from itertools import count
from pathlib import Path

from msgspec import Struct

from signoff.errors import Held, StorageFailed, WorkspaceMissing
from signoff.workspace.checkout import find_checkout, read_small

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Of a file: no link is followed, no pipe waited for, no terminal taken.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# Folders nest without a limit of the system's; ours keeps a hostile tree from costing quadratic
# time and memory. The system takes paths of up to 4096 bytes in one call.
MAX_PATH_CHARS = 16_384
_HOP_BYTES = 4_000
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.02


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


@contextmanager
def opened_strictly(root_fd: int, path: str) -> Iterator[int]:
    """A descriptor of a folder that was reached without following any link."""
    fd = open_folder_strictly(root_fd, path)
    try:
        yield fd
    finally:
        os.close(fd)


def remove_tree(parent_fd: int, name: str) -> None:
    """Remove a folder and everything in it: no link followed, no recursion, modes no obstacle.

    Folders inside are first moved up into the folder that goes, so that a tree of any depth costs
    time in proportion to what is in it.
    """
    try:
        top = _open_for_emptying(parent_fd, name)
    except FileNotFoundError:
        return
    try:
        # A name that nothing in the tree can have.
        fresh = (f"{os.urandom(8).hex()}-{number}" for number in count())
        pending = _empty_of_files(top)
        while pending:
            pending.extend(_dissolve(top, pending.pop(), fresh))
    finally:
        os.close(top)
    with suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=parent_fd)


def _dissolve(top: int, name: str, fresh: Iterator[str]) -> list[str]:
    """Remove one folder of the top; those in it are moved to the top, and named."""
    try:
        fd = _open_for_emptying(top, name)
    except FileNotFoundError:
        return []
    moved: list[str] = []
    try:
        for below in _empty_of_files(fd):
            # Moving a folder means writing to it.
            os.close(_open_for_emptying(fd, below))
            moved.append(next(fresh))
            os.rename(below, moved[-1], src_dir_fd=fd, dst_dir_fd=top)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=top)
    return moved


def _open_for_emptying(parent_fd: int, name: str) -> int:
    try:
        fd = os.open(name, FOLDER_FLAGS, dir_fd=parent_fd)
    except PermissionError:
        set_mode(parent_fd, name, 0o700)
        fd = os.open(name, FOLDER_FLAGS, dir_fd=parent_fd)
    if os.fstat(fd).st_mode & 0o700 != 0o700:
        os.fchmod(fd, 0o700)
    return fd


def set_mode(parent_fd: int, name: str, mode: int) -> None:
    """Change the mode of an entry that may not be readable; a symlink's target is left alone."""
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent_fd)
    try:
        os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101 - a descriptor, not a path
    finally:
        os.close(handle)


def _empty_of_files(fd: int) -> list[str]:
    """Unlink everything in the folder that is no folder; the names of those that are."""
    with os.scandir(fd) as entries:
        names = [(e.name, e.is_dir(follow_symlinks=False)) for e in entries]
    for name, is_dir in names:
        if not is_dir:
            unlink_if_there(fd, name)
    return [name for name, is_dir in names if is_dir]


def unlink_if_there(folder_fd: int, name: str) -> None:
    """Unlink; gone already is as good."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder_fd)


def remove_any(folder_fd: int, name: str) -> None:
    """Remove whatever lies there: a folder with everything in it, a file, or a link itself."""
    try:
        seen = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    (remove_tree if stat.S_ISDIR(seen.st_mode) else unlink_if_there)(folder_fd, name)


def is_same_folder(fd: int, seen: os.stat_result) -> bool:
    """True when the opened folder is the one that was listed, not one swapped in since."""
    now = os.fstat(fd)
    return stat.S_ISDIR(seen.st_mode) and (now.st_dev, now.st_ino) == (seen.st_dev, seen.st_ino)


def unreadable(path: str, error: OSError) -> StorageFailed:
    """The error for a path that the system does not let us read or write."""
    return StorageFailed(
        f"`{path}` in the workspace: {error.strerror or error}",
        hint="give the user who runs signoff access to it, or stop the process that changes it",
        facts={"path": path, "errno": error.errno},
    )


@contextmanager
def wait_for(path: Path, flags: int, timeout_s: float, mode: int = 0o600) -> Iterator[int]:
    """Open `path`, wait for its lock, yield the descriptor; Held when the time is over.

    A file that was replaced while we waited is opened again: its old lock guards nothing.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            _wait(fd, path, deadline, timeout_s)
            if is_current(fd, path):
                yield fd
                return
        finally:
            os.close(fd)


def _wait(fd: int, path: Path, deadline: float, timeout_s: float) -> None:
    pause_s = _FIRST_PAUSE_S
    while not flock(fd):
        if time.monotonic() > deadline:
            raise Held(
                f"`{path}` was locked by another process for {timeout_s:g} s",
                "find the process that keeps it open, stop it, and run the same command again",
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


def flock(fd: int) -> bool:
    """Take the lock if nobody has it; it ends with the process, however that ends."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_current(fd: int, path: Path, dir_fd: int | None = None) -> bool:
    """True when the name still leads to the file that we locked."""
    try:
        there = os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(fd), there)


__all__ = ["Repository", "find_repository", "read_small"]


class Repository(Struct, frozen=True):
    """`top` is the checkout a path lies in, `main` the one whose vault serves all worktrees."""

    top: Path
    main: Path


def find_repository(start: Path) -> Repository | None:
    """The nearest checkout around `start`."""
    found = find_checkout(start)
    return None if found is None else Repository(Path(found[0]), Path(found[1]))


def open_regular(path: str | Path) -> BufferedReader:
    """A file to read; OSError for a link, and for a pipe or device, which are not waited for."""
    fd = os.open(path, READ_FLAGS)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return open(fd, "rb")
