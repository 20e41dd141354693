"""Putting stored content back: into an empty folder, or over a workspace that moved on.

What somebody put in its place goes, whatever it is. Nothing outside the workspace is touched: links
are removed and never followed, and what is mounted inside it is left alone.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from signoff.domain.snapshot import FileKind
from signoff.errors import StorageFailed
from signoff.workspace.content import FIFO_SHA256, LARGE_BYTES, is_large, write_large
from signoff.workspace.folders import (
    FOLDER_FLAGS,
    open_folder_strictly,
    opened_root,
    remove_any,
    set_mode,
)
from signoff.workspace.objects import ObjectStore
from signoff.workspace.store import StoredFile

_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_entries(
    objects: ObjectStore, entries: Mapping[str, StoredFile], root: Path
) -> dict[str, OSError]:
    """Put every entry in the place of whatever is there now; those that cannot be, and why."""
    refused: dict[str, OSError] = {}
    mounts = Mounts(root)
    with opened_root(root) as root_fd:
        for path, stored in sorted(entries.items()):
            try:
                mounts.refuse(path)
                clear_the_way(root_fd, path)
                with LastFolder(root_fd) as folder:
                    _write_entry(objects, folder, path, stored)
            except OSError as error:
                refused[path] = error
    return refused


def remove_entries(paths: Iterable[str], root: Path) -> dict[str, OSError]:
    """Unlink the entries, and the folders that are left with nothing in them.

    Returns those that cannot be removed, and why.
    """
    refused: dict[str, OSError] = {}
    mounts = Mounts(root)
    with opened_root(root) as root_fd:
        for path in sorted(paths, reverse=True):
            try:
                mounts.refuse(path)
                open_the_way(root_fd, path)
                with LastFolder(root_fd) as folder:
                    _remove_entry(folder, path)
            except OSError as error:
                refused[path] = error
    return refused


class LastFolder:
    """The folder last worked in, kept open: entries come in order, so most share it."""

    def __init__(self, root_fd: int):
        self._root_fd = root_fd
        self._path = ""
        self._fd = os.dup(root_fd)

    def __enter__(self) -> LastFolder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def at(self, path: str, create: bool = False) -> int:
        """A descriptor of the folder, made if it is not there and `create` is given."""
        if path != self._path:
            fd = open_folder_strictly(self._root_fd, path, create)
            os.close(self._fd)
            self._fd, self._path = fd, path
        return self._fd


def _write_entry(objects: ObjectStore, folder: LastFolder, path: str, stored: StoredFile) -> None:
    above, _, name = path.rpartition("/")
    state = stored.state
    if state.kind is FileKind.DIRECTORY:
        folder.at(path, create=True)
        return
    fd = folder.at(above, create=True)
    if state.kind is FileKind.LINK:
        target = checked_content(objects, stored, path)
        os.symlink(target, os.fsencode(name), dir_fd=fd)
    elif state.kind is FileKind.FILE:
        _write_file(objects, fd, name, path, stored)
    elif state.sha256 == FIFO_SHA256.hex():
        os.mkfifo(name, dir_fd=fd)


def _write_file(objects: ObjectStore, fd: int, name: str, path: str, stored: StoredFile) -> None:
    mode = 0o755 if stored.state.executable else 0o644
    with created_file(fd, name, mode) as out:
        sha256 = stream_object(objects, stored.blob, stored.state.size, out)
    if sha256.hex() != stored.state.sha256:
        raise wrong_content(path)


@contextmanager
def created_file(folder_fd: int, name: str, mode: int) -> Iterator[int]:
    """A descriptor of a new file with exactly this mode, whatever the umask."""
    out = os.open(name, _WRITE_FLAGS, mode, dir_fd=folder_fd)
    try:
        os.fchmod(out, mode)
        yield out
    finally:
        os.close(out)


def stream_object(objects: ObjectStore, blob: bytes, size: int, out: int) -> bytes:
    """Write a stored file's content to a descriptor; the content hash of what was written."""
    if is_large(objects, blob, size):
        return write_large(objects, blob, out)
    content = hashlib.sha256()
    for piece in objects.stream(blob, "blob"):
        content.update(piece)
        write_all(out, piece)
    return content.digest()


def write_all(out: int, data: bytes) -> None:
    """Write every byte: the system may take fewer at once."""
    written = os.write(out, data)
    while written < len(data):
        written += os.write(out, memoryview(data)[written:])


def _remove_entry(folder: LastFolder, path: str) -> None:
    above, _, name = path.rpartition("/")
    fd = folder.at(above)
    if stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
        os.rmdir(name, dir_fd=fd)
    else:
        os.unlink(name, dir_fd=fd)
    while above and _is_empty(fd):
        above, _, name = above.rpartition("/")
        fd = folder.at(above)
        os.rmdir(name, dir_fd=fd)


def _is_empty(fd: int) -> bool:
    with os.scandir(fd) as entries:
        return next(entries, None) is None


def checked_content(objects: ObjectStore, stored: StoredFile, path: str) -> bytes:
    """The stored content, checked against the sha256 that the digest covers."""
    if stored.state.size > LARGE_BYTES:
        raise StorageFailed(
            f"`{path}` has {stored.state.size:,} bytes, too many to be read at once",
            facts={"path": path, "size": stored.state.size},
        )
    return checked_bytes(objects, stored.blob, bytes.fromhex(stored.state.sha256), path)


def checked_bytes(objects: ObjectStore, blob: bytes, sha256: bytes, path: str) -> bytes:
    """Read like `checked_content`, by the object and its hash."""
    data = objects.get(blob, "blob")
    if hashlib.sha256(data).digest() != sha256:
        raise wrong_content(path)
    return data


def wrong_content(path: str) -> StorageFailed:
    """The stored object has the right name and the wrong content."""
    return StorageFailed(
        f"the stored content of `{path}` is not the content of the snapshot",
        hint="restore the home folder from a backup; do not trust this snapshot",
        facts={"path": path},
    )


def not_put_back(refused: Mapping[str, OSError]) -> StorageFailed:
    """The error for paths that something keeps from coming back; the first one says what."""
    path, error = next(iter(refused.items()))
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    return StorageFailed(
        f"`{path}` cannot be put back: {error.strerror or error}{more}",
        hint="move away what stands in its place, then run the same command again",
        facts={"path": path, "errno": error.errno, "paths": sorted(refused)},
    )


_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def clear_the_way(root_fd: int, path: str) -> None:
    """Leave nothing at the path, and nothing but folders on the way to it.

    Raises OSError when something cannot be removed.
    """
    above, _, name = path.rpartition("/")
    fd = _walk(root_fd, above, clearing=True)
    if fd is not None:
        try:
            remove_any(fd, name)
        finally:
            os.close(fd)


def open_the_way(root_fd: int, path: str) -> None:
    """Make the folders above a path usable again, if somebody took their permissions away."""
    fd = _walk(root_fd, path.rpartition("/")[0], clearing=False)
    if fd is not None:
        os.close(fd)


def _walk(root_fd: int, folder: str, *, clearing: bool) -> int | None:
    """The folder, reached without following a link; None where there is nothing at its place."""
    fd = os.dup(root_fd)
    for name in folder.split("/") if folder else ():
        try:
            below = _enter(fd, name, clearing=clearing)
        finally:
            os.close(fd)
        if below is None:
            return None
        fd = below
    return fd


def _enter(fd: int, name: str, *, clearing: bool) -> int | None:
    try:
        seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if clearing and not stat.S_ISDIR(seen.st_mode):
        os.unlink(name, dir_fd=fd)
        return None
    if stat.S_ISDIR(seen.st_mode) and seen.st_mode & 0o700 != 0o700:
        set_mode(fd, name, stat.S_IMODE(seen.st_mode) | 0o700)
    return os.open(name, FOLDER_FLAGS, dir_fd=fd)


class Mounts:
    """Mounts inside a workspace: not its content, so nothing there is ours to change."""

    def __init__(self, root: Path) -> None:
        try:
            lines = _MOUNTS.read_text(errors="surrogateescape").splitlines()
        except OSError:
            lines = []  # no such list on this system
        places = (line.split(" ")[4] for line in lines)
        points = (Path(_ESCAPED.sub(lambda code: chr(int(code[1], 8)), p)) for p in places)
        self._inside = [p for p in points if p != root and p.is_relative_to(root)]
        self._root = root

    def refuse(self, path: str) -> None:
        """Raise OSError when the path lies in something mounted, or something is mounted in it."""
        place = self._root / path
        if any(p.is_relative_to(place) or place.is_relative_to(p) for p in self._inside):
            raise OSError(errno.EBUSY, "something is mounted there")
