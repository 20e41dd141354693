"""`conflicts`: copies that cloud drives left in the vault, found by name; progress ones merged."""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from signoff.domain.conflicts import conflict_copy_of, kept_loser_of
from signoff.domain.names import name_of_file, progress_file, shown_name
from signoff.errors import UsageError
from signoff.storage.files import MAX_PLAN_BYTES
from signoff.storage.progress import merge_copies
from signoff.storage.vault import Vault, checked_slug


class ConflictKind(StrEnum):
    """What a file is that stands beside the one it belongs to."""

    PLAN_COPY = "plan copy"
    PROGRESS_COPY = "progress copy"
    KEPT_TEXT = "kept text"  # lost a compare-and-swap; nobody's words are thrown away


@dataclass(frozen=True)
class Conflict:
    """One file, and the file it is about."""

    path: Path
    original: Path
    kind: ConflictKind

    @property
    def next(self) -> str:
        """What to do about it."""
        if can_be_merged(self):
            return "signoff conflicts merge"
        return shlex.join(["diff", str(self.original), str(self.path)])


@dataclass(frozen=True)
class MergedProgress:
    """A progress file that is whole again, and where its originals are kept."""

    progress: Path
    copies: tuple[Path, ...]
    kept: tuple[Path, ...]


@dataclass(frozen=True)
class ConflictReport:
    """What was merged, and what is left for people; `wanted` is the one file asked about."""

    merged: tuple[MergedProgress, ...]
    left: tuple[Conflict, ...]
    wanted: Path | None = None


def find_conflicts(vault: Vault) -> tuple[Conflict, ...]:
    """Every conflict copy and every text that was kept, by name."""
    found = (_conflict(vault.path, name) for name in vault.file_names())
    return tuple(sorted((c for c in found if c is not None), key=lambda c: c.path))


def merge_conflicts(vault: Vault, plan: str | None = None) -> ConflictReport:
    """Merge the conflict copies of progress files, of one plan or of all; plans are for people."""
    wanted = None if plan is None else vault.path / progress_file(_slug(plan))
    by_original: dict[Path, list[Path]] = {}
    for conflict in find_conflicts(vault):
        if can_be_merged(conflict) and wanted in (None, conflict.original):
            by_original.setdefault(conflict.original, []).append(conflict.path)
    merged = tuple(
        MergedProgress(original, tuple(copies), merge_copies(original, tuple(copies)))
        for original, copies in sorted(by_original.items())
    )
    return ConflictReport(merged, find_conflicts(vault), wanted)


def _conflict(folder: Path, name: str) -> Conflict | None:
    original = conflict_copy_of(name)
    if original is not None:
        progress = original.lower().startswith("progress")
        kind = ConflictKind.PROGRESS_COPY if progress else ConflictKind.PLAN_COPY
        return Conflict(folder / name, folder / original, kind)
    original = kept_loser_of(name)
    if original is None:
        return None
    return Conflict(folder / name, folder / original, ConflictKind.KEPT_TEXT)


def can_be_merged(conflict: Conflict) -> bool:
    """A regular file beside a progress file that some plan would have under exactly this name.

    One too large to be anybody's notes is left for people, like everything else."""
    if conflict.kind is not ConflictKind.PROGRESS_COPY:
        return False
    plan = name_of_file(conflict.original.name.replace("progress", "PLAN", 1))
    if plan is None or progress_file(plan) != conflict.original.name:
        return False
    try:
        state = os.lstat(conflict.path)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(state.st_mode) and state.st_size <= MAX_PLAN_BYTES


def _slug(plan: str) -> str:
    if not plan:
        raise UsageError("the plan's name is empty", "signoff conflicts merge")
    return "" if plan in (shown_name(""), f"{shown_name('')}.md") else checked_slug(plan)
