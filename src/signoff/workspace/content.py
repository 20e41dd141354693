"""Reading one entry so that its hash is of a content that was really there.

A file of more than LARGE_BYTES is hashed and stored by its data, so that holes cost nothing: it is
cut into pieces of fixed size, and pieces that are all zeros are left out, whether they are holes on
the disk or written. So the digest is a function of the content alone: sha256 over the size and, for
every other piece, its offset and data. The store keeps each piece as an object, and one more that
lists them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator

from signoff.errors import StorageFailed
from signoff.workspace.folders import READ_FLAGS
from signoff.workspace.objects import ObjectStore
from signoff.workspace.packs import hash_object
from signoff.workspace.records import FileRecord, StatKey, stat_key

_TRIES = 5
_NO_BLOB = bytes(20)
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
    """True when a later change would be sure to show in the times.

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
        fd = os.open(name, READ_FLAGS, dir_fd=folder_fd)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        # Replaced by a symlink or a socket since it was listed.
        raise _Moved from error
    try:
        if stat_key(os.fstat(fd)) != key:
            raise _Moved
        whole = key[1] <= LARGE_BYTES
        hashes = _hash(fd, key[1], store) if whole else hash_large(fd, key[1], store, tick)
        if stat_key(os.fstat(fd)) != key:
            raise _Moved
        return hashes
    finally:
        os.close(fd)


def _hash(fd: int, size: int, store: ObjectStore | None) -> tuple[bytes, bytes]:
    data = os.read(fd, size + 1)
    while len(data) < size and (more := os.read(fd, size + 1 - len(data))):
        data += more
    if len(data) != size:
        raise _Moved
    blob = hash_object("blob", data)
    if store is not None:
        store.put("blob", data, blob)
    return hashlib.sha256(data).digest(), blob


LARGE_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20
_ZEROS = bytes(_PIECE_BYTES)
_HEADER = b"signoff large file 1\n"

Pieces = Iterator[tuple[int, bytes]]


def hash_large(
    fd: int,
    size: int,
    store: ObjectStore | None = None,
    tick: Callable[[], None] = lambda: None,
) -> tuple[bytes, bytes]:
    """The content hash and the id of the list of pieces; `tick` may end it by raising."""
    content = _content_hash(size)
    listed = [_HEADER, b"%d\n" % size]
    for offset, piece in _data(fd, size):
        tick()
        _add_piece(content, offset, piece)
        blob = hash_object("blob", piece)
        if store is not None:
            store.put("blob", piece, blob)
        listed.append(b"%d %s\n" % (offset, blob.hex().encode()))
    index = b"".join(listed)
    blob = hash_object("blob", index)
    if store is not None:
        store.put("blob", index, blob)
    return content.digest(), blob


def write_large(objects: ObjectStore, blob: bytes, out: int) -> bytes:
    """Write a stored large file, holes as holes; the content hash of what was written."""
    size, pieces = _listed(objects, blob)
    content = _content_hash(size)
    for offset, piece in pieces:
        _add_piece(content, offset, piece)
        written = 0
        while written < len(piece):
            written += os.pwrite(out, memoryview(piece)[written:], offset + written)
    os.ftruncate(out, size)
    return content.digest()


def whole_content(objects: ObjectStore, blob: bytes, size: int) -> Iterator[bytes]:
    """The content of any stored file from its first byte to its last, piece by piece."""
    if not is_large(objects, blob, size):
        yield from objects.stream(blob, "blob")
        return
    at = 0
    for offset, piece in _listed(objects, blob)[1]:
        yield from _zeros(offset - at)
        yield piece
        at = offset + len(piece)
    yield from _zeros(size - at)


def is_large(objects: ObjectStore, blob: bytes, size: int) -> bool:
    """True when a stored file is a list of pieces; older snapshots hold large files whole."""
    if size <= LARGE_BYTES:
        return False
    return next(objects.stream(blob, "blob"), b"").startswith(_HEADER)


def _data(fd: int, size: int) -> Pieces:
    """Every piece that is not all zeros; holes are not even read."""
    offset = 0
    while offset < size:
        try:
            there = os.lseek(fd, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # nothing but a hole up to the end
            raise
        offset = max(offset, there - there % _PIECE_BYTES)
        piece = os.pread(fd, _PIECE_BYTES, offset)
        if not piece:
            return
        if piece != _ZEROS[: len(piece)]:
            yield offset, piece
        offset += _PIECE_BYTES


def _content_hash(size: int) -> hashlib._Hash:
    return hashlib.sha256(_HEADER + b"%d\n" % size)


def _add_piece(content: hashlib._Hash, offset: int, piece: bytes) -> None:
    content.update(b"%d %d\n" % (offset, len(piece)))
    content.update(piece)


def _listed(objects: ObjectStore, blob: bytes) -> tuple[int, Pieces]:
    lines = objects.get(blob, "blob").removeprefix(_HEADER).splitlines()
    try:
        size = int(lines[0])
        named = [line.split(b" ") for line in lines[1:]]
        places = [(int(offset), bytes.fromhex(name.decode("ascii"))) for offset, name in named]
    except (IndexError, ValueError) as error:
        raise StorageFailed(
            "the list of a stored large file's pieces cannot be read",
            hint="restore the home folder from a backup; do not trust this snapshot",
        ) from error
    return size, ((offset, objects.get(name, "blob")) for offset, name in places)


def _zeros(count: int) -> Iterator[bytes]:
    while count > 0:
        yield _ZEROS[:count]
        count -= _PIECE_BYTES
