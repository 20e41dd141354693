"""The index of a checkout: read as a copy, replaced whole, with git's own lock respected."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from signoff.errors import BranchConflict
from signoff.testing.crash import RepositoryPoint, reach
from signoff.workspace.folders import FOLDER_FLAGS, READ_FLAGS, unlink_if_there
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import refusals
from signoff.workspace.trees import Tree, TreeEntry, index_lines, read_mode
from signoff.workspace.writing import created_file, write_all

_NAME, _LOCK, _OURS = "index", "index.lock", "signoff.index"
_MAX_BYTES = 1 << 30
_MODE = 0o644


def copy_index(git: Git, own: Path) -> Path:
    """A copy of a checkout's index that git may work on; where there is none, there is no file.

    The copy keeps the time of the original: git compares it with the times of files.
    """
    copy = git.scratch() / _NAME
    with _opened(own) as folder_fd:
        try:
            fd = os.open(_NAME, READ_FLAGS, dir_fd=folder_fd)
        except FileNotFoundError:
            return copy
        with open(fd, "rb") as file:
            seen = os.fstat(fd)
            copy.write_bytes(file.read(_MAX_BYTES))
    os.utime(copy, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return copy


def index_of_tree(git: Git, tree: str, files: Path) -> Path:
    """An index of a tree that knows the files in a folder, so that `git status` is quick."""
    made = git.scratch() / _NAME
    git.call("read-tree", tree, index=made)
    refresh(git, made, files)
    return made


def refresh(git: Git, index: Path, files: Path) -> None:
    """Note the times of the files that are as the index says; others are left as changed."""
    git.ask("update-index", "-q", "--refresh", index=index, work_tree=files, accept=(0, 1))


def change_index(git: Git, index: Path, entries: Mapping[str, TreeEntry | None]) -> None:
    """Set or remove (None) entries."""
    lines = index_lines(git.format, entries)
    git.call("update-index", "-z", "--replace", "--index-info", stdin=lines, index=index)


def indexed(git: Git, index: Path) -> tuple[Tree, tuple[str, ...]]:
    """The entries of an index, and the paths whose merge is not finished."""
    listed = git.call("ls-files", "--stage", "-z", "--full-name", index=index)
    entries: Tree = {}
    unmerged: dict[str, None] = {}
    for line in listed.split(b"\0")[:-1]:
        facts, _, raw = line.partition(b"\t")
        mode, named, stage = facts.decode("ascii").split(" ")
        path = os.fsdecode(raw)
        if stage == "0":
            entries[path] = TreeEntry(read_mode(mode), named)
        else:
            unmerged[path] = None
    return entries, tuple(unmerged)


def refuse_locked_index(own: Path) -> None:
    """BranchConflict when a git of somebody else is about to write this index."""
    with _opened(own) as folder_fd:
        _give_up_leftovers(folder_fd, own)


def put_index(own: Path, made: Path) -> None:
    """Replace a checkout's index; after a kill the next call of ours takes its own lock away."""
    with _opened(own) as folder_fd:
        _give_up_leftovers(folder_fd, own)
        seen = made.stat()
        with created_file(folder_fd, _OURS, _MODE) as out:
            write_all(out, made.read_bytes())
            os.utime(out, ns=(seen.st_atime_ns, seen.st_mtime_ns))
            os.fsync(out)
        try:
            # A link appears whole or not at all, and can be told from anybody else's lock.
            os.link(_OURS, _LOCK, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        except FileExistsError as error:
            raise _locked(own) from error
        reach(RepositoryPoint.INDEX_LOCKED)
        os.rename(_LOCK, _NAME, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        reach(RepositoryPoint.INDEX_PLACED)
        os.unlink(_OURS, dir_fd=folder_fd)


def _give_up_leftovers(folder_fd: int, own: Path) -> None:
    """Take away what a killed call of ours left; somebody else's lock is an error."""
    lock, ours = _inode(folder_fd, _LOCK), _inode(folder_fd, _OURS)
    if lock is not None and lock != ours:
        raise _locked(own)
    if lock is not None:
        unlink_if_there(folder_fd, _LOCK)
    unlink_if_there(folder_fd, _OURS)


def _inode(folder_fd: int, name: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return seen.st_dev, seen.st_ino


def _locked(own: Path) -> BranchConflict:
    lock = own / _LOCK
    return BranchConflict(
        f"`{lock}` exists: another git works in this checkout",
        f"wait for it; if none runs any more: rm {shlex.quote(str(lock))}",
        {"lock": str(lock)},
    )


@contextmanager
def _opened(own: Path) -> Iterator[int]:
    with refusals(own):
        fd = os.open(own, FOLDER_FLAGS)
        try:
            yield fd
        finally:
            os.close(fd)
