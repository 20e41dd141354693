"""What test and coverage tools leave behind, told from a change of the work.

Litter that somebody left in a workspace is content like any other: a tool may read it, so an agent
could forge it. Only what a contract leaves where there was none before is no change of the work:
nothing that it can have read came from anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from signoff.domain.snapshot import Change, ChangeKind, FileKind, Manifest

LITTER_FOLDERS = frozenset(
    {".benchmarks", "htmlcov", ".nyc_output", ".tox", ".nox", ".turbo", ".phpunit.cache"}
)
LITTER_FILES = frozenset({".coverage", ".eslintcache", ".stylelintcache", ".phpunit.result.cache"})
_PARALLEL_COVERAGE = ".coverage."  # one data file per process


def litter_of(path: str) -> str | None:
    """The topmost folder or file of litter that the path belongs to; None when it is none."""
    names = path.split("/")
    for depth, name in enumerate(names, start=1):
        if name in LITTER_FOLDERS or (depth == len(names) and _is_litter_file(name)):
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


def _is_litter_file(name: str) -> bool:
    return name in LITTER_FILES or name.startswith(_PARALLEL_COVERAGE)


def _held(before: Manifest, root: str) -> bool:
    """Whether there was anything of it but an empty folder."""
    there = before.get(root)
    if there is not None:
        return there.kind is not FileKind.DIRECTORY
    return any(path.startswith(f"{root}/") for path in before)
