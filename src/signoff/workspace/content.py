"""Reading one entry so that its hash is of a content that was really there."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator

from signoff.errors import StorageFailed
from signoff.workspace.gitpack import hash_object, new_object_hash
from signoff.workspace.largefiles import LARGE_BYTES, hash_large
from signoff.workspace.objects import ObjectStore
from signoff.workspace.records import FileRecord, StatKey, stat_key

_WHOLE_BYTES = 1 << 20
_TRIES = 5
_NO_BLOB = bytes(20)
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SPECIAL_NAMES = {
    stat.S_IFIFO: b"fifo",
    stat.S_IFSOCK: b"socket",
    stat.S_IFCHR: b"character device",
    stat.S_IFBLK: b"block device",
}
FIFO_SHA256 = hashlib.sha256(_SPECIAL_NAMES[stat.S_IFIFO]).digest()


class _Moved(Exception):
    """The file changed between being looked at and being read."""


def read_entry(
    folder_fd: int,
    name: str,
    path: str,
    settled_before_ns: int,
    store: ObjectStore | None,
    tick: Callable[[], None] = lambda: None,
) -> FileRecord:
    """Hash one entry (and store it, given a store); `tick` is called now and then, and may raise.

    Raises FileNotFoundError when it is gone, StorageFailed when it never holds still.
    """
    for _ in range(_TRIES):
        seen = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
        key = stat_key(seen)
        settled = is_settled(key, settled_before_ns)
        try:
            if stat.S_ISREG(seen.st_mode):
                sha256, blob = _read_file(folder_fd, name, key, store, tick)
            elif stat.S_ISLNK(seen.st_mode):
                sha256, blob = _read_link(folder_fd, name, store)
            else:
                # Opening a FIFO or a device can hang or act; what it is, is all that is recorded.
                special = _SPECIAL_NAMES.get(stat.S_IFMT(seen.st_mode), b"unknown")
                special += b"" if seen.st_rdev == 0 else b" %d" % seen.st_rdev
                sha256, blob = hashlib.sha256(special).digest(), _NO_BLOB
        except _Moved:
            continue
        return FileRecord(key, sha256, blob, settled)
    raise StorageFailed(
        f"`{path}` keeps changing while it is read",
        hint="stop the process that writes it, then run the same command again",
        facts={"path": path},
    )


def is_settled(key: StatKey, settled_before_ns: int) -> bool:
    """Whether a later change would be sure to show in the times.

    Times with nothing below the millisecond come from filesystems with coarse clocks (up to two
    seconds); elsewhere the kernel's clock tick, 10 ms at most, is the finest difference.
    """
    ctime_ns = key[3]
    margin_ns = 2_500_000_000 if ctime_ns % 1_000_000 == 0 else 50_000_000
    return ctime_ns + margin_ns < settled_before_ns


def _read_link(folder_fd: int, name: str, store: ObjectStore | None) -> tuple[bytes, bytes]:
    try:
        target = os.readlink(os.fsencode(name), dir_fd=folder_fd)
    except OSError as error:
        raise _Moved from error
    blob = hash_object("blob", target)
    if store is not None:
        store.put("blob", target, blob)
    return hashlib.sha256(target).digest(), blob


def _read_file(
    folder_fd: int,
    name: str,
    key: StatKey,
    store: ObjectStore | None,
    tick: Callable[[], None],
) -> tuple[bytes, bytes]:
    try:
        fd = os.open(name, _FILE_FLAGS, dir_fd=folder_fd)
    except FileNotFoundError:
        raise
    except PermissionError:
        raise
    except OSError as error:
        # Replaced by a symlink or a socket since it was listed.
        raise _Moved from error
    try:
        if stat_key(os.fstat(fd)) != key:
            raise _Moved
        if key[1] <= _WHOLE_BYTES:
            hashes = _hash_whole(fd, key[1], store)
        elif key[1] <= LARGE_BYTES:
            hashes = _hash_pieces(fd, key[1], store)
        else:
            hashes = hash_large(fd, key[1], store, tick)
        if stat_key(os.fstat(fd)) != key:
            raise _Moved
        return hashes
    finally:
        os.close(fd)


def _hash_whole(fd: int, size: int, store: ObjectStore | None) -> tuple[bytes, bytes]:
    data = os.read(fd, size + 1)
    if len(data) != size:
        raise _Moved
    blob = hash_object("blob", data)
    if store is not None:
        store.put("blob", data, blob)
    return hashlib.sha256(data).digest(), blob


def _hash_pieces(fd: int, size: int, store: ObjectStore | None) -> tuple[bytes, bytes]:
    """As `_hash_whole`, in bounded memory: read once to know it, and again to store what is new."""
    content, named = hashlib.sha256(), new_object_hash("blob", size)
    for piece in _pieces(fd, size):
        content.update(piece)
        named.update(piece)
    hashes = content.digest(), named.digest()
    if store is not None and not store.has(hashes[1]):
        os.lseek(fd, 0, os.SEEK_SET)
        stored = new_object_hash("blob", size)
        with store.putting("blob", size) as out:
            for piece in _pieces(fd, size):
                stored.update(piece)
                out.write(piece)
            if stored.digest() != hashes[1]:
                raise _Moved
            out.finish(hashes[1])
    return hashes


def _pieces(fd: int, size: int) -> Iterator[bytes]:
    left = size
    while left >= 0:
        piece = os.read(fd, min(_WHOLE_BYTES, left + 1))
        if len(piece) > left or (not piece and left):
            raise _Moved
        if not piece:
            return
        left -= len(piece)
        yield piece
