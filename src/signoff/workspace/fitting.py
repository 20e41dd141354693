"""Making a clean room equal to its layout: what is as we left it stays, all else goes or comes.

An entry is as we left it when nothing about it changed since we wrote it, by the system's own
record of changes; what a contract touched is written anew without being looked at.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from signoff.domain.snapshot import FileKind
from signoff.workspace import writing
from signoff.workspace.byproducts import Survey
from signoff.workspace.content import FIFO_SHA256
from signoff.workspace.folders import (
    READ_FLAGS,
    opened_root,
    opened_strictly,
    remove_tree,
    set_mode,
    unlink_if_there,
)
from signoff.workspace.objects import ObjectStore
from signoff.workspace.records import (
    NO_TIME_NS,
    FileRecord,
    FilesByFolder,
    Folder,
    Folders,
    StatKey,
    stat_key,
)

_NOTHING: Mapping[str, FileRecord] = {}


class FolderContent(Struct, eq=False):
    """Everything that may lie directly in one folder; whatever else does is to go.

    `other_folders` are by-products and places to bind a folder to, `points` places for a file.
    """

    sources: Mapping[str, FileRecord] = field(default_factory=lambda: _NOTHING)
    source_folders: set[str] = field(default_factory=set)
    other_folders: set[str] = field(default_factory=set)
    copies: dict[str, StatKey] = field(default_factory=dict)
    points: set[str] = field(default_factory=set)
    is_source: bool = True

    @property
    def holds_others(self) -> bool:
        """True when the walk will meet something in it that is no source."""
        return bool(self.other_folders or self.copies or self.points)


Layout = dict[str, FolderContent]


def lay_out(content: FilesByFolder, survey: Survey) -> Layout:
    """The folders of a room, those above others first.

    The snapshot comes first: a by-product where an older snapshot has a file stays out.
    """
    layout: Layout = {"": FolderContent()}
    for path, files in content.items():
        _make(layout, path)
        layout[path].sources = files
    for path in (*survey.folders, *survey.shared, *survey.apart):
        above, _, name = path.rpartition("/")
        if path not in survey.apart_files:
            _add_folder(layout, path)
        elif _make(layout, above) and name not in layout[above].sources:
            layout[above].points.add(name)
    for path, key in survey.copies.items():
        above, _, name = path.rpartition("/")
        if _make(layout, above) and name not in layout[above].sources:
            layout[above].copies[name] = key
    return dict(sorted(layout.items(), key=lambda item: item[0].count("/")))


def has_place(layout: Layout, path: str) -> bool:
    """True when something can be bound there: no file of the snapshot is in the way."""
    above, _, name = path.rpartition("/")
    return path in layout or (above in layout and name in layout[above].points)


def _add_folder(layout: Layout, path: str) -> None:
    """A folder that is no source; where the snapshot has one of this name, it is that one."""
    above, _, name = path.rpartition("/")
    if path not in layout and _make(layout, above) and name not in layout[above].sources:
        layout[above].other_folders.add(name)
        layout[path] = FolderContent(is_source=False)


def _make(layout: Layout, path: str) -> bool:
    """Make entries for the folder and those above it; False where a file is in the way."""
    missing: list[str] = []
    while path not in layout:
        missing.append(path)
        path = path.rpartition("/")[0]
    for below in reversed(missing):
        above, _, name = below.rpartition("/")
        if name in layout[above].sources:
            return False
        layout[above].source_folders.add(name)
        layout[below] = FolderContent()
    return True


_CHUNK_BYTES = 1 << 20
# What file systems say that cannot do it, or not between these two files.
_CANNOT = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EXDEV, errno.ENOSYS}
_CANNOT |= {errno.EPERM, errno.ETXTBSY}


_FICLONE = 0x40049409  # of linux/fs.h; the `fcntl` module does not name it everywhere


def copy_content(source: int, target: int) -> None:
    """Give the empty file behind `target` the content of the other; blocks are shared if can be."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
        return
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    try:
        while os.copy_file_range(source, target, _CHUNK_BYTES):
            pass
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    # Also after a copy that ended early: some file systems report an end that is none.
    while piece := os.read(source, _CHUNK_BYTES):
        writing.write_all(target, piece)


_FOLDER_MODE = 0o755
# Set by a contract, these would outlive it; other attributes are the system's own.
_LEFT_BEHIND = ("user.", "system.posix_acl_")


class Copy(NamedTuple):
    """A by-product that was copied: its key in the workspace then, and the copy's own."""

    source: StatKey
    copy: StatKey


Copies = Mapping[str, Copy]


class Fitted(Struct):
    """Content of a room after it was made equal to its layout."""

    folders: Folders = field(default_factory=dict)
    copies: dict[str, Copy] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    newest_ns: int = 0
    """Time of the last write, by the clock of the file system; 0 if nothing was written."""


class Fitter:
    """fit → for each folder, those above first { tidy → clear → put what is missing }."""

    def __init__(
        self,
        objects: ObjectStore,
        workspace_fd: int,
        room_fd: int,
        known: Folders,
        copies: Copies,
    ):
        self._objects = objects
        self._workspace_fd = workspace_fd
        self._room_fd = room_fd
        self._known = known
        self._copies = copies
        self._fitted = Fitted()

    def fit(self, layout: Layout) -> Fitted:
        """Raises OSError where the room does not let itself be changed."""
        for path, content in layout.items():
            with opened_strictly(self._room_fd, path) as fd:
                _tidy(fd)
                self._fit_folder(fd, path, content)
        return self._fitted

    def _fit_folder(self, fd: int, path: str, content: FolderContent) -> None:
        before = self._known.get(path)
        files, there = self._clear(fd, path, content, before.files if before is not None else {})
        if len(files) < len(content.sources):
            for name, want in content.sources.items():
                # Sockets and devices cannot be made from content.
                can_be = want.kind is not FileKind.OTHER or want.sha256 == FIFO_SHA256
                if name not in files and can_be:
                    files[name] = self._put_source(fd, name, path, want)
        for name in (content.source_folders | content.other_folders) - there:
            os.mkdir(name, _FOLDER_MODE, dir_fd=fd)
        for name in content.points - there:
            with writing.created_file(fd, name, 0o644):
                pass
        if content.copies:
            self._put_copies(fd, path, content, there)
        if content.is_source:
            folder = Folder(path, files, set(content.source_folders), content.holds_others)
            self._fitted.folders[path] = folder

    def _clear(
        self, fd: int, path: str, content: FolderContent, known: Mapping[str, FileRecord]
    ) -> tuple[dict[str, FileRecord], set[str]]:
        """Remove what does not belong or was touched; the sources and other names that stay."""
        files: dict[str, FileRecord] = {}
        there: set[str] = set()
        wrong: list[tuple[str, bool]] = []
        with os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                want, record = content.sources.get(name), known.get(name)
                if want is None:
                    if self._belongs(entry, path, content):
                        there.add(name)
                        continue
                elif (
                    record is not None
                    and record.settled
                    and record.key == stat_key(entry.stat(follow_symlinks=False))
                    and _is_wanted(record, want)
                ):
                    files[name] = record
                    continue
                wrong.append((name, entry.is_dir(follow_symlinks=False)))
        for name, is_dir in wrong:
            (remove_tree if is_dir else unlink_if_there)(fd, name)
        return files, there

    def _belongs(self, entry: os.DirEntry[str], path: str, content: FolderContent) -> bool:
        """True when an entry that is no source is one of the layout's, as we left it."""
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            return name in content.source_folders or name in content.other_folders
        if name in content.copies:
            inside = _join(path, name)
            known = self._copies.get(inside)
            if known is None or known.source != content.copies[name]:
                return False
            if known.copy != stat_key(entry.stat(follow_symlinks=False)):
                return False
            self._fitted.copies[inside] = known
            return True
        return (
            name in content.points
            and entry.is_file(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_size == 0
        )

    def _put_source(self, fd: int, name: str, folder: str, want: FileRecord) -> FileRecord:
        if want.kind is FileKind.FILE:
            with writing.created_file(fd, name, want.key[4] & 0o777) as out:
                if writing.stream_object(self._objects, want.blob, want.key[1], out) != want.sha256:
                    raise writing.wrong_content(_join(folder, name))
                if want.key[2] != NO_TIME_NS:
                    os.utime(out, ns=(want.key[2], want.key[2]))
                key = self._written(os.fstat(out))
        else:
            if want.kind is FileKind.LINK:
                target = writing.checked_bytes(
                    self._objects, want.blob, want.sha256, _join(folder, name)
                )
                os.symlink(target, os.fsencode(name), dir_fd=fd)
            else:
                os.mkfifo(name, dir_fd=fd)
                set_mode(fd, name, want.key[4] & 0o777)
            key = self._date(fd, name, want.key[2])
        return FileRecord(key, want.sha256, want.blob, settled=True)

    def _put_copies(self, fd: int, path: str, content: FolderContent, there: set[str]) -> None:
        missing = content.copies.keys() - there
        if not missing:
            return
        with opened_strictly(self._workspace_fd, path) as source_fd:
            for name in sorted(missing):
                self._put_copy(fd, source_fd, name, _join(path, name))

    def _put_copy(self, fd: int, source_fd: int, name: str, path: str) -> None:
        seen = os.stat(name, dir_fd=source_fd, follow_symlinks=False)
        if stat.S_ISLNK(seen.st_mode):
            target = os.readlink(os.fsencode(name), dir_fd=source_fd)
            os.symlink(target, os.fsencode(name), dir_fd=fd)
            self._fitted.copies[path] = Copy(stat_key(seen), self._date(fd, name, seen.st_mtime_ns))
            return
        try:
            source = os.open(name, READ_FLAGS, dir_fd=source_fd)
        except PermissionError:
            self._fitted.unreadable.append(path)
            return
        try:
            seen = os.fstat(source)
            with writing.created_file(fd, name, seen.st_mode & 0o777) as out:
                copy_content(source, out)
                os.utime(out, ns=(seen.st_mtime_ns, seen.st_mtime_ns))
                self._fitted.copies[path] = Copy(stat_key(seen), self._written(os.fstat(out)))
        finally:
            os.close(source)

    def _date(self, fd: int, name: str, mtime_ns: int) -> StatKey:
        if mtime_ns != NO_TIME_NS:
            os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=fd, follow_symlinks=False)
        return self._written(os.stat(name, dir_fd=fd, follow_symlinks=False))

    def _written(self, seen: os.stat_result) -> StatKey:
        self._fitted.newest_ns = max(self._fitted.newest_ns, seen.st_ctime_ns)
        return stat_key(seen)


def write_out(content: FilesByFolder, objects: ObjectStore, folder: Path) -> None:
    """Write content, and nothing beside it, into an empty folder."""
    with opened_root(folder) as fd:
        try:
            Fitter(objects, fd, fd, {}, {}).fit(lay_out(content, Survey()))
        except OSError as error:
            raise writing.not_put_back({error.filename or str(folder): error}) from error


def _is_wanted(record: FileRecord, want: FileRecord) -> bool:
    """Content, permissions and time, which a file system with a coarse clock rounds down."""
    if record.sha256 != want.sha256 or record.key[4] != want.key[4] & ~0o7000:
        return False
    mtime_ns, wanted_ns = record.key[2], want.key[2]
    if wanted_ns in (mtime_ns, NO_TIME_NS):
        return True
    return record.key[3] % 1_000_000 == 0 and 0 <= wanted_ns - mtime_ns < 2_000_000_000


def _tidy(fd: int) -> None:
    """A folder's own traces: its mode, and the attributes that a process without rights can set."""
    if stat.S_IMODE(os.fstat(fd).st_mode) != _FOLDER_MODE:
        os.fchmod(fd, _FOLDER_MODE)
    try:
        names = os.listxattr(fd)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return
    for name in names:
        if name.startswith(_LEFT_BEHIND):
            os.removexattr(fd, name)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
