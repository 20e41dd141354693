"""The stat cache on disk: hashes of files that have not changed since an earlier process."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

from signoff.workspace.objects import replace_file
from signoff.workspace.records import FileRecord, Folder, Folders

_MAGIC = b"signoff stat cache 2\n"
_CHECKSUM_BYTES = 32
_COUNT = struct.Struct("<Q")
_RECORD = struct.Struct("<QqqqI32s20s")


def load_stat_cache(path: Path) -> Folders:
    """The folders as last saved; empty when there is no cache or it is not intact."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    start = len(_MAGIC) + _CHECKSUM_BYTES
    checked = memoryview(data)[start:]
    if not data.startswith(_MAGIC) or hashlib.sha256(checked).digest() != data[len(_MAGIC) : start]:
        return {}
    return _decode(checked[_COUNT.size :], *_COUNT.unpack_from(checked))


def save_stat_cache(path: Path, folders: Folders) -> None:
    """Write the settled records; a cache that cannot be written is only a slower next start."""
    records: list[bytes] = []
    names: list[str] = []
    for folder in folders.values():
        kept = [(n, r) for n, r in folder.files.items() if r.settled]
        if not kept:
            continue
        names.append(f"{folder.path}/")
        for name, record in kept:
            names.append(name)
            records.append(_RECORD.pack(*record.key, record.sha256, record.blob))
    text = "\0".join(names).encode("utf-8", "surrogateescape")
    checked = b"".join([_COUNT.pack(len(records)), *records, text])
    try:
        replace_file(path, _MAGIC + hashlib.sha256(checked).digest() + checked)
    except OSError:
        return


def stat_cache_file(store: Path, root: Path) -> Path:
    """Each workspace has its own cache in a store that several may share."""
    return store / f"stat-{hashlib.sha256(os.fsencode(root)).hexdigest()[:20]}"


def _decode(body: memoryview, count: int) -> Folders:
    """Names that end in a slash start a folder; no file's name contains one."""
    split = count * _RECORD.size
    names = bytes(body[split:]).decode("utf-8", "surrogateescape").split("\0")
    records = _RECORD.iter_unpack(body[:split])
    folders: Folders = {}
    files: dict[str, FileRecord] = {}
    for name in names:
        if name.endswith("/"):
            files = {}
            folders[name[:-1]] = Folder(name[:-1], files, set(), holds_others=False)
        elif name:
            *key, sha256, blob = next(records)
            inode, size, mtime_ns, ctime_ns, mode = key
            record = FileRecord((inode, size, mtime_ns, ctime_ns, mode), sha256, blob, True)
            files[name] = record
    return folders
