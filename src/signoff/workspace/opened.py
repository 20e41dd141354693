"""Watch which files of a folder are opened, and which are written to, while a contract runs.

The kernel tells by inotify: unprivileged, by inode, so also through bind mounts and links. An open
is seen; a bare `stat`, a look for a file that is not there, and an open by another name of a hard
link are not. So what was seen opened was read, and what was not seen proves nothing by itself.

Of files that must stay as they are, inode and time of change are compared too: no process can set
that time, and it tells of changed modes and times, of new hard links, and of what was written
through one or through a mapping. It does not tell of a folder that was moved away and back; the
kernel's events do.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import stat
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol

from msgspec import Struct

from signoff.errors import LedgerBroken

MOST_FOLDERS = 30_000
MOST_KEPT = 20_000  # files of one read set; compressed, some 100 KB

_OPEN, _MODIFY, _MOVED_FROM, _MOVED_TO, _DELETE = 0x20, 0x2, 0x40, 0x80, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_ATTRIBUTES = 0x4
_OVERFLOW, _IS_FOLDER, _IGNORED = 0x4000, 0x40000000, 0x8000
_ONLY_FOLDERS, _NO_FOLLOW = 0x01000000, 0x02000000
_WRITTEN = _MODIFY | _MOVED_FROM | _MOVED_TO | _DELETE | _DELETE_SELF | _MOVE_SELF
_MASK = _OPEN | _WRITTEN | _ONLY_FOLDERS | _NO_FOLLOW
_EVENT = struct.Struct("iIII")
_BUFFER = 1 << 18
_OVERFLOWED = "more files were opened at once than the system tells of"
_LIBC = ctypes.CDLL(None, use_errno=True)
# Kept for the next watch: closing one waits for every processor, some milliseconds.
_IDLE: list[int] = []


class OpenedFiles(Struct, frozen=True):
    """Files and folders that were seen; paths are relative to the watched root.

    `why_not` says why nothing can be told: then everything counts as read.
    """

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()  # files and folders written to, moved or removed
    why_not: str = ""

    @property
    def complete(self) -> bool:
        """True when every open in the watched folders was seen."""
        return not self.why_not

    @property
    def overflowed(self) -> bool:
        """True when something may have been written without being told."""
        return self.why_not == _OVERFLOWED

    def joined(self, other: OpenedFiles) -> OpenedFiles:
        """Everything that either saw."""
        return OpenedFiles(
            self.files | other.files,
            self.folders | other.folders,
            self.written | other.written,
            self.why_not or other.why_not,
        )

    def to_bytes(self, known: Collection[str]) -> bytes:
        """Encode what was read and written, to be kept; of files only those that are `known`."""
        files, written = (sorted(seen.intersection(known)) for seen in (self.files, self.written))
        data = {"files": files, "folders": sorted(self.folders), "why_not": self.why_not}
        data |= {"written": written} if written else {}
        if len(files) > MOST_KEPT:
            data = {"why_not": f"more than {MOST_KEPT:,} files were read"}
        return zlib.compress(json.dumps(data).encode("ascii"))

    @classmethod
    def from_bytes(cls, kept: bytes) -> OpenedFiles:
        """Decode what an earlier look kept."""
        data = json.loads(zlib.decompress(kept))
        names = ("files", "folders", "written")
        files, folders, written = (frozenset(data.get(name, ())) for name in names)
        return cls(files, folders, written, data["why_not"])


class Blobs(Protocol):
    """Storage of read sets beside the verdicts."""

    def put_blob(self, data: bytes, *, durable: bool = True) -> str:
        """Keep it; its digest."""

    def get_blob(self, digest: str) -> bytes:
        """The bytes that were kept; LedgerBroken if they are not there as they were."""


def read_before(blobs: Blobs | None, kept: Iterable[str]) -> OpenedFiles:
    """Files that the check read when it was judged before anybody worked, as far as kept."""
    opened = OpenedFiles()
    if blobs is None:
        return opened
    for digest in kept:
        try:
            more = OpenedFiles.from_bytes(blobs.get_blob(digest))
        except LedgerBroken:
            more = OpenedFiles(why_not="what the check read before is not there any more")
        opened = opened.joined(more)
    return opened


@dataclass
class OpenWatch:
    """A context in which opens are seen; `seen` has them when it is over.

    Whoever waits in it calls `take_in` as soon as `fd` can be read: the kernel's queue is short.
    """

    root: Path
    folders: Iterable[str]
    fixed: Collection[str] = ()  # files of which any change is told, however it is made
    seen: OpenedFiles = field(default=OpenedFiles(why_not="nothing was watched yet"), init=False)
    fd: int = field(default=-1, init=False)
    _why_not: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._folder_of: dict[int, str] = {}
        self._files: set[str] = set()
        self._listed: set[str] = set()
        self._written: set[str] = set()
        self._events: set[tuple[int, int, bytes]] = set()

    def __enter__(self) -> OpenWatch:
        self._before = self._states()
        self.fd = _watcher()
        if self.fd < 0:
            self._why_not = f"opens cannot be watched here: {os.strerror(ctypes.get_errno())}"
        else:
            self._add_watches()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        now = self._states()
        self._written.update(path for path in self.fixed if now[path] != self._before[path])
        if self.fd >= 0:
            self.take_in()
            for watch in self._folder_of:
                _LIBC.inotify_rm_watch(self.fd, watch)
            _IDLE.append(self.fd)
        for watch, mask, name in self._events:
            self._take_event(watch, mask, os.fsdecode(name.rstrip(b"\0")))
        self.seen = OpenedFiles(
            frozenset(self._files),
            frozenset(self._listed),
            frozenset(self._written),
            self._why_not,
        )

    def take_in(self) -> None:
        """Empty the queue; most events repeat an earlier one, and each is kept once."""
        for data in _waiting(self.fd):
            at = 0
            while at < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                self._events.add((watch, mask, data[at - length : at]))

    def _states(self) -> dict[str, tuple[int, int] | None]:
        return {path: _state(f"{self.root}/{path}") for path in self.fixed}

    def _add_watches(self) -> None:
        above = {path[:i] for path in self.fixed for i, c in enumerate(path) if c == "/"}
        for count, folder in enumerate(self.folders):
            if count == MOST_FOLDERS:
                self._why_not = f"more than {MOST_FOLDERS:,} folders"
                return
            path = os.fsencode(f"{self.root}/{folder}")
            mask = _MASK | (_ATTRIBUTES if folder in above else 0)
            watch = _LIBC.inotify_add_watch(self.fd, path, mask)
            if watch >= 0:
                self._folder_of[watch] = folder
                continue
            problem = ctypes.get_errno()
            if problem not in (errno.ENOENT, errno.ENOTDIR):
                self._why_not = f"opens cannot be watched here: {os.strerror(problem)}"
                return

    def _take_event(self, watch: int, mask: int, name: str) -> None:
        if mask & _OVERFLOW:
            self._why_not = _OVERFLOWED
        folder = self._folder_of.get(watch)
        if folder is None or mask & _IGNORED:
            return
        path = f"{folder}/{name}" if folder and name else folder or name
        # A folder tells of the attributes of all that is in it; only its own were asked about.
        if mask & _WRITTEN or (mask & _ATTRIBUTES and not name):
            self._written.add(path)
        if mask & _OPEN:
            (self._listed if mask & _IS_FOLDER else self._files).add(path)


def _state(path: str) -> tuple[int, int] | None:
    """Identity and time of a file; None for a folder, whose time changes with files in it."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return None if stat.S_ISDIR(found.st_mode) else (found.st_ino, found.st_ctime_ns)


def _watcher() -> int:
    """A descriptor that watches nothing yet; below 0 where the system has none."""
    with suppress(IndexError):
        idle = _IDLE.pop()
        for _ in _waiting(idle):
            pass  # what was left of the watch before
        return idle
    return int(_LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))


def _waiting(fd: int) -> Iterator[bytes]:
    with suppress(BlockingIOError):
        while True:
            yield os.read(fd, _BUFFER)
