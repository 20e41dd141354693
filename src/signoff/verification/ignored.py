"""Ignored files as they lie on disk: no content of a snapshot, but a check may still obey them."""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

from signoff.domain.digests import digest_of
from signoff.domain.globs import has_wildcard, matches_any
from signoff.domain.snapshot import FileKind, FileState
from signoff.workspace.byproducts import DEPENDENCY_FOLDERS, DEPENDENCY_MARKS, LITTER_FOLDERS
from signoff.workspace.content import LARGE_BYTES, hash_large

LARGEST_READ_BYTES = 2_000_000
MOST_WALKED = 20_000
MOST_LOOSE = 2_000
ENVIRONMENT_FILES = ("pyvenv.cfg", "conda-meta/history")  # each makes its folder one
ENVIRONMENTS = frozenset(("node_modules", ".venv", "venv", ".tox", ".nox"))
BUILT = frozenset(("build", "dist", "target", "out", "bin", "obj", "_build", "public"))
_MADE = BUILT | LITTER_FOLDERS | {"generated", "__generated__", "coverage", ".next", ".gradle"}
# What a tool obeys wherever it finds it, in a folder of builds as well.
_CONFIGURES = ("conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", ".env*")
_CACHES = frozenset(
    ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".git")
)
_COMPILED = (".pyc", ".pyo")
_COMPILED_FOLDER = "__pycache__"
_PACKAGE_DATA = (".egg-info", ".dist-info")
_KINDS = {
    stat.S_IFREG: FileKind.FILE,
    stat.S_IFLNK: FileKind.LINK,
    stat.S_IFDIR: FileKind.DIRECTORY,
}


class Ignored:
    """Files that the ignore rules keep out of a snapshot, by the topmost paths that a walk met.

    Links are never followed, and nothing is looked at before a question needs it.
    """

    def __init__(self, root: Path, topmost: Collection[str] = ()):
        self._root = root
        self._topmost = frozenset(topmost)
        self._folders: dict[str, bool] = {}
        self._states: dict[str, FileState | None] = {}

    def state(self, path: str) -> FileState | None:
        """State of an ignored path; None for every other path."""
        if not self._topmost or self.topmost(path) is None:
            return None
        if path not in self._states:
            self._states[path] = self._look(path)
        return self._states[path]

    def read(self, path: str) -> bytes:
        """The bytes of a file, or the target of a link."""
        place = self.place(path)
        try:
            return os.fsencode(place.readlink())
        except OSError:
            return place.read_bytes()

    def named(self, pattern: str) -> list[str]:
        """Ignored files by their name: those ignored one by one, and data of packages."""
        if not has_wildcard(pattern):
            return self._by_name.get(pattern, [])
        return [
            path
            for name, paths in self._by_name.items()
            if fnmatchcase(name, pattern)
            for path in paths
        ]

    def in_folder(self, folder: str) -> list[str]:
        """The entries of a folder that is itself ignored, or lies in one that is."""
        if not self._topmost or self.topmost(folder) is None or not self._is_folder(folder):
            return []
        try:
            return sorted(posixpath.join(folder, p.name) for p in self.place(folder).iterdir())
        except OSError:
            return []

    def folders_in(self, folder: str) -> list[str]:
        """The ignored folders directly in a folder."""
        within = [p for p in self._topmost if posixpath.dirname(p) == folder]
        return [path for path in (*within, *self.in_folder(folder)) if self._is_folder(path)]

    def matching(self, globs: Collection[str]) -> dict[str, FileState]:
        """The ignored files under the globs, without caches and installed environments.

        An ignored folder is entered where a glob covers it or names a place above or below it.
        """
        found: dict[str, FileState] = {}
        if not globs:
            return found
        bases = [literal_base(glob) for glob in globs]
        for top in sorted(self._topmost):
            if self._is_folder(top):
                if matches_any(globs, top) or any(_related(base, top) for base in bases):
                    found.update(self._below(top, globs))
            elif matches_any(globs, top) and not top.endswith(_COMPILED):
                found.update(self.present((top,)))
        return found

    def loose(self) -> dict[str, FileState]:
        """Ignored files that no build or install made, by the folders they lie in.

        Of a folder of builds, only what configures tools wherever it lies. Where there are too
        many to compare, only that counts anywhere.
        """
        found: list[str] = []
        for top in sorted(self._topmost):
            if not self._is_folder(top):
                found.append(top)
            elif len(found) <= MOST_WALKED:
                found.extend(islice(self._walk_loose(top), MOST_WALKED))
        plain = [path for path in found if not path.endswith(_COMPILED)]
        kept = [p for p in plain if _MADE.isdisjoint(p.split("/")[:-1]) or configures(p)]
        if len(kept) > MOST_LOOSE:
            kept = [path for path in kept if configures(path)][:MOST_LOOSE]
        return self.present(path for path in kept if not self._is_large(path))

    def _is_large(self, path: str) -> bool:
        """True for data: no tool keeps its settings in this much."""
        if configures(path):
            return False
        try:
            return self.place(path).lstat().st_size > LARGEST_READ_BYTES
        except OSError:
            return False

    def environments(self) -> list[str]:
        """Virtual and conda environments: topmost folders, and folders directly in those."""
        tops = [top for top in sorted(self._topmost) if self._is_folder(top)]
        near = (p for top in tops for p in (top, *self.folders_in(top)))
        marked = (p for p in near if any(self.state(f"{p}/{file}") for file in ENVIRONMENT_FILES))
        return [*dict.fromkeys(marked)]

    def tree(self, path: str) -> dict[str, FileState]:
        """A file, or all files below a folder but compiled caches and packages within packages.

        Compiled Python beside its source counts: where the source is gone, it is the module.
        """
        if not self._topmost or self.topmost(path) is None:
            return {}
        if not self._is_folder(path):
            return self.present((path,))
        return self.present(islice(self._walk(path), MOST_WALKED))

    def caches(self, folder: str, *, below: bool) -> dict[str, str]:
        """Folders of compiled Python in a folder, or anywhere below it, by what lies in them."""
        if not self._topmost or self.topmost(folder) is None or not self._is_folder(folder):
            return {}
        found = [folder]
        if below:
            walked = os.walk(self.place(folder))
            found = [self._path(here) for here, names, _ in walked if _COMPILED_FOLDER in names]
        paths = (posixpath.join(path, _COMPILED_FOLDER) for path in found)
        held = ((path, self.present(self.in_folder(path) or (path,))) for path in paths)
        return {
            p: digest_of({n: s.sha256 for n, s in inside.items()}) for p, inside in held if inside
        }

    def _path(self, place: str | Path) -> str:
        return Path(place).relative_to(self._root).as_posix()

    def _walk_loose(self, top: str) -> Iterator[str]:
        skipped = _CACHES | ENVIRONMENTS | DEPENDENCY_FOLDERS
        if posixpath.basename(top) in skipped:
            return
        for folder, subfolders, names in os.walk(self.place(top)):
            if not DEPENDENCY_MARKS.isdisjoint((*names, *subfolders)):
                subfolders.clear()
                continue
            subfolders[:] = sorted(set(subfolders) - skipped)
            yield from (self._path(Path(folder, name)) for name in sorted(names))

    def _below(self, top: str, globs: Collection[str]) -> dict[str, FileState]:
        paths = self._walk(top)
        found: list[str] = []
        for walked, path in enumerate(paths):
            if walked == MOST_WALKED:
                # Whoever hides a file behind thousands of others is noticed by their number.
                more = FileState(FileKind.OTHER, executable=False, size=0, sha256="")
                return {**self.present(found), f"{top}/#more than {MOST_WALKED} files": more}
            if matches_any(globs, path) and not path.endswith(_COMPILED):
                found.append(path)
        return self.present(found)

    def _walk(self, top: str) -> Iterator[str]:
        skipped = _CACHES | ENVIRONMENTS
        if posixpath.basename(top) in skipped:
            return
        for folder, subfolders, names in os.walk(self.place(top)):
            subfolders[:] = sorted(set(subfolders) - skipped)
            here = Path(folder)
            links = (name for name in subfolders if (here / name).is_symlink())
            yield from (self._path(here / name) for name in sorted((*names, *links)))

    def topmost(self, path: str) -> str | None:
        """The ignored path that it lies at or below."""
        while path and path not in self._topmost:
            path = posixpath.dirname(path)
        return path or None

    def present(self, paths: Iterable[str]) -> dict[str, FileState]:
        """States of those paths that are ignored and exist."""
        states = ((path, self.state(path)) for path in paths)
        return {path: state for path, state in states if state is not None}

    def _look(self, path: str) -> FileState | None:
        if not self._is_folder(posixpath.dirname(path)):
            return None
        place = self.place(path)
        try:
            seen = place.lstat()
            kind = _KINDS.get(stat.S_IFMT(seen.st_mode), FileKind.OTHER)
            executable = kind is FileKind.FILE and bool(seen.st_mode & 0o111)
            return FileState(kind, executable, seen.st_size, _content_digest(place, kind, seen))
        except FileNotFoundError:
            return None
        except OSError as error:
            return FileState(FileKind.OTHER, False, 0, f"unreadable: {error.strerror}")

    def _is_folder(self, folder: str) -> bool:
        """True when a path leads to a folder without passing a link."""
        if not folder:
            return True
        if folder not in self._folders:
            try:
                real = stat.S_ISDIR(self.place(folder).lstat().st_mode)
            except OSError:
                real = False
            self._folders[folder] = real and self._is_folder(posixpath.dirname(folder))
        return self._folders[folder]

    def place(self, path: str) -> Path:
        """Path on disk."""
        return self._root / path

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for top in sorted(self._topmost):
            in_package = self.in_folder(top) if top.endswith(_PACKAGE_DATA) else ()
            for path in (top, *in_package):
                found.setdefault(posixpath.basename(path), []).append(path)
        return found


def digest_on_disk(path: Path, seen: os.stat_result) -> str:
    """The digest of a file, read once per process and version: it can be large."""
    signature = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
    return _sha256(path, signature)


@lru_cache(maxsize=4096)
def _sha256(path: Path, signature: tuple[int, ...]) -> str:
    del signature
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGE_BYTES:
            return hash_large(file.fileno(), size)[0].hex()
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content_digest(place: Path, kind: FileKind, seen: os.stat_result) -> str:
    if kind is FileKind.FILE:
        return digest_on_disk(place, seen)
    if kind is FileKind.LINK:
        return hashlib.sha256(os.fsencode(place.readlink())).hexdigest()
    return ""


def configures(path: str) -> bool:
    """True when a tool obeys a file of this name wherever it finds it."""
    name = posixpath.basename(path)
    return any(fnmatchcase(name, pattern) for pattern in _CONFIGURES)


def literal_base(glob: str) -> str:
    """The folders that a glob spells out before its first wildcard."""
    parts = glob.removeprefix("./").rstrip("/").split("/")
    spelled = next((i for i, part in enumerate(parts) if has_wildcard(part)), len(parts))
    return "/".join(parts[:spelled])


def _related(base: str, top: str) -> bool:
    return bool(base) and (f"{top}/".startswith(f"{base}/") or base.startswith(f"{top}/"))
