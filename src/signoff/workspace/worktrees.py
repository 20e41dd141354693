"""Worktrees of a repository: added, listed, removed; git shows and uses them like its own.

The few files that make a worktree are written here, not by git: `git worktree` would read the
repository's configuration and run its hooks.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from contextlib import suppress
from enum import StrEnum
from itertools import chain, count
from pathlib import Path

from msgspec import Struct

from signoff.domain.digests import digest_bytes
from signoff.domain.text import storable_path
from signoff.errors import BranchConflict, StorageFailed, UsageError
from signoff.testing.crash import RepositoryPoint, reach
from signoff.workspace import branches, trees
from signoff.workspace.checkout import read_pointer
from signoff.workspace.folders import opened_root, remove_tree
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import locked, read_head, refusals
from signoff.workspace.ignore import IgnoreRules

_REGISTRY = "worktrees"
_DOT_GIT = ".git"
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_ID_CHARS = 80


class WorktreeState(StrEnum):
    """States of a registered worktree."""

    PRESENT = "present"
    MISSING = "missing"
    FOREIGN = "foreign"
    """Its folder is there and does not say that it is this worktree."""


class Worktree(Struct, frozen=True):
    """One checkout; `own` is the folder with its HEAD and index."""

    path: Path
    own: Path
    branch: str | None
    head: str | None
    state: WorktreeState
    locked: bool = False
    is_main: bool = False


def list_worktrees(git: Git) -> tuple[Worktree, ...]:
    """The main checkout, if there is one, and every registered worktree by its path."""
    heads = branches.branch_heads(git)
    head = read_head(git.common)
    commit = heads.get(head.branch) if head.branch else head.commit
    top, present = git.common.parent, WorktreeState.PRESENT
    main = Worktree(top, git.common, head.branch, commit, present, is_main=True)
    found = [] if git.bare else [main]
    linked = [w for own in _registered(git) if (w := _linked(own, heads)) is not None]
    return (*found, *sorted(linked, key=lambda w: str(w.path)))


def find_worktree(git: Git, path: Path) -> Worktree:
    """The checkout at a path; UsageError when the repository has none there."""
    real = Path(os.path.realpath(path))
    for worktree in list_worktrees(git):
        if worktree.path == real:
            return worktree
    raise UsageError(f"`{path}` is not a worktree of `{git.common}`", "signoff worktree list")


def checkouts_of(git: Git, branch: str) -> tuple[Worktree, ...]:
    """Checkouts of a branch that can be worked on."""
    present = (w for w in list_worktrees(git) if w.state is WorktreeState.PRESENT)
    return tuple(w for w in present if w.branch == branch)


def add_worktree(git: Git, path: Path, branch: str, start_point: str) -> Worktree:
    """Check a branch out into a new folder; a branch that is not there begins at the commit.

    The folder appears whole. After a kill the same call finishes what was begun.
    """
    branches.check_branch_name(git, branch)
    real = _place_for(path)
    with locked(git.common):
        _refuse_taken(git, real, branch)
        head = branches.branch_head(git, branch)
        made = _fill(git, real, head or start_point)
        reach(RepositoryPoint.WORKTREE_FILLED)
        if head is None:
            branches.move_branch(git, branch, start_point, expected=None)
        reach(RepositoryPoint.WORKTREE_BRANCHED)
        with refusals(git.common):
            own = _register(git, real, made, branch, head or start_point)
        reach(RepositoryPoint.WORKTREE_REGISTERED)
        _put_in_place(made, real)
    return Worktree(real, own, branch, branches.existing_head(git, branch), WorktreeState.PRESENT)


def remove_worktree(git: Git, path: Path) -> None:
    """Remove a worktree with everything in it; its branch stays.

    Ask `unfinished_work` first: this does not. After a kill the same call finishes it.
    """
    with locked(git.common):
        worktree = find_worktree(git, path)
        _refuse_removal(worktree)
        if worktree.state is WorktreeState.PRESENT:
            _remove(_aside(worktree.path))
            with refusals(worktree.path):
                worktree.path.rename(_aside(worktree.path))
        reach(RepositoryPoint.WORKTREE_ASIDE)
        _unregister(git, worktree)


def prune_missing(git: Git) -> tuple[Path, ...]:
    """Forget worktrees whose folder is gone and that nobody locked; their paths."""
    with locked(git.common):
        worktrees = list_worktrees(git)
        gone = [w for w in worktrees if w.state is WorktreeState.MISSING and not w.locked]
        for worktree in gone:
            _unregister(git, worktree)
        for own in _registered(git):
            if not (own / "gitdir").exists() and not (own / "locked").exists():
                _remove(own)
    return tuple(w.path for w in gone)


def _linked(own: Path, heads: dict[str, str]) -> Worktree | None:
    pointer = read_pointer(own / "gitdir")
    if not pointer:
        return None
    dot_git = Path(os.path.normpath(own / pointer))
    path = Path(os.path.realpath(dot_git.parent))
    head = read_head(own)
    commit = heads.get(head.branch) if head.branch else head.commit
    is_locked = (own / "locked").exists()
    return Worktree(path, own, head.branch, commit, _state(own, dot_git), is_locked)


def _state(own: Path, dot_git: Path) -> WorktreeState:
    """Both ends must name each other: either alone is something that an agent can write."""
    try:
        dot_git.lstat()
    except OSError:
        return WorktreeState.MISSING
    back = read_pointer(dot_git) or ""
    target = os.path.realpath(dot_git.parent / back.removeprefix("gitdir:").strip())
    is_ours = back.startswith("gitdir:") and Path(target) == Path(os.path.realpath(own))
    return WorktreeState.PRESENT if is_ours else WorktreeState.FOREIGN


def _registered(git: Git) -> list[Path]:
    """The folders in the registry; a link among them leads who knows where."""
    try:
        with os.scandir(git.common / _REGISTRY) as entries:
            return sorted(Path(e.path) for e in entries if e.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _place_for(path: Path) -> Path:
    """The real path of a folder to be, which is not there or empty."""
    real = Path(os.path.realpath(path.parent)) / path.name
    if "\n" in str(real):
        raise UsageError(
            f"`{storable_path(str(real))}` has a line break in it", "choose another folder"
        )
    try:
        mode = real.lstat().st_mode
        occupied = not stat.S_ISDIR(mode) or next(real.iterdir(), None) is not None
    except FileNotFoundError:
        occupied = False
    except OSError as error:
        raise UsageError(f"`{real}`: {error.strerror}", "choose another folder") from error
    if occupied:
        raise UsageError(f"`{real}` is there and not empty", "choose another folder")
    return real


def _refuse_taken(git: Git, path: Path, branch: str) -> None:
    """The branch must be checked out nowhere else; what a killed call registered is forgotten."""
    for worktree in list_worktrees(git):
        half_made = worktree.path == path and worktree.state is WorktreeState.MISSING
        if half_made and not worktree.locked:
            _remove(worktree.own)
        elif worktree.branch == branch or worktree.path == path:
            missing = " (which is missing)" if worktree.state is WorktreeState.MISSING else ""
            raise BranchConflict(
                f"branch `{storable_path(worktree.branch or '')}` is checked out in "
                f"`{worktree.path}`{missing}",
                "work there, or remove that worktree: signoff worktree list",
                {"path": str(worktree.path), "branch": worktree.branch},
            )


def _fill(git: Git, path: Path, commit: str) -> Path:
    """The files of the worktree to be, in a folder beside it."""
    made = _beside(path, "new")
    with refusals(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(made)
        made.mkdir()
    try:
        trees.write_tree_files(git, trees.list_tree(git, commit), made)
    except BaseException:
        _remove(made)
        raise
    return made


def _register(git: Git, path: Path, made: Path, branch: str, commit: str) -> Path:
    """Make the registry's folder whole and put it in place; the worktree's `.git` names it."""
    registry = git.common / _REGISTRY
    registry.mkdir(exist_ok=True)
    own = _free_name(registry, path.name)
    draft = git.common / "signoff.worktree"
    _remove(draft)
    draft.mkdir()
    index = trees.index_of_tree(git, commit, made)
    shutil.copy2(index, draft / "index")  # with its time, which git compares with the files'
    (draft / "HEAD").write_bytes(os.fsencode(f"ref: refs/heads/{branch}\n"))
    (draft / "commondir").write_text("../..\n")
    (draft / "gitdir").write_bytes(os.fsencode(f"{path / _DOT_GIT}\n"))
    (made / _DOT_GIT).write_bytes(os.fsencode(f"gitdir: {own}\n"))
    draft.rename(own)
    return own


def _put_in_place(made: Path, path: Path) -> None:
    try:
        made.rename(path)
    except OSError as error:
        raise StorageFailed(
            f"`{path}` cannot be put in place: {error.strerror}",
            "move away what is there, then run the same command again",
        ) from error


def _free_name(registry: Path, name: str) -> Path:
    plain = _NOT_IN_IDS.sub("-", name).strip("-")[:_MAX_ID_CHARS] or "worktree"
    names = chain((plain,), (f"{plain}{number}" for number in count(1)))
    return next(registry / n for n in names if not os.path.lexists(registry / n))


def _refuse_removal(worktree: Worktree) -> None:
    if worktree.is_main:
        raise UsageError(
            f"`{worktree.path}` is the main checkout, not a worktree", "signoff worktree list"
        )
    if worktree.locked:
        raise BranchConflict(
            f"worktree `{worktree.path}` is locked",
            f"git worktree unlock {shlex.quote(str(worktree.path))}",
        )
    if worktree.state is WorktreeState.FOREIGN:
        raise BranchConflict(
            f"`{worktree.path}` does not say that it is this worktree; it stays as it is",
            f"look at it: cat {shlex.quote(str(worktree.path / _DOT_GIT))}",
        )


def _unregister(git: Git, worktree: Worktree) -> None:
    """Forget a worktree whose folder is gone, and what killed calls left beside it."""
    _remove(_aside(worktree.path))
    _remove(_beside(worktree.path, "new"))
    reach(RepositoryPoint.WORKTREE_UNREGISTERED)
    _remove(worktree.own)
    # As git leaves it: without worktrees there is no registry.
    with suppress(OSError):
        (git.common / _REGISTRY).rmdir()


def _aside(path: Path) -> Path:
    return _beside(path, "old")


def _beside(path: Path, what: str) -> Path:
    """A name next to a path that the same call finds again."""
    return path.with_name(f".signoff-{what}-{digest_bytes(os.fsencode(path.name))[:16]}")


def _remove(folder: Path) -> None:
    if not os.path.lexists(folder):
        return
    with refusals(folder), opened_root(folder.parent) as parent_fd:
        remove_tree(parent_fd, folder.name)


# A submodule is never looked into: git would do it with the submodule's own configuration.
_NAMES = ("-z", "--name-only", "--no-renames", "--ignore-submodules=dirty")


class Unfinished(Struct, frozen=True):
    """`uncommitted` are paths, `commits` those of the branch that the base does not hold."""

    uncommitted: tuple[str, ...]
    commits: tuple[branches.Commit, ...]

    @property
    def is_nothing(self) -> bool:
        """True when the worktree can go without a loss."""
        return not self.uncommitted and not self.commits


def unfinished_work(git: Git, worktree: Worktree, base: str, ignore: IgnoreRules) -> Unfinished:
    """Work that is only in this worktree; `base` is the branch that the work is for.

    The worktree's own index is asked only for what is staged: flags in it can hide changes.
    """
    commits: tuple[branches.Commit, ...] = ()
    if worktree.head is not None:
        commits = branches.commits_between(git, branches.existing_head(git, base), worktree.head)
    if worktree.state is not WorktreeState.PRESENT:
        return Unfinished((), commits)
    paths = {*_changed(git, worktree, ignore), *_staged(git, worktree)}
    return Unfinished(tuple(sorted(paths)), commits)


def _changed(git: Git, worktree: Worktree, ignore: IgnoreRules) -> set[str]:
    """Files that differ from the commit, files that it does not have, submodules in use."""
    index, root = git.scratch() / "index", worktree.path
    git.call("read-tree", worktree.head or "--empty", index=index)
    trees.refresh(git, index, root)
    changed = set(_paths(git.call("diff-files", *_NAMES, index=index, work_tree=root)))
    others = _paths(git.call("ls-files", "--others", "-z", index=index, work_tree=root))
    changed.update(p for p in others if not ignore.is_ignored(p.rstrip("/"), p.endswith("/")))
    tree = trees.list_tree(git, worktree.head) if worktree.head else {}
    submodules = (path for path, entry in tree.items() if entry.mode is trees.Mode.SUBMODULE)
    return changed | {path for path in submodules if _holds_anything(root / path)}


def _staged(git: Git, worktree: Worktree) -> list[str]:
    index = trees.copy_index(git, worktree.own)
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
