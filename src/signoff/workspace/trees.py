"""Trees of a repository, written out as files whose bytes are checked, and the index of a checkout.

The index is read as a copy and replaced whole, with git's own lock respected.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from signoff.domain.text import decode_output, storable_path
from signoff.errors import BranchConflict, StorageFailed
from signoff.testing.crash import RepositoryPoint, reach
from signoff.workspace.folders import (
    FOLDER_FLAGS,
    READ_FLAGS,
    open_folder_strictly,
    opened_root,
    unlink_if_there,
)
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import refusals
from signoff.workspace.packs import hash_object, new_object_hash
from signoff.workspace.writing import created_file, write_all

NO_OBJECT = "0" * 40
_PIECE = 1 << 20
_FILE_BITS = 0o170000
_REGULAR = 0o100000


class Mode(StrEnum):
    """Kinds of tree entries."""

    FILE = "100644"
    EXECUTABLE = "100755"
    LINK = "120000"
    SUBMODULE = "160000"


class TreeEntry(NamedTuple):
    """Entry at a path of a tree."""

    mode: Mode
    id: str


class TreeChange(NamedTuple):
    """A path that differs between two trees; None where it is not there."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None


Tree = dict[str, TreeEntry]


def list_tree(git: Git, treeish: str) -> Tree:
    """Every file of a tree or commit by its path, in the order of the paths."""
    listed = git.call("ls-tree", "-r", "-z", "--full-tree", treeish)
    found: Tree = {}
    for line in listed.split(b"\0")[:-1]:
        facts, _, raw = line.partition(b"\t")
        mode, _, named = facts.decode("ascii").split(" ")
        found[_checked(os.fsdecode(raw), treeish)] = TreeEntry(read_mode(mode), named)
    return dict(sorted(found.items()))


def tree_changes(git: Git, old: str, new: str) -> tuple[TreeChange, ...]:
    """The paths that differ between two commits or trees, sorted."""
    words = git.call("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new, "--").split(b"\0")
    changes = []
    for facts, raw in zip(words[:-1:2], words[1::2], strict=True):
        old_mode, new_mode, old_id, new_id, _ = facts[1:].decode("ascii").split(" ")
        path = _checked(os.fsdecode(raw), new)
        changes.append(TreeChange(path, _entry(old_mode, old_id), _entry(new_mode, new_id)))
    return tuple(sorted(changes))


def make_tree(git: Git, entries: Mapping[str, TreeEntry]) -> str:
    """The id of a tree with exactly these entries; git refuses names that no checkout may have."""
    return decode_output(git.call("write-tree", index=_index_with(git, entries))).strip()


def _index_with(git: Git, entries: Mapping[str, TreeEntry]) -> Path:
    index = git.scratch() / "index"
    git.call("read-tree", "--empty", index=index)
    git.call("update-index", "-z", "--index-info", stdin=index_lines(entries), index=index)
    return index


def index_lines(entries: Mapping[str, TreeEntry | None]) -> bytes:
    """Input for `update-index --index-info`; None removes a path, and removals come first."""
    nothing = NO_OBJECT.encode()
    gone = [b"0 %b\t%b\0" % (nothing, os.fsencode(p)) for p, e in entries.items() if e is None]
    there = [
        b"%b %b\t%b\0" % (entry.mode.encode(), entry.id.encode(), os.fsencode(path))
        for path, entry in entries.items()
        if entry is not None
    ]
    return b"".join(gone + there)


def store_files(git: Git, files: Iterable[Path]) -> list[str]:
    """Keep the content of files, byte for byte, as objects of the repository; their ids."""
    names = b"".join(os.fsencode(path) + b"\n" for path in files)
    if not names:
        return []
    said = git.call("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=names)
    return decode_output(said).split()


def write_tree_files(git: Git, entries: Mapping[str, TreeEntry], into: Path) -> None:
    """Let git create every entry below an empty folder, then look at what it wrote.

    A submodule becomes an empty folder, as git leaves it. StorageFailed when a file is not what
    its id says: what is looked at must be what the commit names.
    """
    git.call("checkout-index", "--all", index=_index_with(git, entries), work_tree=into)
    with opened_root(into) as root_fd:
        for path, entry in entries.items():
            if entry.mode is not Mode.SUBMODULE and look(root_fd, path) != entry:
                raise StorageFailed(
                    f"object `{entry.id}` of the repository does not hold what its id says",
                    "find out what else is damaged: git fsck --full; restore it from another clone",
                    {"object": entry.id, "path": storable_path(path)},
                )


class Place(StrEnum):
    """States of a path with no file and no symbolic link."""

    NOTHING = "nothing"
    FOLDER = "folder"
    BLOCKED = "blocked"
    """A file or a link stands where a folder on the way would be."""
    OTHER = "other"


Found = TreeEntry | Place


def look(root_fd: int, path: str) -> Found:
    """Look at a path as it is now; the content is hashed as git would."""
    above, _, name = path.rpartition("/")
    try:
        folder_fd = open_folder_strictly(root_fd, above)
    except FileNotFoundError:
        return Place.NOTHING
    except OSError:
        return Place.BLOCKED
    try:
        return _look_at(folder_fd, name)
    except FileNotFoundError:
        return Place.NOTHING
    except OSError:
        return Place.OTHER
    finally:
        os.close(folder_fd)


def _look_at(folder_fd: int, name: str) -> Found:
    seen = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    if stat.S_ISDIR(seen.st_mode):
        return Place.FOLDER
    if stat.S_ISLNK(seen.st_mode):
        target = os.readlink(os.fsencode(name), dir_fd=folder_fd)
        return TreeEntry(Mode.LINK, hash_object("blob", target).hex())
    if not stat.S_ISREG(seen.st_mode):
        return Place.OTHER
    mode = Mode.EXECUTABLE if seen.st_mode & 0o100 else Mode.FILE
    fd = os.open(name, READ_FLAGS, dir_fd=folder_fd)
    with open(fd, "rb") as file:
        named = new_object_hash("blob", os.fstat(fd).st_size)
        while piece := file.read(_PIECE):
            named.update(piece)
    return TreeEntry(mode, named.hexdigest())


def read_mode(text: str) -> Mode:
    """A mode as git prints it; ancient trees hold group-writable files, which are plain ones."""
    bits = int(text, 8)
    if bits & _FILE_BITS == _REGULAR:
        return Mode.EXECUTABLE if bits & 0o100 else Mode.FILE
    if text not in (Mode.LINK, Mode.SUBMODULE):
        raise StorageFailed(f"a tree holds an entry of the unknown mode `{text}`", "git fsck")
    return Mode(text)


def _entry(mode: str, named: str) -> TreeEntry | None:
    return None if int(mode, 8) == 0 else TreeEntry(read_mode(mode), named)


def _checked(path: str, treeish: str) -> str:
    """A path that stays below its root; trees can be made by hand with any name in them."""
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/")):
        raise StorageFailed(
            f"`{treeish}` holds the path `{storable_path(path)}`, which no checkout may have",
            "find out who committed it: git log --all --full-history -- PATH",
            {"path": storable_path(path)},
        )
    return path


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
    lines = index_lines(entries)
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
