"""Which files are meant by the paths that were named: folders are walked, tools' own are not."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from signoff.toolbatch.checkers.tree import Tree

MOST_FILES = 50_000

# Version control, vaults, dependencies and virtual environments are nobody's artifact.
_SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".harness", "node_modules", "__pycache__", ".venv", "venv", ".tox"}
)


@dataclass(frozen=True)
class Walked:
    """Files to check, each once; folders left out; named paths that are not there."""

    files: tuple[str, ...]
    skipped_folders: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cut_off: bool = False


def walk(tree: Tree, paths: Sequence[str]) -> Walked:
    """A folder that is named itself is walked, whatever its name."""
    files: dict[str, None] = {}
    skipped: dict[str, None] = {}
    missing = [path for path in paths if not tree.exists(path)]
    for path in (path for path in paths if path not in missing):
        if tree.size(path) is not None:
            files[path] = None
            continue
        for file in _below(tree, path, skipped):
            if len(files) >= MOST_FILES:
                return Walked(tuple(files), tuple(skipped), tuple(missing), cut_off=True)
            files[file] = None
    return Walked(tuple(files), tuple(skipped), tuple(missing))


def is_left_out(tree: Tree, folder: str) -> bool:
    """Whether a folder is walked past unless it is named itself."""
    return posixpath.basename(folder) in _SKIPPED or _is_environment(tree, folder)


def _below(tree: Tree, top: str, skipped: dict[str, None]) -> Iterator[str]:
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


def _is_environment(tree: Tree, path: str) -> bool:
    """Both are needed: one planted file must not hide a folder full of pages."""
    return tree.size(f"{path}/pyvenv.cfg") is not None and tree.is_folder(f"{path}/lib")
