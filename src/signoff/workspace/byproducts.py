"""Files that are no work: by-products, and how a clean room gets them; litter of tools."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from signoff.domain.globs import matches_any
from signoff.domain.snapshot import Change, ChangeKind, FileKind, Manifest
from signoff.errors import RoomTooDear
from signoff.workspace.folders import opened_root, opened_strictly
from signoff.workspace.records import StatKey, stat_key
from signoff.workspace.walk import is_cache

# Installed once and only read afterwards, by name or by what lies in them. Everything else that is
# ignored may be written by a contract (build folders, reports), so it needs a copy.
DEPENDENCY_FOLDERS = frozenset(
    (
        *("node_modules", "bower_components", "vendor", "Pods", "site-packages"),
        *("__pypackages__", ".yarn", ".pnpm-store"),
    )
)
DEPENDENCY_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})


def is_dependency(folder: Path) -> bool:
    """True for a folder that an install fills, and that is only read afterwards."""
    marked = any((folder / mark).exists() for mark in DEPENDENCY_MARKS)
    return folder.name in DEPENDENCY_FOLDERS or marked


class Byproducts(Struct, frozen=True):
    """Source of by-products: the workspace, or a folder that the set-up command filled."""

    root: Path
    paths: tuple[str, ...]


class RoomLimits(Struct, frozen=True):
    """Upper limits of a clean room; a larger one takes too long to make."""

    files: int = 200_000
    mb: int = 512
    """Sources: a room is made once per run and kept. Within these that takes some seconds on an
    ordinary disk; beyond them longer than most contracts."""

    copied_files: int = 5_000
    copied_mb: int = 256
    """By-products: copied again whenever the contract before, or the agent, changed them."""

    depth: int = 200
    """Each folder is reached from the top, step by step, so that no link is followed on the way."""


class Survey(Struct):
    """The by-products of a workspace, and what is apart, as a clean room is to have them.

    `shared` and `apart` are to be bound read-only from where they are. `copied` are the topmost
    paths of which `folders` and `copies` say in full what is to be copied.
    """

    shared: list[str] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)
    apart_files: set[str] = field(default_factory=set)
    copied: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    copies: dict[str, StatKey] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def survey(
    root_fd: int,
    byproducts: Iterable[str],
    apart: Iterable[str],
    limits: RoomLimits,
    without: frozenset[str] = frozenset(),
    apart_fd: int | None = None,
    own: tuple[str, ...] = (),
) -> Survey:
    """Look at every by-product and all that is apart; RoomTooDear when there is much to copy.

    `without` are by-products that the room is not to have, `own` globs of those that it gets a copy
    of although they are dependencies or large. `apart_fd` is the workspace, where the by-products
    lie elsewhere.
    """
    surveyor = _Surveyor(root_fd, limits, without, own)
    surveyor.look_apart(apart, root_fd if apart_fd is None else apart_fd)
    for path in sorted(byproducts):
        surveyor.look_at(path)
    return surveyor.found


def too_large_to_copy(
    root: Path, byproducts: Iterable[str], apart: Iterable[str]
) -> tuple[str, ...]:
    """Paths that a copy of the workspace links: dependencies, what is apart; all, if it is much."""
    everything = (*byproducts, *apart)
    try:
        with opened_root(root) as root_fd:
            found = survey(root_fd, byproducts, apart, RoomLimits())
    except RoomTooDear:
        return everything
    return (*found.shared, *found.apart)


class _Surveyor:
    """look_at: a file or link is to be copied; a folder { shared whole? else what is in it }."""

    def __init__(
        self, root_fd: int, limits: RoomLimits, without: frozenset[str], own: tuple[str, ...]
    ):
        self._root_fd = root_fd
        self._without = without
        self._own = own
        self._limits = limits
        self.found = Survey()
        self._bytes = 0
        self._own_entries = 0

    def look_apart(self, paths: Iterable[str], fd: int) -> None:
        """Vault, plan file and `.git`, as far as they are there."""
        for path in sorted({".git", *(p.strip("/") for p in paths)}):
            seen = _lstat(fd, path)
            if seen is None or any(path.startswith(f"{above}/") for above in self.found.apart):
                continue
            if stat.S_ISLNK(seen.st_mode) and fd != self._root_fd:
                self.found.left_out.append(path)
            elif stat.S_ISLNK(seen.st_mode):
                # Bound, it would be followed to wherever the agent made it point.
                self._add(path, seen, path)
                self.found.copied.append(path)
            elif stat.S_ISDIR(seen.st_mode) or stat.S_ISREG(seen.st_mode):
                self.found.apart.append(path)
                if stat.S_ISREG(seen.st_mode):
                    self.found.apart_files.add(path)

    def look_at(self, top: str) -> None:
        """One topmost by-product."""
        seen = _lstat(self._root_fd, top)
        if seen is None or top in self._without:
            return
        if not stat.S_ISDIR(seen.st_mode):
            self._add(top, seen, top)
        else:
            pending = [top]
            while pending:
                pending.extend(self._list(pending.pop(), top))
        if top in self.found.copies or top in self.found.folders:
            self.found.copied.append(top)

    def _list(self, path: str, top: str) -> list[str]:
        """Take in one folder of a by-product; the folders in it that are to be looked at."""
        if path.count("/") > self._limits.depth:
            raise _too_dear(f"more than {self._limits.depth} levels of folders", top)
        try:
            with opened_strictly(self._root_fd, path) as fd, os.scandir(fd) as entries:
                return self._take_in(path, list(entries), top)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except PermissionError:
            self.found.left_out.append(path)
            return []

    def _take_in(self, path: str, entries: list[os.DirEntry[str]], top: str) -> list[str]:
        is_own = matches_any(self._own, path)
        if not is_own and holds_dependencies(path, {entry.name for entry in entries}):
            self.found.shared.append(path)
            return []
        self.found.folders.append(path)
        self._own_entries += is_own
        below: list[str] = []
        for entry in entries:
            inside = f"{path}/{entry.name}"
            is_dir = entry.is_dir(follow_symlinks=False)
            if inside in self.found.apart or inside in self._without or is_cache(entry, is_dir):
                continue
            if is_dir:
                below.append(inside)
            else:
                with suppress(FileNotFoundError):
                    self._add(inside, entry.stat(follow_symlinks=False), top)
        self._check(top)
        return below

    def _add(self, path: str, seen: os.stat_result, top: str) -> None:
        if not (stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode)):
            self.found.left_out.append(path)
            return
        self.found.copies[path] = stat_key(seen)
        if matches_any(self._own, path):
            self._own_entries += 1
        else:
            self._bytes += seen.st_size
        self._check(top)

    def _check(self, top: str) -> None:
        """Folders cost as much as files; what somebody asked for may cost what sources may."""
        limits = self._limits
        if self._own_entries > limits.files:
            raise _too_dear(f"more than {limits.files:,} files and folders", top)
        others = len(self.found.copies) + len(self.found.folders) - self._own_entries
        if others > limits.copied_files:
            raise _too_dear(f"more than {limits.copied_files:,} files and folders", top)
        if self._bytes >> 20 >= limits.copied_mb:
            raise _too_dear(f"{limits.copied_mb:,} MB or more", top)


def _lstat(root_fd: int, path: str) -> os.stat_result | None:
    """State of the path; None where there is nothing, or a link would have to be followed."""
    above, _, name = path.rpartition("/")
    try:
        with opened_strictly(root_fd, above) as fd:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None


def holds_dependencies(path: str, names: set[str]) -> bool:
    """True when the folder was installed and is only read afterwards."""
    return path.rpartition("/")[2] in DEPENDENCY_FOLDERS or not names.isdisjoint(DEPENDENCY_MARKS)


def _too_dear(much: str, top: str) -> RoomTooDear:
    return RoomTooDear(
        f"a clean room would have to copy {much} of by-products; `{top}` is one of them",
        facts={"path": top},
    )


LITTER_FOLDERS = frozenset(
    {".benchmarks", "htmlcov", ".nyc_output", ".tox", ".nox", ".turbo", ".phpunit.cache"}
)
LITTER_FILES = frozenset({".coverage", ".eslintcache", ".stylelintcache", ".phpunit.result.cache"})
_PARALLEL_COVERAGE = ".coverage."  # one data file per process


def litter_of(path: str) -> str | None:
    """The topmost folder or file of litter that the path belongs to; None when it is none."""
    names = path.split("/")
    for depth, name in enumerate(names, start=1):
        is_file = name in LITTER_FILES or name.startswith(_PARALLEL_COVERAGE)
        if name in LITTER_FOLDERS or (depth == len(names) and is_file):
            return "/".join(names[:depth])
    return None


def without_litter(
    changes: Sequence[Change], before: Manifest, after: Manifest
) -> tuple[Change, ...]:
    """The changes that are more than empty folders that came, and litter where there was none."""
    added = [c.path for c in changes if c.kind is ChangeKind.ADDED]
    fresh = {root for path in added if (root := litter_of(path)) and not _held(before, root)}

    def is_litter(change: Change) -> bool:
        if change.kind is ChangeKind.ADDED:
            is_folder = after[change.path].kind is FileKind.DIRECTORY
            return is_folder or litter_of(change.path) in fresh
        was_empty = before[change.path].kind is FileKind.DIRECTORY
        # It is still there: what came into it is told by itself.
        return was_empty and any(path.startswith(f"{change.path}/") for path in added)

    return tuple(change for change in changes if not is_litter(change))


def _held(before: Manifest, root: str) -> bool:
    """True when there was anything of it but an empty folder."""
    there = before.get(root)
    if there is not None:
        return there.kind is not FileKind.DIRECTORY
    return any(path.startswith(f"{root}/") for path in before)
