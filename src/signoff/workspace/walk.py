"""Our own walk over a workspace: what is source, what is a by-product, what is neither."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.errors import SnapshotTooSlow, StorageFailed
from signoff.workspace.content import read_entry
from signoff.workspace.folders import (
    MAX_PATH_CHARS,
    is_same_folder,
    open_folder,
    open_folder_strictly,
    opened_root,
    unreadable,
)
from signoff.workspace.ignore import IgnoreRules
from signoff.workspace.objects import ObjectStore
from signoff.workspace.records import FileRecord, Folder, Folders, stat_key

CACHE_FOLDERS = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
)
CACHE_SUFFIXES = (".pyc", ".pyo")


class Territory(Struct, frozen=True, dict=True):
    """Extent of a workspace, and the way its paths are told apart.

    `apart` are paths with digests of their own (vault, plan file); the root's `.git` always is.
    """

    root: Path
    rules: IgnoreRules
    apart: frozenset[str]

    @cached_property
    def apart_by_folder(self) -> dict[str, frozenset[str]]:
        """Per folder, the names in it that are apart."""
        grouped: dict[str, set[str]] = {"": {".git"}}
        for path in self.apart:
            folder, _, name = path.strip("/").rpartition("/")
            grouped.setdefault(folder, set()).add(name)
        return {folder: frozenset(names) for folder, names in grouped.items()}


class Scan(Struct, frozen=True):
    """The outcome of one walk."""

    folders: Folders
    environment: str
    fresh: int
    """Number of entries that had to be read: nothing reliable was known about them."""
    byproducts: tuple[str, ...]
    """The topmost paths that fall under the ignore rules."""
    caches: tuple[str, ...]
    """Compiled caches outside by-products, folders and files, which are no part of the content."""


def scan(
    territory: Territory,
    known: Folders,
    store: ObjectStore | None,
    quiet: bool,
    same_rules: bool = False,
    limit_s: float | None = None,
) -> Scan:
    """Walk the workspace, reading only what changed; store content as it is read, given a store.

    `quiet` says that no process of an agent is alive. Without it nothing read is taken as settled,
    because a live memory mapping can change a file and leave its times alone. `same_rules` says
    that `known` comes from a walk of the same territory: a file that has not changed is a source
    then without being asked about. SnapshotTooSlow when it takes longer than `limit_s`.
    """
    with opened_root(territory.root) as root_fd:
        return _Walk(territory, known, store, quiet, same_rules, root_fd, limit_s).run()


class _Walk:
    """run: for each folder { list → classify → read what changed } → environment digest."""

    def __init__(
        self,
        territory: Territory,
        known: Folders,
        store: ObjectStore | None,
        quiet: bool,
        same_rules: bool,
        root_fd: int,
        limit_s: float | None,
    ):
        self._limit_s = limit_s
        self._ends_at = None if limit_s is None else time.monotonic() + limit_s
        self._rules = territory.rules
        self._apart = territory.apart_by_folder
        self._known = known
        self._same_rules = same_rules
        self._store = store
        self._stored = None if store is None else store.known()
        # Taken before anything is looked at, so that it errs towards reading again.
        self._settled_before_ns = time.time_ns() if quiet else 0
        self._root_fd = root_fd
        self._folders: Folders = {}
        self._byproducts: list[str] = []
        self._byproduct_folders: list[str] = []
        self._caches: list[str] = []
        self._listed: dict[str, int] = {}
        self._fresh = 0

    def run(self) -> Scan:
        self._visit("", None)
        pending = [("", name) for name in self._folders[""].subfolders]
        while pending:
            above, name = pending.pop()
            path = f"{above}/{name}" if above else name
            if self._visit(path, self._folders[above]):
                pending.extend((path, below) for below in self._folders[path].subfolders)
        environment = _environment_digest(
            self._root_fd, self._byproducts, self._byproduct_folders, self._tick
        )
        byproducts = (*self._byproducts, *self._byproduct_folders)
        return Scan(self._folders, environment, self._fresh, byproducts, tuple(self._caches))

    def _visit(self, path: str, above: Folder | None) -> bool:
        """Record one folder; False when it vanished since its parent was listed."""
        check_depth(path)
        self._tick()
        try:
            fd = open_folder(self._root_fd, path)
        except (FileNotFoundError, NotADirectoryError):
            self._forget(path, above)
            return False
        except OSError as error:
            raise unreadable(path, error) from error
        try:
            if above is not None and not self._is_listed_one(fd, path):
                self._forget(path, above)
                return False
            self._folders[path] = self._list(path, fd)
        except OSError as error:
            raise unreadable(path or ".", error) from error
        finally:
            os.close(fd)
        return True

    def _tick(self) -> None:
        if self._ends_at is not None and time.monotonic() > self._ends_at:
            raise SnapshotTooSlow(
                f"reading all files of the workspace took longer than {self._limit_s:g} s"
            )

    def _is_listed_one(self, fd: int, path: str) -> bool:
        """True when the opened folder is the one its parent listed, not one behind a swapped link.

        The listing shows another inode where something is mounted, so ask once more then.
        """
        if os.fstat(fd).st_ino == self._listed.pop(path):
            return True
        above_path, _, name = path.rpartition("/")
        try:
            above = open_folder_strictly(self._root_fd, above_path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            return is_same_folder(fd, os.stat(name, dir_fd=above, follow_symlinks=False))
        except FileNotFoundError:
            return False
        finally:
            os.close(above)

    def _forget(self, path: str, above: Folder | None) -> None:
        """Take a vanished folder out of its parent, which may be shared with earlier walks."""
        if above is not None:
            kept = above.subfolders - {path.rpartition("/")[2]}
            self._folders[above.path] = replace(above, subfolders=kept)

    def _list(self, path: str, fd: int) -> Folder:
        before = self._known.get(path)
        known = before.files if before is not None else {}
        same_rules = self._same_rules
        apart = self._apart.get(path, frozenset())
        ignored = self._rules.test_for(path)
        prefix = f"{path}/" if path else ""
        files: dict[str, FileRecord] = {}
        folder = Folder(path, files, set(), holds_others=False)
        stored = self._stored
        with os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                record = known.get(name)
                if record is not None:
                    try:
                        seen = stat_key(entry.stat(follow_symlinks=False))
                    except OSError:
                        seen = None  # left to reading
                    same = record.key == seen and record.settled
                    if not same or (stored is not None and record.blob not in stored):
                        record = None
                    elif same_rules:
                        files[name] = record
                        continue
                is_dir = entry.is_dir(follow_symlinks=False)
                if name in apart:
                    folder.holds_others = True
                elif is_cache(entry, is_dir):
                    self._caches.append(prefix + name)
                elif ignored is not None and ignored(name, is_dir):
                    folder.holds_others = True
                    (self._byproduct_folders if is_dir else self._byproducts).append(prefix + name)
                elif is_dir:
                    self._listed[prefix + name] = entry.inode()
                    folder.subfolders.add(name)
                elif record is not None or (record := self._read(fd, prefix, name)) is not None:
                    files[name] = record
        return folder if before is None else _reused(before, folder)

    def _read(self, fd: int, prefix: str, name: str) -> FileRecord | None:
        """The record of an entry that is no folder; None when it vanished."""
        self._fresh += 1
        self._tick()
        path = prefix + name
        try:
            return read_entry(fd, name, path, self._settled_before_ns, self._store, self._tick)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable(path, error) from error


def _reused(before: Folder, now: Folder) -> Folder:
    """The folder object of the walk before, if the folder still holds the same."""
    if (
        before.subfolders != now.subfolders
        or before.holds_others != now.holds_others
        or before.files.keys() != now.files.keys()
    ):
        return now
    if before.files != now.files:
        if not all(r.same_content(before.files[name]) for name, r in now.files.items()):
            return now
        before.files = now.files
    return before


def is_cache(entry: os.DirEntry[str], is_dir: bool) -> bool:
    """True for a compiled cache: a real folder or file, so that it can be removed as one."""
    if is_dir:
        return entry.name in CACHE_FOLDERS
    return entry.name.endswith(CACHE_SUFFIXES) and entry.is_file(follow_symlinks=False)


def check_depth(path: str) -> None:
    """Refuse a tree that nests so deeply that walking it would not end in reasonable time."""
    if len(path) > MAX_PATH_CHARS:
        raise StorageFailed(
            f"folders nest too deeply: `{path[:60]}…` has a path of {len(path)} characters",
            hint=f"remove the folder; paths may have {MAX_PATH_CHARS} characters",
            facts={"path": path.partition("/")[0]},
        )


def byproduct_digests(
    root: Path, paths: Iterable[str], *, with_caches: bool = True
) -> dict[str, str]:
    """Digest of each topmost by-product: stat's data of it and of everything in it."""
    found: dict[str, str] = {}
    with opened_root(root) as root_fd:
        for path in paths:
            with suppress(FileNotFoundError):
                seen = os.stat(path, dir_fd=root_fd, follow_symlinks=False)
                is_dir = stat.S_ISDIR(seen.st_mode)
                files, folders = ((), (path,)) if is_dir else ((path,), ())
                found[path] = _environment_digest(
                    root_fd, files, folders, lambda: None, with_caches
                )
    return found


def _environment_digest(
    root_fd: int,
    files: Iterable[str],
    folders: Iterable[str],
    tick: Callable[[], None],
    with_caches: bool = True,
) -> str:
    """sha256 over what stat says of every by-product: sizes, times and modes, not content.

    The change time is part of it because the modification time can be put back.
    """
    lines: list[str] = []
    for path in files:
        with suppress(FileNotFoundError):
            seen = os.stat(path, dir_fd=root_fd, follow_symlinks=False)
            lines.append(_environment_line(path, seen))
    pending = list(folders)
    while pending:
        path = pending.pop()
        check_depth(path)
        tick()
        try:
            pending.extend(_list_byproducts(root_fd, path, lines, with_caches))
        except FileNotFoundError:
            continue
        except OSError as error:
            # A by-product that cannot be looked at is still a fact about the environment.
            lines.append(f"{path}\0{error.errno}\n")
    lines.sort()
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _list_byproducts(root_fd: int, path: str, lines: list[str], with_caches: bool) -> list[str]:
    """Add a line for everything directly in a by-product folder; the folders below it."""
    below: list[str] = []
    prefix = f"{path}/"
    fd = open_folder(root_fd, path)
    try:
        lines.append(_environment_line(prefix, None))
        with os.scandir(fd) as entries:
            for entry in entries:
                is_dir = entry.is_dir(follow_symlinks=False)
                if not with_caches and is_cache(entry, is_dir):
                    continue
                if is_dir:
                    below.append(prefix + entry.name)
                    continue
                with suppress(FileNotFoundError):
                    seen = entry.stat(follow_symlinks=False)
                    lines.append(_environment_line(prefix + entry.name, seen))
    finally:
        os.close(fd)
    return below


def _environment_line(path: str, s: os.stat_result | None) -> str:
    """Injective: a path holds no NUL, what follows it no line break."""
    if s is None:
        return f"{path}\0\n"
    return f"{path}\0{s.st_mode} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns}\n"
