"""Moving a branch forward, with every checkout of it brought along like a fast-forward.

advance
  look         every path that changes, in index and folder of every checkout → refusal
  stage        the new files, checked, in a folder of ours
  move_branch  compare-and-swap: from here on the same call finishes what a kill interrupts
  bring along  files leave, files are put in place one by one, the index last
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from signoff.domain.text import shown_list, storable_path
from signoff.errors import BranchConflict, StorageFailed
from signoff.testing.crash import RepositoryPoint, reach
from signoff.workspace import trees
from signoff.workspace.branches import existing_head, is_ancestor, move_branch, moved
from signoff.workspace.folders import open_folder_strictly, opened_root, unlink_if_there
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import locked
from signoff.workspace.worktrees import Worktree, checkouts_of
from signoff.workspace.writing import LastFolder, created_file, remove_entries, write_all


def holds_only(root_fd: int, path: str, leaving: frozenset[str]) -> bool:
    """True when a folder is empty, or has nothing in it but files that are about to leave."""
    try:
        pending = _inside(root_fd, path)
        while pending:
            below, is_dir = pending.pop()
            further = _inside(root_fd, below) if is_dir else []
            if not further and below not in leaving:
                return False
            pending += further
    except OSError:
        return False
    return True


def _inside(root_fd: int, path: str) -> list[tuple[str, bool]]:
    fd = open_folder_strictly(root_fd, path)
    try:
        with os.scandir(fd) as entries:
            return [(f"{path}/{e.name}", e.is_dir(follow_symlinks=False)) for e in entries]
    finally:
        os.close(fd)


_DRAFT = ".signoff-advance.tmp"
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_NAMED_AT_MOST = 10
_PIECE = 1 << 20


_Changes = tuple[trees.TreeChange, ...]


class _Work(NamedTuple):
    """Changes to make in one checkout."""

    checkout: Worktree
    fresh_index: Path
    leaving: tuple[str, ...]
    coming: tuple[tuple[str, trees.TreeEntry], ...]


def advance(git: Git, branch: str, new: str, expected: str) -> tuple[Path, ...]:
    """Move a branch from `expected` to its descendant `new`; the checkouts brought along.

    BranchConflict, before anything moved, when the branch stands elsewhere or when local changes
    would be overwritten. After a kill the same call finishes what was begun.
    """
    with locked(git.common):
        now = existing_head(git, branch)
        if now not in (expected, new):
            raise moved(branch, expected, now)
        if not is_ancestor(git, expected, new):
            raise BranchConflict(
                f"`{new[:12]}` does not follow `{expected[:12]}`: commits would be lost",
                "merge the branch as it stands now, then advance to that merge",
            )
        changes = trees.tree_changes(git, expected, new)
        planned = (_plan(git, w, changes, now == new) for w in checkouts_of(git, branch))
        works = [work for work in planned if work is not None]
        # Every file that comes into a checkout, its content checked.
        staged = git.scratch()
        trees.write_tree_files(git, dict(item for work in works for item in work.coming), staged)
        if now != new:
            move_branch(git, branch, new, expected)
        reach(RepositoryPoint.BASE_MOVED)
        for work in works:
            _bring_along(git, work, changes, staged)
    return tuple(work.checkout.path for work in works)


def _plan(git: Git, checkout: Worktree, changes: _Changes, has_moved: bool) -> _Work | None:
    """Plan the changes to a checkout; None when an earlier call did them all. Touches nothing."""
    _refuse_busy(checkout)
    index = trees.copy_index(git, checkout.own)
    entries, unmerged = trees.indexed(git, index)
    # The index is written last: as soon as it is new, so is everything else.
    if has_moved and not unmerged and all(entries.get(c.path) == c.new for c in changes):
        return None
    blocked = set(unmerged)
    blocked.update(c.path for c in changes if entries.get(c.path) not in (c.old, c.new))
    leaving: list[str] = []
    coming: list[tuple[str, trees.TreeEntry]] = []
    gone = frozenset(c.path for c in changes if c.old is not None and c.new is None)
    with opened_root(checkout.path) as root_fd:
        for change in changes:
            found = trees.look(root_fd, change.path)
            if not _fits(root_fd, change, found, gone):
                blocked.add(change.path)
            elif change.new is None and isinstance(found, trees.TreeEntry):
                leaving.append(change.path)
            elif _is_file(change.new) and found != change.new:
                assert change.new is not None
                coming.append((change.path, change.new))
    if blocked:
        raise _would_be_lost(checkout, blocked)
    return _Work(checkout, index, tuple(leaving), tuple(coming))


def _fits(root_fd: int, change: trees.TreeChange, found: trees.Found, gone: frozenset[str]) -> bool:
    """True when nothing of a person's own is at the path."""
    path, old, new = change
    if trees.Mode.SUBMODULE in (old and old.mode, new and new.mode):
        return not (_is_file(old) or _is_file(new))
    if isinstance(found, trees.TreeEntry):
        return found in (old, new)
    if found is trees.Place.NOTHING or new is None:
        return old is None or new is None
    if old is not None or found is trees.Place.OTHER:
        return False
    if found is trees.Place.FOLDER:
        return holds_only(root_fd, path, gone)
    parts = path.split("/")
    return any("/".join(parts[:n]) in gone for n in range(1, len(parts)))


def _is_file(entry: trees.TreeEntry | None) -> bool:
    return entry is not None and entry.mode is not trees.Mode.SUBMODULE


def _refuse_busy(checkout: Worktree) -> None:
    trees.refuse_locked_index(checkout.own)
    for name in _UNDER_WAY:
        if (checkout.own / name).exists():
            raise BranchConflict(
                f"a merge, cherry-pick or revert is under way in `{checkout.path}` (`{name}`)",
                f"finish or abort it: git -C {shlex.quote(str(checkout.path))} status",
            )


def _bring_along(git: Git, work: _Work, changes: _Changes, staged: Path) -> None:
    root = work.checkout.path
    remove_entries(work.leaving, root)
    reach(RepositoryPoint.FILE_REMOVED)
    with opened_root(root) as root_fd, LastFolder(root_fd) as folder:
        for path, entry in work.coming:
            try:
                _place(folder, path, entry, staged / path)
            except OSError as error:
                raise StorageFailed(
                    f"`{root / path}` cannot be written: {error.strerror}",
                    "make room for it, then run the same command again",
                ) from error
    trees.change_index(git, work.fresh_index, {change.path: change.new for change in changes})
    trees.refresh(git, work.fresh_index, root)
    trees.put_index(work.checkout.own, work.fresh_index)


def _place(folder: LastFolder, path: str, entry: trees.TreeEntry, source: Path) -> None:
    """Put one file there whole or not at all; the draft has a name that the next call finds."""
    above, _, name = path.rpartition("/")
    fd = folder.at(above, create=True)
    unlink_if_there(fd, _DRAFT)
    if entry.mode is trees.Mode.LINK:
        # Path.readlink would tidy the target up.
        target = os.readlink(os.fsencode(source))  # noqa: PTH115
        os.symlink(target, _DRAFT, dir_fd=fd)
    else:
        mode = 0o755 if entry.mode is trees.Mode.EXECUTABLE else 0o644
        with created_file(fd, _DRAFT, mode) as out, source.open("rb") as content:
            while piece := content.read(_PIECE):
                write_all(out, piece)
    reach(RepositoryPoint.FILE_WRITTEN)
    with suppress(FileNotFoundError, NotADirectoryError):
        os.rmdir(name, dir_fd=fd)  # an empty folder in its place; of others we know it is none
    os.rename(_DRAFT, name, src_dir_fd=fd, dst_dir_fd=fd)
    reach(RepositoryPoint.FILE_PLACED)


def _would_be_lost(checkout: Worktree, paths: set[str]) -> BranchConflict:
    named = [storable_path(path) for path in sorted(paths)]
    return BranchConflict(
        f"local changes in `{checkout.path}` would be overwritten: "
        + shown_list(named, _NAMED_AT_MOST),
        "commit or put them away there: "
        f"git -C {shlex.quote(str(checkout.path))} stash --include-untracked",
        {"checkout": str(checkout.path), "paths": named},
    )
