"""Snapshots in the store: a git tree to look at, and folder records that restore and compare.

A snapshot is a tree with two entries, named by the ref `refs/snapshots/<digest>`:

- `content`: the files as git would keep them (no special files),
- `manifest`: one blob per folder, named by the folder's path, with what git does not keep
  (sha256, special files). A folder that did not change costs nothing in the next snapshot.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from signoff.domain.snapshot import Change, ChangeKind, FileKind, FileState
from signoff.errors import StorageFailed
from signoff.workspace.objects import ObjectStore, replace_file
from signoff.workspace.records import (
    EMPTY_FOLDER,
    NO_TIME_NS,
    FileRecord,
    FilesByFolder,
    Folder,
    Folders,
    content_digest,
    encode_entry,
)

_TREE_MODE = b"40000"
_BLOB_MODE = b"100644"
_ROOT_NAME = b"%"
_KIND_MODE = {
    FileKind.FILE: stat.S_IFREG,
    FileKind.LINK: stat.S_IFLNK | 0o777,
    FileKind.OTHER: stat.S_IFIFO,
}


class StoredFile(NamedTuple):
    """One entry of a stored snapshot: what it is, and the object with its content."""

    state: FileState
    blob: bytes


class _Built(NamedTuple):
    """The form in which a folder was stored, so that it is not written again."""

    folder: Folder
    record: bytes
    below: tuple[tuple[str, bytes], ...]
    tree: bytes


class SnapshotStore:
    """Saves what a walk found and gives it back by digest."""

    def __init__(self, path: Path):
        self.objects = ObjectStore(path)
        self._built: dict[str, _Built] = {}

    def save(self, digest: str, folders: Folders, *, durable: bool = False) -> None:
        """Make the snapshot restorable; the content of its files is stored already."""
        if not durable and not self._built and self._is_whole(digest):
            return
        built: dict[str, _Built] = {}
        # Deepest first: a tree needs the ids of the trees in it.
        for path in sorted(folders, key=lambda p: p.count("/") + bool(p), reverse=True):
            built[path] = self._build(folders[path], built)
        self._built = built
        manifest = self._put_tree(
            [(_BLOB_MODE, _record_name(path), b.record) for path, b in built.items()]
        )
        content = (_TREE_MODE, b"content", built[""].tree)
        tree = self._put_tree([content, (_TREE_MODE, b"manifest", manifest)])
        self.objects.commit(digest, tree, durable=durable)

    def _is_whole(self, digest: str) -> bool:
        """True when an earlier process saved it, and everything that restoring needs is there."""
        tree = self.objects.saved_tree(digest)
        if tree is None:
            return False
        try:
            top = {name: oid for _, name, oid in self._tree_entries(tree)}
            records = [oid for _, _, oid in self._tree_entries(top[b"manifest"])]
        except (StorageFailed, KeyError):
            return False
        return all(map(self.objects.has, (*records, top[b"content"])))

    def load(self, digest: str, tree: bytes = b"") -> dict[str, StoredFile]:
        """Every entry of a snapshot (or of a tree) by path, sorted; checked against the digest."""
        stored: dict[str, StoredFile] = {}
        for path, oid in self.folder_records(digest, tree).items():
            stored.update(self.folder_entries(path, oid))
        entries = (
            encode_entry(
                os.fsencode(path), f.state.kind, f.state.executable, bytes.fromhex(f.state.sha256)
            )
            for path, f in stored.items()
        )
        if content_digest(entries) != digest:
            raise damaged(digest)
        return dict(sorted(stored.items()))

    def folder_records(self, digest: str, tree: bytes = b"") -> dict[str, bytes]:
        """The folders of a snapshot and the object that records each; equal ids, equal content."""
        top = {name: oid for _, name, oid in self._tree_entries(tree or self._tree_of(digest))}
        return {_folder_of(name): oid for _, name, oid in self._tree_entries(top[b"manifest"])}

    def folder_entries(self, path: str, oid: bytes) -> Iterator[tuple[str, StoredFile]]:
        """The entries directly in a folder, with full paths."""
        for full, row in self.folder_rows(path, oid):
            if not row:
                yield full, StoredFile(EMPTY_FOLDER, b"")
                continue
            kind, executable, size, sha256, blob = row
            state = FileState(FileKind(kind), executable, size, sha256)
            yield full, StoredFile(state, bytes.fromhex(blob))

    def folder_rows(self, path: str, oid: bytes) -> Iterator[tuple[str, list[Any]]]:
        """The entries of a folder as written, to compare; an empty folder has an empty row."""
        record = json.loads(self.objects.get(oid, "blob"))
        if record["empty"]:
            yield path, []
        prefix = f"{path}/" if path else ""
        for name, *row in record["files"]:
            yield prefix + name, row

    def _build(self, folder: Folder, built: dict[str, _Built]) -> _Built:
        prefix = f"{folder.path}/" if folder.path else ""
        below = tuple((name, built[prefix + name].tree) for name in sorted(folder.subfolders))
        last = self._built.get(folder.path)
        if last is not None and last.folder is folder and self.objects.has(last.record):
            if last.below == below and self.objects.has(last.tree):
                return last
            return _Built(folder, last.record, below, self._put_content(folder, below))
        record = self.objects.put("blob", _encode_record(folder))
        return _Built(folder, record, below, self._put_content(folder, below))

    def _put_content(self, folder: Folder, below: Sequence[tuple[str, bytes]]) -> bytes:
        entries = [(_TREE_MODE, os.fsencode(name), tree) for name, tree in below]
        for name, record in folder.files.items():
            mode = _git_mode(record.key[4])
            if mode is not None:
                entries.append((mode, os.fsencode(name), record.blob))
        return self._put_tree(entries)

    def _put_tree(self, entries: list[tuple[bytes, bytes, bytes]]) -> bytes:
        # git orders folders as if their names ended in a slash.
        entries.sort(key=lambda e: e[1] + b"/" if e[0] == _TREE_MODE else e[1])
        data = b"".join(b"%b %b\0%b" % entry for entry in entries)
        return self.objects.put("tree", data)

    def _tree_entries(self, oid: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
        data = self.objects.get(oid, "tree")
        start = 0
        while start < len(data):
            end = data.index(b"\0", start)
            mode, _, name = data[start:end].partition(b" ")
            start = end + 21
            yield mode, name, data[end + 1 : start]

    def _tree_of(self, digest: str) -> bytes:
        tree = self.objects.snapshot_tree(digest)
        if tree is None:
            raise _unknown(digest)
        return tree


@lru_cache
def _git_mode(mode: int) -> bytes | None:
    """Git's form of a mode; None for what git does not keep."""
    if stat.S_ISLNK(mode):
        return b"120000"
    if not stat.S_ISREG(mode):
        return None
    return b"100755" if mode & 0o111 else b"100644"


def stored_by_folder(entries: Mapping[str, StoredFile], known: Folders) -> FilesByFolder:
    """A stored snapshot folder by folder.

    An entry that `known` has with the same content is its record there, with its mode and times;
    of the others only the content is known.
    """
    content: FilesByFolder = {}
    for path, stored in entries.items():
        if stored.state.kind is FileKind.DIRECTORY:
            content[path] = {}
            continue
        above, _, name = path.rpartition("/")
        record = _record_of(stored)
        there = known[above].files.get(name) if above in known else None
        if there is not None and there.same_content(record):
            record = there
        content.setdefault(above, {})[name] = record
    return content


def _record_of(stored: StoredFile) -> FileRecord:
    state = stored.state
    permissions = 0o755 if state.executable else 0o644
    key = (0, state.size, NO_TIME_NS, NO_TIME_NS, _KIND_MODE[state.kind] | permissions)
    return FileRecord(key, bytes.fromhex(state.sha256), stored.blob, settled=True)


def _encode_record(folder: Folder) -> bytes:
    files = []
    for name, record in sorted(folder.files.items()):
        kind, executable, size, sha256 = record.state
        files.append([name, kind, executable, size, sha256, record.blob.hex()])
    data = {"folder": folder.path, "empty": folder.is_empty, "files": files}
    return json.dumps(data, separators=(",", ":")).encode()


def _record_name(path: str) -> bytes:
    """A folder's path as one name of a git tree, where a slash cannot stand."""
    return os.fsencode(path).replace(b"%", b"%25").replace(b"/", b"%2F") or _ROOT_NAME


def _folder_of(name: bytes) -> str:
    if name == _ROOT_NAME:
        return ""
    return os.fsdecode(name.replace(b"%2F", b"/").replace(b"%25", b"%"))


def _unknown(digest: str) -> StorageFailed:
    return StorageFailed(
        f"no snapshot `{digest[:64]}` is kept in this store",
        hint="signoff log PLAN shows the snapshots of a plan; SIGNOFF_HOME must be the same",
        facts={"digest": digest},
    )


def damaged(digest: str) -> StorageFailed:
    return StorageFailed(
        f"snapshot `{digest}` is damaged: its entries do not give its digest",
        hint="restore the home folder from a backup, or run the plan again from its start",
        facts={"digest": digest},
    )


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
    known = (FileRecord(row[:5], row[5], row[6], True) for row in records)
    folders: Folders = {}
    starts = [i for i, name in enumerate(names) if name.endswith("/")]
    for start, end in pairwise((*starts, len(names))):
        path = names[start][:-1]
        files = dict(zip(names[start + 1 : end], known, strict=False))
        folders[path] = Folder(path, files, set(), holds_others=False)
    return folders


Entries = dict[str, StoredFile]
ReadContent = Callable[[StoredFile, str], bytes]

_MAX_FILE_BYTES = 1 << 20
# difflib takes quadratic time on text made to defeat it; beyond this, old out and new in.
_MAX_COMPARED_LINES = 3_000
_CONTEXT_LINES = 3


def render_diff(
    changes: Iterable[Change], old: Entries, new: Entries, read: ReadContent, max_bytes: int
) -> str:
    """Unified diff of the changes; binary and large files are named only, the end may be cut."""
    out: list[str] = []
    left = max_bytes
    for change in changes:
        for line in _one(change, old, new, read):
            left -= len(line.encode("utf-8", "replace"))
            if left < 0:
                return "".join(out) + f"… cut after {max_bytes} bytes\n"
            out.append(line)
    return "".join(out)


def _one(change: Change, old: Entries, new: Entries, read: ReadContent) -> Iterator[str]:
    before, after = old.get(change.path), new.get(change.path)
    was, now = _what(before), _what(after)
    said = {
        ChangeKind.ADDED: f" {now}",
        ChangeKind.REMOVED: f" {was}",
        ChangeKind.MODIFIED: "" if was == now else f" {was} to {now}",
    }[change.kind]
    name = shown_path(change.path)
    yield f"{change.kind}{said}: {name}\n"
    old_lines, new_lines = _lines(change.path, before, read), _lines(change.path, after, read)
    if old_lines is None or new_lines is None:
        yield "  (binary or large content not shown)\n"
    if old_lines is None or new_lines is None or old_lines == new_lines:
        return
    yield f"--- {'/dev/null' if before is None else 'a/' + name}\n"
    yield f"+++ {'/dev/null' if after is None else 'b/' + name}\n"
    for line in _hunks(old_lines, new_lines):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _what(stored: StoredFile | None) -> str:
    executable = stored is not None and stored.state.executable
    return "executable file" if executable else str(stored.state.kind) if stored else "nothing"


def _lines(path: str, stored: StoredFile | None, read: ReadContent) -> list[str] | None:
    """The text lines of a file or link; None when it is not to be shown."""
    if stored is None or stored.state.kind not in (FileKind.FILE, FileKind.LINK):
        return []
    data = read(stored, path) if stored.state.size <= _MAX_FILE_BYTES else b"\0"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    changed = len(old) + len(new) - 2 * _common_ends(old, new)
    if changed <= _MAX_COMPARED_LINES:
        diff = difflib.unified_diff(old, new, n=_CONTEXT_LINES)
        yield from islice(diff, 2, None)  # without the names
        return
    yield f"@@ -1,{len(old)} +1,{len(new)} @@\n"
    yield from ("-" + line for line in old)
    yield from ("+" + line for line in new)


def _common_ends(old: list[str], new: list[str]) -> int:
    """Number of lines that are the same at the start and at the end."""
    limit = min(len(old), len(new))
    start = next((i for i in range(limit) if old[i] != new[i]), limit)
    end = next((i for i in range(limit - start) if old[-1 - i] != new[-1 - i]), limit - start)
    return start + end


def shown_path(path: str) -> str:
    """A path that stays on one line and carries no control characters."""
    if path.isprintable():
        return path
    return '"' + path.encode("unicode_escape", "surrogatepass").decode("ascii") + '"'
