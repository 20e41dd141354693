"""The pack format of git, without deltas: entries, whole packs and their indexes."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from signoff.errors import StorageFailed

_TYPES = {"tree": 2, "blob": 3}
_KINDS = {number: kind for kind, number in _TYPES.items()}
_CHUNK = 1 << 20
_SMALL_BYTES = 1 << 14
_IDX_MAGIC = b"\xfftOc" + struct.pack(">I", 2)


class PackEntry(NamedTuple):
    """Where the compressed form of an object lies in its file."""

    oid: bytes
    offset: int
    length: int
    crc: int


def new_object_hash(kind: str, size: int) -> hashlib._Hash:
    """The hash that names an object, fed with git's header. Names only: trust rests on sha256."""
    return hashlib.sha1(f"{kind} {size}\0".encode(), usedforsecurity=False)


def hash_object(kind: str, data: bytes) -> bytes:
    """The id git would give to this content."""
    named = new_object_hash(kind, len(data))
    named.update(data)
    return named.digest()


def entry_header(kind: str, size: int) -> bytes:
    """The start of a pack entry: type and size, seven bits at a time."""
    out = bytearray()
    byte = (_TYPES[kind] << 4) | (size & 15)
    size >>= 4
    while size:
        out.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    out.append(byte)
    return bytes(out)


def new_deflater(size: int) -> zlib._Compress:
    """A compressor; for small content one whose tables are quick to set up."""
    if size <= _SMALL_BYTES:
        return zlib.compressobj(1, zlib.DEFLATED, 13, 6)
    return zlib.compressobj(1)


def inflate_entry(file: BinaryIO, entry: PackEntry, kind: str) -> Iterator[bytes]:
    """The content of an entry piece by piece; raises ValueError at the end if it is not right."""
    file.seek(entry.offset)
    size, header_length = _read_header(file.read(min(16, entry.length)), kind)
    checked = new_object_hash(kind, size)
    inflater = zlib.decompressobj()
    left = entry.length - header_length
    position = entry.offset + header_length
    while left > 0:
        file.seek(position)
        packed = file.read(min(_CHUNK, left))
        if not packed:
            break
        left -= len(packed)
        position += len(packed)
        while packed:
            piece = inflater.decompress(packed, _CHUNK)
            checked.update(piece)
            yield piece
            packed = inflater.unconsumed_tail
    if checked.digest() != entry.oid:
        raise ValueError("the content does not give the object's id")


def _read_header(data: bytes, kind: str) -> tuple[int, int]:
    """The size an entry announces and the length of its header."""
    if not data or _KINDS.get(data[0] >> 4 & 7) != kind:
        raise ValueError(f"not a {kind}")
    size, shift, i = data[0] & 15, 4, 0
    while data[i] & 0x80:
        i += 1
        size |= (data[i] & 0x7F) << shift
        shift += 7
    return size, i + 1


def write_pack(folder: Path, source: BinaryIO, entries: Iterable[PackEntry]) -> Path:
    """Copy entries out of a file into a pack with an index, durably; returns the pack."""
    unique = list({e.oid: e for e in entries}.values())
    temporary = folder / f"tmp_{os.getpid()}_{os.urandom(6).hex()}"
    with temporary.open("wb") as out:
        checksum = hashlib.sha1(usedforsecurity=False)

        def emit(data: bytes) -> None:
            checksum.update(data)
            out.write(data)

        emit(b"PACK" + struct.pack(">II", 2, len(unique)))
        placed = []
        for entry in unique:
            placed.append(entry._replace(offset=out.tell()))
            for piece in _raw_pieces(source, entry):
                emit(piece)
        out.write(checksum.digest())
        out.flush()
        os.fsync(out.fileno())
    pack = folder / f"pack-{checksum.hexdigest()}.pack"
    temporary.replace(pack)
    # git looks for indexes, so the pack comes into being with this last rename.
    with temporary.open("wb") as out:
        out.write(_index_bytes(placed, checksum.digest()))
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(pack.with_suffix(".idx"))
    sync_folder(folder)
    return pack


def read_index(idx: Path) -> dict[bytes, PackEntry]:
    """The entries of a pack by object id."""
    data = idx.read_bytes()
    pack_end = idx.with_suffix(".pack").stat().st_size - 20
    if not data.startswith(_IDX_MAGIC):
        raise _broken(idx)
    count = struct.unpack_from(">I", data, 8 + 255 * 4)[0]
    names = 8 + 1024
    crcs = struct.unpack_from(f">{count}I", data, names + 20 * count)
    offsets = struct.unpack_from(f">{count}I", data, names + 24 * count)
    order = sorted(range(count), key=offsets.__getitem__)
    ends = dict(zip(order, [*(offsets[i] for i in order[1:]), pack_end], strict=True))
    entries = {}
    for i in range(count):
        oid = data[names + 20 * i : names + 20 * i + 20]
        entries[oid] = PackEntry(oid, offsets[i], ends[i] - offsets[i], crcs[i])
    return entries


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: without it a power cut can undo a rename."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _raw_pieces(source: BinaryIO, entry: PackEntry) -> Iterator[bytes]:
    source.seek(entry.offset)
    left = entry.length
    while left > 0 and (piece := source.read(min(_CHUNK, left))):
        left -= len(piece)
        yield piece


def _index_bytes(entries: list[PackEntry], pack_checksum: bytes) -> bytes:
    ordered = sorted(entries)
    fanout = [0] * 256
    for entry in ordered:
        fanout[entry.oid[0]] += 1
    total, sums = 0, []
    for count in fanout:
        total += count
        sums.append(total)
    data = b"".join(
        [
            _IDX_MAGIC,
            struct.pack(">256I", *sums),
            *(e.oid for e in ordered),
            struct.pack(f">{total}I", *(e.crc for e in ordered)),
            struct.pack(f">{total}I", *(e.offset for e in ordered)),
            pack_checksum,
        ]
    )
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _broken(idx: Path) -> StorageFailed:
    return StorageFailed(
        f"pack index `{idx}` of the snapshot store is not readable",
        hint=f"rebuild it: git index-pack {idx.with_suffix('.pack').name}",
    )
