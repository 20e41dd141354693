"""Watch which files of a folder are opened, and which are written to, while a contract runs.

The kernel tells by inotify: unprivileged, by inode, so also through bind mounts and links. An open
is seen; a bare `stat`, a look for a file that is not there, and an open by another name of a hard
link are not. So what was seen opened was read, and what was not seen proves nothing by itself.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

MOST_FOLDERS = 30_000

_OPEN, _MODIFY, _MOVED_FROM, _MOVED_TO, _DELETE = 0x20, 0x2, 0x40, 0x80, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_OVERFLOW, _IS_FOLDER, _IGNORED = 0x4000, 0x40000000, 0x8000
_ONLY_FOLDERS, _NO_FOLLOW = 0x01000000, 0x02000000
_WRITTEN = _MODIFY | _MOVED_FROM | _MOVED_TO | _DELETE | _DELETE_SELF | _MOVE_SELF
_MASK = _OPEN | _WRITTEN | _ONLY_FOLDERS | _NO_FOLLOW
_EVENT = struct.Struct("iIII")
_BUFFER = 1 << 18
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Opened:
    """What was seen; paths are relative to the watched root.

    `why_not` says why nothing can be told: then everything counts as read.
    """

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()  # files and folders written to, moved or removed
    why_not: str = ""

    @property
    def complete(self) -> bool:
        """Whether every open in the watched folders was seen."""
        return not self.why_not

    def joined(self, other: Opened) -> Opened:
        """Everything that either saw."""
        return Opened(
            self.files | other.files,
            self.folders | other.folders,
            self.written | other.written,
            self.why_not or other.why_not,
        )


def cannot_tell(why: str) -> Opened:
    """Nothing was watched, for this reason."""
    return Opened(why_not=why)


@dataclass
class OpenWatch:
    """A context in which opens are seen; `seen` has them when it is over."""

    root: Path
    folders: Iterable[str]
    seen: Opened = field(default=Opened(why_not="nothing was watched yet"), init=False)
    _fd: int = field(default=-1, init=False)
    _why_not: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._folder_of: dict[int, str] = {}
        self._files: set[str] = set()
        self._listed: set[str] = set()
        self._written: set[str] = set()
        self._events: set[tuple[int, int, bytes]] = set()

    def __enter__(self) -> OpenWatch:
        self._fd = _LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            self._why_not = f"opens cannot be watched here: {os.strerror(ctypes.get_errno())}"
            return self
        self._add_watches()
        self._over, self._end = os.pipe2(os.O_CLOEXEC)
        self._reader = threading.Thread(target=self._read_all, name="opened", daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._fd < 0:
            self.seen = cannot_tell(self._why_not)
            return
        os.close(self._end)
        self._reader.join()
        for fd in (self._over, self._fd):
            os.close(fd)
        for watch, mask, name in self._events:
            self._take_event(watch, mask, os.fsdecode(name.rstrip(b"\0")))
        self.seen = Opened(
            frozenset(self._files),
            frozenset(self._listed),
            frozenset(self._written),
            self._why_not,
        )

    def _add_watches(self) -> None:
        for count, folder in enumerate(self.folders):
            if count == MOST_FOLDERS:
                self._why_not = f"more than {MOST_FOLDERS:,} folders"
                return
            path = os.fsencode(f"{self.root}/{folder}")
            watch = _LIBC.inotify_add_watch(self._fd, path, _MASK)
            if watch >= 0:
                self._folder_of[watch] = folder
                continue
            problem = ctypes.get_errno()
            if problem not in (errno.ENOENT, errno.ENOTDIR):
                self._why_not = f"opens cannot be watched here: {os.strerror(problem)}"
                return

    def _read_all(self) -> None:
        """Empty the kernel's queue while the contract runs, so that it does not overflow."""
        waiting = select.poll()
        waiting.register(self._fd, select.POLLIN)
        waiting.register(self._over, select.POLLIN)
        while True:
            ready = {fd for fd, _ in waiting.poll()}
            with suppress(BlockingIOError):
                while True:
                    self._take_in(os.read(self._fd, _BUFFER))
            if self._over in ready:
                return

    def _take_in(self, data: bytes) -> None:
        """Most events repeat an earlier one: each is kept once, so that memory stays bounded."""
        at = 0
        while at < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            self._events.add((watch, mask, data[at - length : at]))

    def _take_event(self, watch: int, mask: int, name: str) -> None:
        if mask & _OVERFLOW:
            self._why_not = "more files were opened at once than the system tells of"
        folder = self._folder_of.get(watch)
        if folder is None or mask & _IGNORED:
            return
        path = f"{folder}/{name}" if folder and name else folder or name
        if mask & _WRITTEN:
            self._written.add(path)
        if mask & _OPEN:
            (self._listed if mask & _IS_FOLDER else self._files).add(path)
