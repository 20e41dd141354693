"""Trees of a repository, written out as files whose bytes are checked, and the index of a checkout.

The index is read as a copy and replaced whole, with git's own lock respected.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from signoff.domain.text import decode_output, storable_path
from signoff.errors import BranchConflict, StorageFailed
from signoff.testing.crash import RepositoryPoint, reach
from signoff.workspace.folders import FOLDER_FLAGS, READ_FLAGS, opened_root, unlink_if_there
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import ObjectFormat, refusals
from signoff.workspace.writing import LastFolder, create_file, created_file, write_all

_MAX_LINK_BYTES = 1 << 16
_FILE_BITS = 0o170000
_REGULAR = 0o100000


class Mode(StrEnum):
    """What an entry of a tree is."""

    FILE = "100644"
    EXECUTABLE = "100755"
    LINK = "120000"
    SUBMODULE = "160000"


class TreeEntry(NamedTuple):
    """What lies at a path of a tree."""

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
    index = git.scratch() / "index"
    git.call("read-tree", "--empty", index=index)
    git.call(
        "update-index", "-z", "--index-info", stdin=index_lines(git.format, entries), index=index
    )
    return decode_output(git.call("write-tree", index=index)).strip()


def index_lines(form: ObjectFormat, entries: Mapping[str, TreeEntry | None]) -> bytes:
    """Input for `update-index --index-info`; None removes a path, and removals come first."""
    nothing = form.nothing.encode()
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
    """Create every entry below a folder; nothing that exists is written through.

    A submodule becomes an empty folder, as git leaves it. StorageFailed when an object is not
    what its id says: what is looked at must be what the commit names.
    """
    with opened_root(into) as root_fd, LastFolder(root_fd) as folder:
        for path, entry in entries.items():
            if entry.mode is Mode.SUBMODULE:
                folder.at(path, create=True)
        files = {p: e for p, e in sorted(entries.items()) if e.mode is not Mode.SUBMODULE}
        blobs = _Blobs(git.format, [e.id for e in files.values()], list(files.items()), folder)
        try:
            blobs.receive(git)
        except OSError as error:
            raise StorageFailed(
                f"`{storable_path(blobs.path)}` cannot be written into `{into}`: {error.strerror}"
            ) from error


def check_blobs(git: Git, ids: Iterable[str]) -> None:
    """StorageFailed unless every one of these objects holds what its id says."""
    _Blobs(git.format, list(ids)).receive(git)


class _Blobs:
    """Takes the output of `cat-file --batch` apart: a header, the content, a line break.

    Every object is checked; given `entries` and a folder, each becomes the next entry below it.
    """

    def __init__(
        self,
        form: ObjectFormat,
        ids: list[str],
        entries: Sequence[tuple[str, TreeEntry]] = (),
        folder: LastFolder | None = None,
    ):
        self._form = form
        self._ids = ids
        self._entries = entries
        self._folder = folder
        self._done = 0
        self._header = b""
        self._left = -1  # bytes of content still to come; below 0 within a header
        self._hash = form.blob_hash(0)
        self._target: bytes | None = None  # of a link, as far as it came
        self._out = -1
        self.path = ""

    def receive(self, git: Git) -> None:
        """Ask for every object; StorageFailed when one does not come whole."""
        if not self._ids:
            return
        asked = "\n".join(self._ids).encode() + b"\n"
        try:
            git.stream("cat-file", "--batch", stdin=asked, receive=self._feed)
        finally:
            self._close()
        if self._done < len(self._ids):
            raise self._damaged("is missing")

    def _feed(self, data: bytes) -> None:
        """The next piece of output, of any size."""
        at = 0
        while at < len(data):
            if self._left < 0:
                end = data.find(b"\n", at)
                self._header += data[at : end if end >= 0 else len(data)]
                at = end + 1 if end >= 0 else len(data)
                if end >= 0:
                    self._begin()
            elif self._left:
                piece = data[at : at + self._left]
                self._hash.update(piece)
                if self._target is not None:
                    self._target += piece
                elif self._out >= 0:
                    write_all(self._out, piece)
                self._left -= len(piece)
                at += len(piece)
            else:
                at += 1
                self._end()

    def _begin(self) -> None:
        words = self._header.split(b" ")
        self._header = b""
        if len(words) != 3 or words[1] != b"blob":
            raise self._damaged("is missing or no file")
        self._left = int(words[2])
        self._hash = self._form.blob_hash(self._left)
        if self._folder is None:
            return
        self.path, entry = self._entries[self._done]
        above, _, name = self.path.rpartition("/")
        fd = self._folder.at(above, create=True)
        if entry.mode is not Mode.LINK:
            self._out = create_file(fd, name, 0o755 if entry.mode is Mode.EXECUTABLE else 0o644)
        elif self._left > _MAX_LINK_BYTES:
            raise StorageFailed(
                f"the symbolic link `{storable_path(self.path)}` has a target of "
                f"{self._left} bytes",
                "no file system takes it; remove it from the commit",
            )
        else:
            self._target = b""

    def _end(self) -> None:
        if self._hash.hexdigest() != self._ids[self._done]:
            raise self._damaged("does not hold what its id says")
        if self._target is not None and self._folder is not None:
            above, _, name = self.path.rpartition("/")
            os.symlink(self._target, os.fsencode(name), dir_fd=self._folder.at(above))
        self._close()
        self._done += 1
        self._left = -1

    def _close(self) -> None:
        self._target = None
        if self._out >= 0:
            os.close(self._out)
            self._out = -1

    def _damaged(self, how: str) -> StorageFailed:
        named = self._ids[self._done]
        return StorageFailed(
            f"object `{named}` of the repository {how}",
            "find out what else is damaged: git fsck --full; restore it from another clone",
            {"object": named},
        )


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
