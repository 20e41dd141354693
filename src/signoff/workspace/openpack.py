"""The pack that is still being written: objects are appended, so a snapshot creates no files."""

from __future__ import annotations

import fcntl
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from signoff.workspace.gitpack import PackEntry, entry_header, new_deflater, sync_folder

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
        """Whether objects were added that no commit has acknowledged."""
        return bool(self._unlisted)

    def append(self, kind: str, oid: bytes, data: bytes) -> PackEntry:
        """Add a whole object."""
        deflater = new_deflater(len(data))
        packed = entry_header(kind, len(data)) + deflater.compress(data) + deflater.flush()
        entry = PackEntry(oid, self.length, len(packed), zlib.crc32(packed))
        self._buffer.append(packed)
        self._buffered += len(packed)
        self._note(entry)
        if self._buffered > _BUFFER_BYTES:
            self.flush()
        return entry

    @contextmanager
    def appending(self, kind: str, size: int) -> Iterator[EntryWriter]:
        """Add an object piece by piece; if the block fails, nothing was added."""
        self.flush()
        self.file.seek(self._end)
        try:
            writer = EntryWriter(self.file, kind, size)
            yield writer
        except BaseException:
            self.file.truncate(self._end)
            raise
        entry = PackEntry(writer.oid, self._end, writer.length, writer.crc)
        self._end += writer.length
        self._note(entry)

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
        """Its content is in a real pack now."""
        self.path.unlink(missing_ok=True)
        index_of(self.path).unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Let go of the lock; what was not committed is dropped."""
        self._index.close()
        self.file.close()

    def _note(self, entry: PackEntry) -> None:
        self.entries[entry.oid] = entry
        self._unlisted.append(entry)


class EntryWriter:
    """One object on its way into the open pack; its id is set when the content is complete."""

    def __init__(self, file: io.FileIO, kind: str, size: int):
        self._file = file
        self._deflater = new_deflater(size)
        self.oid = b""
        self.length = 0
        self.crc = 0
        self._out(entry_header(kind, size))

    def write(self, data: bytes) -> None:
        """Add content."""
        self._out(self._deflater.compress(data))

    def finish(self, oid: bytes) -> None:
        """The content is complete and this is its id."""
        self._out(self._deflater.flush())
        self.oid = oid

    def _out(self, packed: bytes) -> None:
        _write_all(self._file, packed)
        self.length += len(packed)
        self.crc = zlib.crc32(packed, self.crc)


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
