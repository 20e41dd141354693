"""Large files: hashed and stored by their data, so that holes cost nothing.

A file of more than LARGE_BYTES is cut into pieces of fixed size. Pieces that are all zeros are
left out, whether they are holes on the disk or written, so the digest is a function of the content
alone: sha256 over the size and, for every other piece, its offset and data. The store keeps each
piece as an object, and one more that lists them.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator

from signoff.errors import StorageFailed
from signoff.workspace.gitpack import hash_object
from signoff.workspace.objects import ObjectStore

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
    """Whether a stored file is a list of pieces; older snapshots hold large files whole."""
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
