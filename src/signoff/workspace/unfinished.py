"""What would be lost with a worktree: changes that nobody committed, commits that nobody merged."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from signoff.workspace.branches import Commit, commits_between, existing_head
from signoff.workspace.git import Git
from signoff.workspace.gitindex import copy_index, refresh
from signoff.workspace.ignore import IgnoreRules
from signoff.workspace.trees import Mode, list_tree
from signoff.workspace.worktrees import Worktree, WorktreeState

# A submodule is never looked into: git would do it with the submodule's own configuration.
_NAMES = ("-z", "--name-only", "--no-renames", "--ignore-submodules=dirty")


@dataclass(frozen=True)
class Unfinished:
    """`uncommitted` are paths, `commits` those of the branch that the base does not hold."""

    uncommitted: tuple[str, ...]
    commits: tuple[Commit, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether the worktree can go without a loss."""
        return not self.uncommitted and not self.commits


def unfinished_work(git: Git, worktree: Worktree, base: str, ignore: IgnoreRules) -> Unfinished:
    """What is only in this worktree; `base` is the branch that the work is for.

    The worktree's own index is asked only for what is staged: flags in it can hide changes.
    """
    commits: tuple[Commit, ...] = ()
    if worktree.head is not None:
        commits = commits_between(git, existing_head(git, base), worktree.head)
    if worktree.state is not WorktreeState.PRESENT:
        return Unfinished((), commits)
    paths = {*_changed(git, worktree, ignore), *_staged(git, worktree)}
    return Unfinished(tuple(sorted(paths)), commits)


def _changed(git: Git, worktree: Worktree, ignore: IgnoreRules) -> set[str]:
    """Files that differ from the commit, files that it does not have, submodules in use."""
    index, root = git.scratch() / "index", worktree.path
    git.call("read-tree", worktree.head or "--empty", index=index)
    refresh(git, index, root)
    changed = set(_paths(git.call("diff-files", *_NAMES, index=index, work_tree=root)))
    others = _paths(git.call("ls-files", "--others", "-z", index=index, work_tree=root))
    changed.update(p for p in others if not ignore.is_ignored(p.rstrip("/"), p.endswith("/")))
    tree = list_tree(git, worktree.head) if worktree.head else {}
    submodules = (path for path, entry in tree.items() if entry.mode is Mode.SUBMODULE)
    return changed | {path for path in submodules if _holds_anything(root / path)}


def _staged(git: Git, worktree: Worktree) -> list[str]:
    index = copy_index(git, worktree.own)
    if worktree.head is None:
        return _paths(git.call("ls-files", "-z", index=index))
    if not index.exists():
        return []
    return _paths(git.call("diff-index", "--cached", *_NAMES, worktree.head, "--", index=index))


def _paths(listed: bytes) -> list[str]:
    return [os.fsdecode(path) for path in listed.split(b"\0") if path]


def _holds_anything(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False
