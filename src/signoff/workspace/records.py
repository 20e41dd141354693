"""Records of each entry of a workspace after a walk, and the digest over all of them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from signoff.domain.snapshot import Change, ChangeKind, FileKind, FileState, Manifest
from signoff.workspace.folders import opened_root, opened_strictly

# (inode, size, mtime_ns, ctime_ns, mode): a write, a rename over the file, or a touch that puts
# the modification time back all change at least one of them; the system alone sets the ctime.
StatKey = tuple[int, int, int, int, int]

_MAY_ENTER = stat.S_IRUSR | stat.S_IXUSR
EMPTY_SHA256 = hashlib.sha256().digest()
_DIGEST_HEADER = b"signoff snapshot 1\n"
_KIND_BYTE = {
    FileKind.FILE: b"f",
    FileKind.LINK: b"l",
    FileKind.DIRECTORY: b"d",
    FileKind.OTHER: b"o",
}
EMPTY_FOLDER = FileState(FileKind.DIRECTORY, False, 0, EMPTY_SHA256.hex())


class FileRecord(NamedTuple):
    """One entry that is no folder: its stat key, content hashes, and whether the key is enough.

    `settled` is False when the entry was hashed so soon after its last change that a further
    change could carry the same times; it is then read again the next time.
    """

    key: StatKey
    sha256: bytes
    blob: bytes
    settled: bool

    @property
    def kind(self) -> FileKind:
        """The kind that the mode says."""
        return _meaning_of(self.key[4])[0]

    @property
    def executable(self) -> bool:
        """True when anybody may execute it."""
        return _meaning_of(self.key[4])[1]

    @property
    def state(self) -> FileState:
        """The record as the rest of signoff sees it."""
        kind, executable = _meaning_of(self.key[4])
        size = 0 if kind is FileKind.OTHER else self.key[1]
        return FileState(kind, executable, size, self.sha256.hex())

    def same_content(self, other: FileRecord) -> bool:
        """True when both stand for the same path entry in a digest."""
        return self.sha256 == other.sha256 and _meaning_of(self.key[4]) == _meaning_of(other.key[4])


@lru_cache(maxsize=256)
def _meaning_of(mode: int) -> tuple[FileKind, bool]:
    """Kind, and whether anybody may execute it; a workspace has many files and few modes."""
    if stat.S_ISREG(mode):
        return FileKind.FILE, bool(mode & 0o111)
    return (FileKind.LINK if stat.S_ISLNK(mode) else FileKind.OTHER), False


class Folder(Struct, eq=False):
    """The source entries directly in one folder.

    Compared by identity: a walk that finds a folder as it was returns the same object, which lets
    everything computed from it be reused.
    """

    path: str
    files: dict[str, FileRecord]
    subfolders: set[str]
    holds_others: bool

    @property
    def is_empty(self) -> bool:
        """True when nothing but compiled caches is in it: such a folder counts by itself.

        Folders with source in them are implied by it, and folders with nothing but by-products
        come and go with these.
        """
        return bool(self.path) and not (self.files or self.subfolders or self.holds_others)


Folders = dict[str, Folder]
FilesByFolder = dict[str, dict[str, FileRecord]]
NO_TIME_NS = -1
"""In the key of a record that was made from a stored snapshot, which keeps no times."""


# The part of a stat result that decides whether content must be read again.
stat_key: Callable[[os.stat_result], StatKey] = attrgetter(
    "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode"
)


def closed_to_owner(root: Path, folders: Folders) -> list[str]:
    """Files without the right to be read, and folders without that to be listed and entered.

    Only root meets them: to others the walk fails there. What a sandbox takes away from root, a
    check that passes over what it cannot read would then pass over.
    """
    found = [
        f"{path}/{name}".lstrip("/")
        for path, folder in folders.items()
        for name, record in folder.files.items()
        if not record.key[4] & stat.S_IRUSR and stat.S_ISREG(record.key[4])
    ]
    for path in folders:
        with suppress(FileNotFoundError):
            if os.lstat(f"{root}/{path}").st_mode & _MAY_ENTER != _MAY_ENTER:
                found.append(path)
    return sorted(found)


def encode_entry(path: bytes, kind: FileKind, executable: bool, sha256: bytes) -> bytes:
    """One line of the digest's input.

    Injective: a path holds no NUL, and what follows it has a fixed length.
    """
    return b"%b\0%b%b%b" % (path, _KIND_BYTE[kind], b"x" if executable else b"-", sha256)


def content_digest(entries: Iterable[bytes]) -> str:
    """sha256 over the header and the encoded entries in the order of their paths' bytes."""
    return hashlib.sha256(_DIGEST_HEADER + b"".join(sorted(entries))).hexdigest()


def manifest_digest(manifest: Manifest) -> str:
    """The digest of a snapshot whose manifest this is; needs no store and no workspace."""
    return content_digest(
        encode_entry(os.fsencode(path), s.kind, s.executable, bytes.fromhex(s.sha256))
        for path, s in manifest.items()
    )


def encoded_entries(folders: Iterable[Folder]) -> Iterator[bytes]:
    """Every source entry of the folders, encoded for the digest."""
    for folder in folders:
        if folder.is_empty:
            yield encode_entry(os.fsencode(folder.path), FileKind.DIRECTORY, False, EMPTY_SHA256)
        prefix = os.fsencode(folder.path) + b"/" if folder.path else b""
        for name, record in folder.files.items():
            kind, executable = _meaning_of(record.key[4])
            yield encode_entry(prefix + os.fsencode(name), kind, executable, record.sha256)


def files_by_folder(folders: Folders) -> FilesByFolder:
    """The folders that count by themselves or through their files; empty ones have no files."""
    return {path: f.files for path, f in folders.items() if f.files or f.is_empty}


def source_states(folders: Iterable[Folder]) -> Iterator[tuple[str, FileState]]:
    """Every source entry of the folders as path and state."""
    for folder in folders:
        if folder.is_empty:
            yield folder.path, EMPTY_FOLDER
        prefix = f"{folder.path}/" if folder.path else ""
        for name, record in folder.files.items():
            yield prefix + name, record.state


def changes_between(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[Change, ...]:
    """The paths that differ, sorted, given anything that tells one state of a path from another."""
    changes = [Change(path, ChangeKind.REMOVED) for path in old.keys() - new.keys()]
    changes += [Change(path, ChangeKind.ADDED) for path in new.keys() - old.keys()]
    changes += [
        Change(path, ChangeKind.MODIFIED)
        for path in old.keys() & new.keys()
        if old[path] != new[path]
    ]
    return tuple(sorted(changes, key=lambda change: change.path))


def folders_above(path: str) -> Iterator[str]:
    """The folders that a path lies in, the innermost first; not the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


_MTIME, _CTIME, _MODE = 2, 3, 4  # places in the key of a record


class Times(NamedTuple):
    """Times of one file: the one that anybody can set, and the one that only the system sets."""

    modified_ns: int
    changed_ns: int


class ApprovedTimes(Struct, frozen=True):
    """Modification times as they were when a plan was approved, and when that was."""

    files: Mapping[str, int] = field(default_factory=dict)
    taken_ns: int = 0

    def to_bytes(self) -> bytes:
        """The stored form."""
        data = {"taken_ns": self.taken_ns, "files": dict(self.files)}
        return zlib.compress(json.dumps(data).encode("ascii"))

    @classmethod
    def from_bytes(cls, kept: bytes) -> ApprovedTimes:
        """The stored form read back."""
        return cls(**json.loads(zlib.decompress(kept)))


def times_of(folders: Folders) -> dict[str, Times]:
    """Times of the source files that a walk met."""
    return {
        f"{path}/{name}" if path else name: Times(record.key[_MTIME], record.key[_CTIME])
        for path, folder in folders.items()
        for name, record in folder.files.items()
        if stat.S_ISREG(record.key[_MODE])
    }


def put_times(root: Path, times: Mapping[str, int]) -> None:
    """Give files these modification times; what is no file any more is left alone."""
    with opened_root(root) as root_fd:
        for path, mtime_ns in times.items():
            above, _, name = path.rpartition("/")
            with suppress(OSError), opened_strictly(root_fd, above) as fd:
                os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=fd, follow_symlinks=False)


def with_times(content: FilesByFolder, times: Mapping[str, int]) -> FilesByFolder:
    """The content with these modification times."""
    changed = dict(content)
    for path, mtime_ns in times.items():
        above, _, name = path.rpartition("/")
        record = changed.get(above, {}).get(name)
        if record is not None:
            inode, size, _, ctime_ns, mode = record.key
            put = record._replace(key=(inode, size, mtime_ns, ctime_ns, mode))
            changed[above] = {**changed[above], name: put}
    return changed
