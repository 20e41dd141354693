"""Objects by their id in a git directory of our own: appended by us, readable by git."""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from collections.abc import Iterator, KeysView
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from signoff.errors import StorageFailed
from signoff.workspace import packs

SEAL_OBJECTS = 4_096
SEAL_BYTES = 1 << 26
_MAX_READERS = 16
_REF_PREFIX = "refs/snapshots/"
_RESTORE = "restore the home folder from a backup, or run the plan again from its start"
# Should somebody run `git gc` in there, everything stays readable to us: all of it, undeltified.
_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
[gc]
\tauto = 0
\tpruneExpire = never
\taggressiveWindow = 0
[pack]
\twindow = 0
"""


class ObjectStore:
    """Objects and snapshot refs; several processes may add and read at once.

    New objects are appended to an open pack, because creating a file per object costs more than
    everything else a snapshot does. When it has grown, it is sealed: copied into a pack that git
    reads, with refs to the snapshots in it.
    """

    def __init__(self, path: Path):
        self.path = path
        self._packs = path / "objects" / "pack"
        self._open_folder = path / "open"
        self._open: packs.OpenPack | None = None
        self._where: dict[bytes, tuple[Path, packs.PackEntry]] = {}
        self._snapshots: dict[str, bytes] = {}
        self._indexed: set[Path] = set()
        self._readers: dict[Path, BinaryIO] = {}
        self._looked = False

    def has(self, oid: bytes) -> bool:
        """True when the object is there, as far as this process knows."""
        return oid in self.known()

    def known(self) -> KeysView[bytes]:
        """The ids of what is there, as far as this process knows; what is added later joins."""
        if not self._looked:
            self._look()
        return self._where.keys()

    def put(self, kind: str, data: bytes, oid: bytes | None = None) -> bytes:
        """Add one object and return its id."""
        if oid is None:
            oid = packs.hash_object(kind, data)
        if not self.has(oid):
            with self._refusals():
                pack = self._claimed()
                self._where[oid] = (pack.path, pack.append(kind, oid, data))
            if pack.length > SEAL_BYTES:
                self.seal()
        return oid

    def commit(self, digest: str, tree: bytes, *, durable: bool = False) -> None:
        """Acknowledge a snapshot and every object it needs."""
        known = self._snapshots.get(digest) == tree
        if known and not durable and (self._open is None or not self._open.pending):
            return
        with self._refusals():
            self._claimed().commit(digest, tree, durable=durable)
        self._snapshots[digest] = tree
        if self._open is not None and len(self._open.entries) > SEAL_OBJECTS:
            self.seal()

    def snapshot_tree(self, digest: str) -> bytes | None:
        """The tree of a snapshot, if the store has it."""
        if digest not in self._snapshots:
            self._look()
        return self._snapshots.get(digest)

    def saved_tree(self, digest: str) -> bytes | None:
        """The tree of a snapshot, as far as this process knows."""
        self.known()
        return self._snapshots.get(digest)

    def get(self, oid: bytes, kind: str) -> bytes:
        """The content of an object, checked against its id."""
        return b"".join(self.stream(oid, kind))

    def stream(self, oid: bytes, kind: str) -> Iterator[bytes]:
        """The content piece by piece; raises at the end if it is not what the id names."""
        try:
            file, entry = self._locate(oid)
            yield from packs.inflate_entry(file, entry, kind)
        except (OSError, ValueError, IndexError, zlib.error) as error:
            raise self._damaged(oid) from error

    def seal(self) -> None:
        """Turn the open pack into one that git can read."""
        pack = self._open
        if pack is None or not pack.entries:
            return
        with self._refusals():
            pack.flush()
            with pack.path.open("rb") as source:
                sealed = packs.write_pack(self._packs, source, pack.entries.values())
            self._add_refs(pack.snapshots)
            pack.remove()
        self._open = None
        self._forget_reader(pack.path)
        self._index_pack(sealed.with_suffix(".idx"))

    def _claimed(self) -> packs.OpenPack:
        if self._open is None:
            self._make_repository()
            self._open = packs.claim_open_pack(self._open_folder)
            self._adopt(self._open.path, self._open.entries, self._open.snapshots)
        return self._open

    def _locate(self, oid: bytes) -> tuple[BinaryIO, packs.PackEntry]:
        """An open file and the entry in it; looks again when another process sealed its pack."""
        if self._open is not None:
            self._open.flush()
        for _ in range(2):
            if oid in self._where:
                path, entry = self._where[oid]
                try:
                    return self._reader(path), entry
                except FileNotFoundError:
                    del self._where[oid]
            self._look()
        raise self._damaged(oid)

    def _reader(self, path: Path) -> BinaryIO:
        if path not in self._readers:
            if len(self._readers) >= _MAX_READERS:
                self._forget_reader(next(iter(self._readers)))
            self._readers[path] = path.open("rb")
        return self._readers[path]

    def _forget_reader(self, path: Path) -> None:
        reader = self._readers.pop(path, None)
        if reader is not None:
            reader.close()

    def _look(self) -> None:
        """Take in what is in the store now: packs, open packs and refs."""
        self._looked = True
        try:
            with self._refusals():
                self._take_in()
        except (ValueError, IndexError, struct.error) as error:
            what = f"the snapshot store `{self.path}` is damaged: {error}"
            raise StorageFailed(what, hint=_RESTORE) from error

    def _take_in(self) -> None:
        # Open packs first: one that is sealed meanwhile is then found as a pack.
        for path in self._open_folder.glob("*.pack"):
            if self._open is None or path != self._open.path:
                self._adopt(path, *packs.read_open_pack(path))
        for idx in self._packs.glob("*.idx"):
            if idx not in self._indexed:
                self._index_pack(idx)
        for digest, tree in _read_refs(self.path / "packed-refs").items():
            self._snapshots.setdefault(digest, tree)

    def _index_pack(self, idx: Path) -> None:
        entries = packs.read_index(idx)
        self._indexed.add(idx)
        pack = idx.with_suffix(".pack")
        self._where.update({oid: (pack, entry) for oid, entry in entries.items()})

    def _adopt(
        self, path: Path, entries: dict[bytes, packs.PackEntry], snapshots: dict[str, bytes]
    ) -> None:
        for oid, entry in entries.items():
            self._where.setdefault(oid, (path, entry))
        self._snapshots.update(snapshots)

    def _add_refs(self, snapshots: dict[str, bytes]) -> None:
        """Name the snapshots for git; the file is shared, so it changes under a lock."""
        refs = self.path / "packed-refs"
        with (self.path / "refs.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            merged = _read_refs(refs) | snapshots
            lines = [f"{tree.hex()} {_REF_PREFIX}{d}\n" for d, tree in sorted(merged.items())]
            replace_file(refs, "".join(lines).encode(), durable=True)

    def _make_repository(self) -> None:
        """Make the folder a repository that git itself can open."""
        for folder in (self._packs, self.path / "refs"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, text in (("config", _CONFIG), ("HEAD", "ref: refs/heads/none\n")):
            if not (self.path / name).exists():
                replace_file(self.path / name, text.encode())

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # After a failed write or sync nobody knows what reached the disk: start over from
            # what can be read there.
            if self._open is not None:
                self._open.close()
            self._open, self._looked = None, False
            self._where, self._snapshots, self._indexed = {}, {}, set()
            raise store_refused(self.path, error) from error

    def _damaged(self, oid: bytes) -> StorageFailed:
        return StorageFailed(
            f"object `{oid.hex()}` of the snapshot store `{self.path}` is missing or damaged",
            hint=_RESTORE,
            facts={"object": oid.hex()},
        )


def _read_refs(path: Path) -> dict[str, bytes]:
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    # git's own lines about the file begin with `#`, those about tags with `^`.
    pairs = [line.split(" ") for line in lines if not line.startswith(("#", "^"))]
    return {ref.removeprefix(_REF_PREFIX): bytes.fromhex(tree) for tree, ref in pairs}


def replace_file(path: Path, data: bytes, durable: bool = False) -> None:
    """Put the file there completely or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with temporary.open("wb") as out:
            out.write(data)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        temporary.replace(path)
        if durable:
            packs.sync_folder(path.parent)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def store_refused(path: Path, error: OSError) -> StorageFailed:
    """The error for a snapshot store that the disk does not let us read or write."""
    return StorageFailed(
        f"snapshot store `{path}`: {error.strerror or error}",
        facts={"path": str(path), "errno": error.errno},
    )
