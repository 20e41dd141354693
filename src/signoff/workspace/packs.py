"""The pack format of git, without deltas, and the pack that is still being written."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import re
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
    """Position of an object's compressed form in its file."""

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
        raise StorageFailed(
            f"pack index `{idx}` of the snapshot store is not readable",
            hint=f"rebuild it: git index-pack {idx.with_suffix('.pack').name}",
        )
    count = struct.unpack_from(">I", data, 8 + 255 * 4)[0]
    names = 8 + 1024
    crcs = struct.unpack_from(f">{count}I", data, names + 20 * count)
    offsets = struct.unpack_from(f">{count}I", data, names + 24 * count)
    oids = [data[at : at + 20] for at in range(names, names + 20 * count, 20)]
    in_order = sorted(offsets)
    ends = dict(zip(in_order, [*in_order[1:], pack_end], strict=True))
    lengths = (ends[offset] - offset for offset in offsets)
    return dict(zip(oids, map(PackEntry, oids, offsets, lengths, crcs), strict=True))


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


_BUFFER_BYTES = 1 << 22
_LINE = re.compile(
    rb"o ([0-9a-f]{40}) (\d+) (\d+) (\d+)|s ([0-9a-f]{64}) ([0-9a-f]{40})",
)


class OpenPack:
    """`<name>.pack` holds entries, `<name>.index` says which of them count.

    Held under a lock by one process; a later process goes on with what an earlier one left.
    An entry counts once its line in the index is whole and its checksum holds, so a crash at
    any moment loses at most what was never acknowledged, a power cut what was not made durable.
    """

    def __init__(self, path: Path, file: io.FileIO):
        self.path = path
        self.file = file
        self._index = open(index_of(path), "ab", buffering=0)  # noqa: SIM115 (held like `file`)
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._unlisted: list[PackEntry] = []
        self.entries, self.snapshots = read_open_pack(path)
        # What lies behind the last acknowledged entry was never promised to anybody.
        self._end = max((e.offset + e.length for e in self.entries.values()), default=0)
        file.truncate(self._end)
        if os.fstat(self._index.fileno()).st_size:
            # Closes a line that a crash left torn; an empty line means nothing.
            self._index.write(b"\n")

    @property
    def length(self) -> int:
        """Bytes of entries, those still in memory included."""
        return self._end + self._buffered

    @property
    def pending(self) -> bool:
        """True when objects were added that no commit has acknowledged."""
        return bool(self._unlisted)

    def append(self, kind: str, oid: bytes, data: bytes) -> PackEntry:
        """Add a whole object."""
        # For small content a compressor whose tables are quick to set up.
        small = len(data) <= _SMALL_BYTES
        deflater = zlib.compressobj(1, zlib.DEFLATED, 13, 6) if small else zlib.compressobj(1)
        packed = entry_header(kind, len(data)) + deflater.compress(data) + deflater.flush()
        entry = PackEntry(oid, self.length, len(packed), zlib.crc32(packed))
        self._buffer.append(packed)
        self._buffered += len(packed)
        self.entries[oid] = entry
        self._unlisted.append(entry)
        if self._buffered > _BUFFER_BYTES:
            self.flush()
        return entry

    def flush(self) -> None:
        """Hand what is in memory to the system."""
        if self._buffer:
            data = b"".join(self._buffer)
            self.file.seek(self._end)
            try:
                _write_all(self.file, data)
            except OSError:
                self.file.truncate(self._end)
                raise
            self._end += len(data)
            self._buffer, self._buffered = [], 0

    def commit(self, digest: str, tree: bytes, *, durable: bool) -> None:
        """Acknowledge the objects added so far and the snapshot made of them.

        Unless `durable`, a power cut may take the newest ones; the checksums tell which.
        """
        self.flush()
        lines = [f"o {e.oid.hex()} {e.offset} {e.length} {e.crc}\n" for e in self._unlisted]
        lines.append(f"s {digest} {tree.hex()}\n")
        if durable:
            os.fsync(self.file.fileno())
        _write_all(self._index, "".join(lines).encode())
        if durable:
            os.fsync(self._index.fileno())
        self._unlisted = []
        self.snapshots[digest] = tree

    def remove(self) -> None:
        """Remove the pack, whose content is in a real pack now."""
        self.path.unlink(missing_ok=True)
        index_of(self.path).unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Let go of the lock; what was not committed is dropped."""
        self._index.close()
        self.file.close()


def claim_open_pack(folder: Path) -> OpenPack:
    """An open pack that no living process holds, or a new one."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path in sorted(folder.glob("*.pack")):
        claimed = _claim(path, "r+")
        if claimed is not None:
            return claimed
    while True:
        claimed = _claim(folder / f"{os.urandom(8).hex()}.pack", "x+")
        if claimed is not None:
            sync_folder(folder)
            return claimed


def _claim(path: Path, mode: str) -> OpenPack | None:
    """The pack under our lock; None when another process has it or just finished it."""
    try:
        file = io.FileIO(path, mode)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    if not os.fstat(file.fileno()).st_nlink:
        file.close()
        return None
    return OpenPack(path, file)


def read_open_pack(path: Path) -> tuple[dict[bytes, PackEntry], dict[str, bytes]]:
    """The entries and snapshots of an open pack that hold what their lines say."""
    entries: dict[bytes, PackEntry] = {}
    snapshots: dict[str, bytes] = {}
    try:
        lines = index_of(path).read_bytes().split(b"\n")
        data = path.open("rb")
    except FileNotFoundError:
        return entries, snapshots
    with data:
        for match in filter(None, map(_LINE.fullmatch, lines[:-1])):
            oid, offset, length, crc, digest, tree = match.groups()
            if digest:
                snapshots[digest.decode()] = bytes.fromhex(tree.decode())
                continue
            entry = PackEntry(bytes.fromhex(oid.decode()), int(offset), int(length), int(crc))
            data.seek(entry.offset)
            if zlib.crc32(data.read(entry.length)) == entry.crc:
                entries[entry.oid] = entry
    return entries, snapshots


def index_of(path: Path) -> Path:
    """The index beside an open pack."""
    return path.with_suffix(".index")


def _write_all(file: io.FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]
