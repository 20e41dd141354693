"""A workspace and its snapshots: take, compare, read, restore, revert."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from signoff.domain.snapshot import Change, ChangeKind, Manifest, Snapshot
from signoff.errors import HomeUnsafe, StorageFailed, WorkspaceMissing
from signoff.workspace import writing
from signoff.workspace.caches import CacheKeeper
from signoff.workspace.fitting import write_out
from signoff.workspace.ignore import IgnoreRules
from signoff.workspace.objects import ObjectStore, replace_file
from signoff.workspace.records import (
    FilesByFolder,
    Folders,
    Times,
    changes_between,
    closed_to_owner,
    content_digest,
    encoded_entries,
    files_by_folder,
    folders_above,
    put_times,
    source_states,
    times_of,
)
from signoff.workspace.store import (
    SnapshotStore,
    StoredFile,
    load_stat_cache,
    render_diff,
    save_stat_cache,
    stat_cache_file,
    stored_by_folder,
)
from signoff.workspace.walk import Scan, Territory, scan

_KEPT_ANSWERS = 10
_T = TypeVar("_T")


class Workspace:
    """The folder an agent works in, seen by means the agent cannot touch.

    snapshot → walk (unchanged files by stat) → digest → store what is new. Not for several threads
    at once; several processes may share the store.
    """

    def __init__(
        self,
        root: Path,
        store: Path,
        rules: IgnoreRules | None = None,
        apart: frozenset[str] = frozenset(),
        protects: tuple[str, ...] = (),
    ):
        self.root = root.resolve()
        self.store = store.resolve()
        if self.store.is_relative_to(self.root):
            raise HomeUnsafe(f"snapshot store `{store}` lies inside the workspace `{root}`")
        self.rules = rules if rules is not None else IgnoreRules()
        self.apart = apart
        self.territory = Territory(self.root, self.rules, apart)
        self.protects = protects
        self._store = SnapshotStore(self.store)
        self._keeper = CacheKeeper(self.root, self.store, protects)
        self._byproduct_keeper = CacheKeeper(self.root, self.store, aside="-by-products")
        self._cache_file = stat_cache_file(self.store, self.root)
        self._set_back_note = self._cache_file.with_suffix(".set-back")
        self.landing_note = self._cache_file.with_suffix(".landing")
        self._known: Folders | None = None
        self._byproducts: tuple[str, ...] = ()
        self._caches: tuple[str, ...] = ()
        self._unsaved = 0
        self._limit_s: float | None = None
        self._last = Snapshot("", "", 0)
        self._latest: Snapshot | None = None
        self._saved: set[str] = set()
        self._made: dict[tuple[str, ...], Any] = {}

    def snapshot(self, *, quiet: bool = True, durable: bool = False) -> Snapshot:
        """Digest the content and keep it, so that it can be read, compared and restored.

        `quiet=False` while a process of the agent may be alive: what is read then is read again
        the next time, because such a process can change a mapped file without changing its times.
        `durable` for content that must outlast a power cut; the digest itself rests on no store.
        """
        taken = self._take(self._store.objects, quiet)
        if durable or taken.digest not in self._saved:
            assert self._known is not None
            self._store.save(taken.digest, self._known, durable=durable)
            self._saved.add(taken.digest)
        self._save_cache()
        self._latest = taken
        return taken

    @contextmanager
    def time_limit(self, limit_s: float) -> Iterator[None]:
        """Let no walk take longer than this; SnapshotTooSlow says that one would."""
        before, self._limit_s = self._limit_s, limit_s
        try:
            yield
        finally:
            self._limit_s = before

    def digest_now(self, *, quiet: bool = True) -> Snapshot:
        """Digest the workspace without keeping the content."""
        return self._take(None, quiet)

    def manifest(self, digest: str) -> Manifest:
        """Every source path of a snapshot with its state, sorted by path."""
        return self._once(("manifest", digest), lambda: self._manifest(digest))

    def _manifest(self, digest: str) -> Manifest:
        if digest == self._last.digest and self._known is not None:
            return MappingProxyType(dict(sorted(source_states(self._known.values()))))
        return MappingProxyType({path: f.state for path, f in self._entries(digest).items()})

    def content(self, digest: str) -> FilesByFolder:
        """Content of a snapshot by folder, with the workspace's times where it has them.

        Times and by-products are as of the latest walk: who needs them fresh walks first.
        """
        if self._known is None:
            self.digest_now()
        assert self._known is not None
        if digest == self._last.digest:
            return files_by_folder(self._known)
        return stored_by_folder(self._entries(digest), self._known)

    def content_with(self, digest: str, earlier: str, paths: Collection[str]) -> FilesByFolder:
        """Content of a snapshot, with these paths as they were in an earlier one."""
        entries, before = dict(self._entries(digest)), self._entries(earlier)
        for path in paths:
            for taken in [p for p in entries if p == path or p.startswith(f"{path}/")]:
                del entries[taken]
        for path in paths:
            if path in before:
                for above in folders_above(path):
                    entries.pop(above, None)
                entries[path] = before[path]
        return stored_by_folder(dict(sorted(entries.items())), self._known or {})

    @contextmanager
    def set_back(
        self,
        earlier: str,
        paths: Collection[str],
        times: Mapping[str, int] = MappingProxyType({}),
    ) -> Iterator[Snapshot]:
        """Set these paths back to an earlier snapshot, and files to these times, for a while.

        What stood there is put back at the end; if this process dies, by `put_forward` of the next
        one that holds the workspace.
        """
        now = self.snapshot(durable=True).digest
        left = {path: t.modified_ns for path, t in self.times().items() if path in times}
        note = json.dumps({"digest": now, "paths": sorted(paths), "times": left})
        replace_file(self._set_back_note, note.encode("utf-8", "surrogatepass"), durable=True)
        try:
            self.revert(earlier, set(paths))
            put_times(self.root, times)
            yield self.snapshot()
        finally:
            self.put_forward()

    @contextmanager
    def without_byproducts(self, paths: Collection[str]) -> Iterator[None]:
        """Keep these ignored files out of the workspace for a while; a kill loses none of them."""
        try:
            with self._byproduct_keeper.aside(tuple(paths)):
                yield
        finally:
            self._latest = None

    def put_forward(self) -> tuple[Change, ...]:
        """Undo a `set_back` that is over, or whose process died; who calls holds the workspace."""
        try:
            note = json.loads(self._set_back_note.read_bytes())
        except FileNotFoundError:
            return ()
        except ValueError:
            note = None  # died while writing it, before anything was set back
        changes = () if note is None else self.revert(note["digest"], set(note["paths"]))
        put_times(self.root, (note or {}).get("times", {}))
        self._set_back_note.unlink(missing_ok=True)
        return changes

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders with sources that the latest walk met."""
        return tuple(self._known or ())

    def times(self) -> dict[str, Times]:
        """Times of the source files that the latest walk met."""
        return times_of(self._known or {})

    @property
    def closed(self) -> list[str]:
        """Source files and folders of the latest walk that their own owner may not read."""
        return closed_to_owner(self.root, self._known or {}) if os.geteuid() == 0 else []

    @property
    def byproducts(self) -> tuple[str, ...]:
        """The topmost ignored paths that the latest walk met."""
        if self._known is None:
            self.digest_now()
        return self._byproducts

    @property
    def last_digest(self) -> str:
        """The content that the latest walk found; empty before the first."""
        return self._last.digest

    @property
    def latest(self) -> Snapshot | None:
        """The latest snapshot; None once this object wrote or moved anything, or looked again."""
        return self._latest

    def still(self, taken: Snapshot | None) -> Snapshot | None:
        """The snapshot if it is that one, and not merely equal to it."""
        return taken if taken is self._latest else None

    @property
    def objects(self) -> ObjectStore:
        """Store of the content of kept snapshots."""
        return self._store.objects

    def read(self, digest: str, path: str) -> bytes:
        """The content of a file (for a symlink, its target) as it was in the snapshot."""
        stored = self._entries(digest).get(path)
        if stored is None or not stored.blob.strip(b"\0"):
            raise StorageFailed(
                f"`{path}` is not a file of snapshot `{digest[:12]}`",
                hint="signoff diff PLAN names the files of a plan's snapshots",
                facts={"path": path, "digest": digest},
            )
        return writing.checked_content(self._store.objects, stored, path)

    def restore(self, digest: str, into: Path) -> None:
        """Recreate the source files in an empty folder, which is made if it is not there."""
        content = stored_by_folder(self._entries(digest), {})
        try:
            into.mkdir(parents=True, exist_ok=True)
            occupied = next(into.iterdir(), None)
        except OSError as error:
            raise WorkspaceMissing(
                f"`{into}` cannot be used as a folder: {error.strerror}"
            ) from error
        if occupied is not None:
            raise StorageFailed(
                f"`{into}` is not empty; it holds `{occupied.name}`",
                hint="name an empty folder to restore into",
            )
        write_out(content, self._store.objects, into.resolve())

    def revert(self, digest: str, only: Collection[str] | None = None) -> tuple[Change, ...]:
        """Make the source files (or `only` these) equal to the snapshot; returns what was undone.

        What stands in their place goes, whatever it is; other by-products stay, and so does a
        folder that holds some. One path that cannot be put back does not keep the others from it:
        the error comes at the end and names them all.
        """
        target = self._entries(digest)
        self._take(None, quiet=True)
        # Left behind, they would keep folders of the agent's alive.
        self.remove_caches()
        assert self._known is not None
        current = dict(source_states(self._known.values()))
        changes = changes_between({path: f.state for path, f in target.items()}, current)
        if only is not None:
            changes = tuple(c for c in changes if c.path in only)
        refused = writing.remove_entries(
            [c.path for c in changes if c.kind is ChangeKind.ADDED], self.root
        )
        wanted = {c.path: target[c.path] for c in changes if c.kind is not ChangeKind.ADDED}
        refused |= writing.replace_entries(self._store.objects, wanted, self.root)
        if refused:
            raise writing.not_put_back(refused)
        return changes

    def diff(self, old: str, new: str) -> tuple[Change, ...]:
        """The paths that differ, sorted."""
        return self._once(("diff", old, new), lambda: self._diff(old, new)) if old != new else ()

    def _diff(self, old: str, new: str) -> tuple[Change, ...]:
        records = self._store.folder_records
        before, after = (self._once(("records", d), partial(records, d)) for d in (old, new))
        moved = [p for p in before.keys() | after.keys() if before.get(p) != after.get(p)]
        return changes_between(self._rows(before, moved), self._rows(after, moved))

    def changed_texts(
        self, old: str, new: str, *, max_bytes: int = 1_000_000
    ) -> tuple[dict[str, str], dict[str, str]]:
        """The files that differ, as text before and after; large and binary ones are left out."""
        changed = [change.path for change in self.diff(old, new)]

        def texts(digest: str) -> dict[str, str]:
            entries = self._entries(digest)
            found = {path: entries[path] for path in changed if path in entries}
            small = {p: f for p, f in found.items() if 0 < f.state.size <= max_bytes}
            data = {p: writing.checked_content(self._store.objects, f, p) for p, f in small.items()}
            return {p: d.decode("utf-8", "replace") for p, d in data.items() if b"\0" not in d}

        return texts(old), texts(new)

    def text_diff(self, old: str, new: str, *, max_bytes: int = 200_000) -> str:
        """Unified diff; binary and large files are named only, and the whole is capped."""

        read = partial(writing.checked_content, self._store.objects)
        before, after = self._entries(old), self._entries(new)
        return render_diff(self.diff(old, new), before, after, read, max_bytes)

    def remove_caches(self) -> int:
        """Remove compiled caches that the latest walk met, except those that are a person's."""
        if self._known is None:
            self.digest_now()
        if not self._caches:
            return 0
        kept = self._keeper.kept(self._caches)
        met, self._caches = self._caches, tuple(p for p in self._caches if p in kept)
        return self._keeper.remove(path for path in met if path not in kept)

    def remember_caches(self) -> None:
        """Keep the compiled caches that the latest walk met from being removed later."""
        self._keeper.remember(self._caches)

    @contextmanager
    def without_caches(self, also: Collection[str] = ()) -> Iterator[None]:
        """Keep compiled caches, `also` these of by-products, away: no verdict rests on one."""
        self.remove_caches()
        moved = (*self._caches, *also)
        try:
            with self._keeper.aside(moved):
                yield
        finally:
            self._latest = None if moved else self._latest

    def _take(self, store: ObjectStore | None, quiet: bool) -> Snapshot:
        if self._known is None:
            self._known = load_stat_cache(self._cache_file)
        # Before the first walk, what is known comes from a process that may have had other rules.
        walked = bool(self._last.digest)
        self._latest = None
        found = scan(self.territory, self._known, store, quiet, walked, self._limit_s)
        self._last = self._summary(found)
        self._known = found.folders
        self._byproducts = found.byproducts
        self._caches = found.caches
        self._unsaved += found.fresh
        return self._last

    def _summary(self, found: Scan) -> Snapshot:
        """The snapshot of a walk; as before when every folder is the same object as before."""
        assert self._known is not None
        same = found.folders.keys() == self._known.keys() and all(
            folder is self._known[path] for path, folder in found.folders.items()
        )
        if same and self._last.digest:
            return Snapshot(self._last.digest, found.environment, self._last.files)
        entries = list(encoded_entries(found.folders.values()))
        return Snapshot(content_digest(entries), found.environment, len(entries))

    def _save_cache(self) -> None:
        """Write the stat cache once enough was learnt: reading a few files again is cheaper."""
        assert self._known is not None
        if self._unsaved > 64 + self._last.files // 50:
            save_stat_cache(self._cache_file, self._known)
            self._unsaved = 0

    def _entries(self, digest: str) -> dict[str, StoredFile]:
        return self._once(("entries", digest), lambda: self._store.load(digest))

    def _once(self, question: tuple[str, ...], answer: Callable[[], _T]) -> _T:
        """The answer to a question about snapshots, kept: what a digest names never changes."""
        found: _T = self._made.pop(question) if question in self._made else answer()
        self._made[question] = found
        while len(self._made) > _KEPT_ANSWERS:
            del self._made[next(iter(self._made))]
        return found

    def _rows(self, records: dict[str, bytes], folders: Iterable[str]) -> dict[str, list[Any]]:
        return {
            path: row
            for folder in folders
            if folder in records
            for path, row in self._store.folder_rows(folder, records[folder])
        }
