"""The files below one root, and which of them are meant by the paths that were named."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from signoff.workspace.folders import open_regular

T = TypeVar("T")
LARGEST_READ = 64_000_000  # above this nothing is read, whoever asks
MOST_FILES = 50_000
# Version control, vaults, dependencies and virtual environments are nobody's artifact.
_SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".harness", "node_modules", "__pycache__", ".venv", "venv", ".tox"}
)


class FileTree:
    """A read-only view of the files below one root, at one moment.

    Paths are relative to the root and written with `/`; the root itself is `""`. Links inside the
    root are followed; nothing outside of it exists. `written` are files as writes would leave them.
    """

    def __init__(self, root: Path, written: Mapping[str, bytes] | None = None):
        self.root = root
        self._real = os.path.realpath(root)
        self._written = {clean_path(path): content for path, content in (written or {}).items()}
        self._recalled: dict[tuple[str, str], Any] = {}

    def size(self, path: str) -> int | None:
        """The bytes of a regular file; None when there is none."""
        written = self._written.get(clean_path(path))
        if written is not None:
            return len(written)
        mode, size = self.recall("stat", path, lambda: self._mode_and_size(path))
        return size if stat.S_ISREG(mode) else None

    def is_folder(self, path: str) -> bool:
        if any(file.startswith(f"{clean_path(path)}/") for file in self._written):
            return True
        return stat.S_ISDIR(self.recall("stat", path, lambda: self._mode_and_size(path))[0])

    def exists(self, path: str) -> bool:
        return self.size(path) is not None or self.is_folder(path)

    def is_link(self, path: str) -> bool:
        """True for a symbolic link: its target is looked at in its own place."""
        return Path(f"{self._real}/{path}").is_symlink()

    def read(self, path: str) -> bytes | None:
        """The content of a regular file; None when it cannot be read or is larger than allowed."""
        written, real = self._written.get(clean_path(path)), self._inside(path)
        if written is not None or real is None:
            return written
        try:
            # Resolved before; a link put there since then is refused, and no pipe is waited for.
            with open_regular(real) as file:
                content = file.read(LARGEST_READ + 1)
        except (OSError, ValueError):
            return None
        return content if len(content) <= LARGEST_READ else None

    def list(self, folder: str) -> tuple[str, ...]:
        """The names in a folder, sorted; none when it is no folder."""
        real, prefix = self._inside(folder), f"{clean_path(folder)}/".lstrip("/")
        below = (path.removeprefix(prefix) for path in self._written if path.startswith(prefix))
        names = {path.partition("/")[0] for path in below}
        with suppress(OSError, ValueError):
            names |= {place.name for place in Path(real).iterdir()} if real else set()
        return tuple(sorted(names))

    def recall(self, what: str, path: str, make: Callable[[], T]) -> T:
        """`make()`, worked out once for this view: many pages link to the same one."""
        key = (what, path)
        if key not in self._recalled:
            self._recalled[key] = make()
        found: T = self._recalled[key]
        return found

    def _mode_and_size(self, path: str) -> tuple[int, int]:
        """Mode and size as `stat` tells them; zeros for what is not there."""
        try:
            found = Path(self._inside(path) or "\0").lstat()
        except (OSError, ValueError):
            return 0, 0
        return found.st_mode, found.st_size

    def _inside(self, path: str) -> str | None:
        """The real place of a path, if that is below the real root."""
        if "\0" in path or path.startswith("/"):
            return None
        try:
            real = os.path.realpath(f"{self._real}/{path}")
        except (OSError, ValueError):
            return None
        below = real == self._real or real.startswith(self._real.rstrip("/") + "/")
        return real if below else None


def clean_path(path: str) -> str:
    """The path without detours; the root is `""`."""
    clean = posixpath.normpath(path)
    return "" if clean == "." else clean


class Walked(Struct, frozen=True):
    """Files to check, each once; folders left out; named paths that are not there."""

    files: tuple[str, ...]
    skipped_folders: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cut_off: bool = False


def walk(tree: FileTree, paths: Sequence[str]) -> Walked:
    """Find the files; a folder that is named itself is walked, whatever its name."""
    files: dict[str, None] = {}
    skipped: dict[str, None] = {}
    missing = [path for path in paths if not tree.exists(path)]
    for path in (path for path in paths if path not in missing):
        for file in _below(tree, path, skipped):
            if len(files) >= MOST_FILES:
                return Walked(tuple(files), tuple(skipped), tuple(missing), cut_off=True)
            files[file] = None
    return Walked(tuple(files), tuple(skipped), tuple(missing))


def is_left_out(tree: FileTree, folder: str) -> bool:
    """True when a folder is walked past unless it is named itself."""
    # Of an environment two signs are needed: one planted file must not hide a folder of pages.
    return posixpath.basename(folder) in _SKIPPED or (
        tree.size(f"{folder}/pyvenv.cfg") is not None and tree.is_folder(f"{folder}/lib")
    )


def _below(tree: FileTree, top: str, skipped: dict[str, None]) -> Iterator[str]:
    ahead = [top]
    while ahead:
        path = ahead.pop()
        if not tree.is_folder(path):
            yield path
        elif path != top and (is_left_out(tree, path) or tree.is_link(path)):
            skipped[path] = None
        else:
            names = reversed(tree.list(path))
            ahead += [f"{path}/{name}" if path else name for name in names]
