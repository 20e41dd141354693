"""Branches and commits of a repository: where they stand, how they relate, moved and merged."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from signoff.domain.text import decode_output, storable_path
from signoff.errors import BranchConflict, ProcessFailed, StorageFailed, UsageError
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import refuse_linked_ref
from signoff.workspace.trees import NO_OBJECT, list_tree, write_tree_files

_BRANCHES = "refs/heads/"
_OBJECT_ID = re.compile("[0-9a-f]{40}")


class Commit(NamedTuple):
    """A commit and the first line of what it says."""

    id: str
    subject: str


def branch_heads(git: Git) -> dict[str, str]:
    """Every branch and the commit it stands on."""
    listed = git.call("for-each-ref", "--format=%(objectname) %(refname)", _BRANCHES)
    # Not `splitlines`: names of branches may hold other line breaks than git's.
    pairs = (line.split(" ", 1) for line in os.fsdecode(listed).split("\n") if line)
    return {ref.removeprefix(_BRANCHES): commit for commit, ref in pairs}


def branch_head(git: Git, branch: str) -> str | None:
    """The commit a branch stands on; None when there is no such branch."""
    return branch_heads(git).get(branch)


def existing_head(git: Git, branch: str) -> str:
    """Head of a branch; UsageError when there is no such branch."""
    head = branch_head(git, branch)
    if head is None:
        raise UsageError(
            f"there is no branch `{storable_path(branch)}` in `{git.common}`",
            "see the branches there are: git branch --list",
        )
    return head


def check_branch_name(git: Git, branch: str) -> None:
    """UsageError for a name that git does not take."""
    # The leading dash is no matter to git's plumbing, and a trap for everybody after it.
    reply = git.ask("check-ref-format", _BRANCHES + branch, accept=(0, 1))
    if reply.code != 0 or branch.startswith("-") or branch == "HEAD":
        raise UsageError(
            f"`{storable_path(branch)}` cannot be the name of a branch",
            "choose a name of letters, digits, dashes and single slashes",
        )


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """True when everything in the commit `older` is in `newer` too."""
    reply = git.ask("merge-base", "--is-ancestor", _id(older), _id(newer), accept=(0, 1))
    return reply.code == 0


def merge_base(git: Git, one: str, other: str) -> str | None:
    """A newest commit that both hold; None for histories that never met."""
    reply = git.ask("merge-base", _id(one), _id(other), accept=(0, 1))
    return decode_output(reply.stdout).strip() or None


def commits_between(git: Git, base: str, tip: str) -> tuple[Commit, ...]:
    """The commits that `tip` holds and `base` does not, newest first."""
    listed = git.call("log", "-z", "--format=%H %s", f"{_id(base)}..{_id(tip)}", "--")
    lines = [decode_output(line) for line in listed.split(b"\0") if line]
    return tuple(Commit(*line.split(" ", 1)) for line in lines)


def diff_size(git: Git, base: str, branch: str) -> int:
    """Number of lines that a branch changes since it left the base; a binary file counts as one."""
    base_head, tip = existing_head(git, base), existing_head(git, branch)
    since = merge_base(git, base_head, tip) or base_head
    options = ("-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
    counted = git.call("diff-tree", *options, since, tip, "--")
    return sum(_lines_of(line) for line in counted.split(b"\0") if line)


def move_branch(git: Git, branch: str, new: str, expected: str | None) -> None:
    """Set a branch to a commit if it stands where expected (None: is not there).

    BranchConflict names where it stands instead; nothing moved then.
    """
    ref = _BRANCHES + branch
    refuse_linked_ref(git.common, ref)
    old = _id(expected) if expected is not None else NO_OBJECT
    try:
        git.call("update-ref", "--no-deref", ref, _id(new), old)
    except ProcessFailed as error:
        now = branch_head(git, branch)
        if now == expected:
            raise
        raise moved(branch, expected, now) from error


def moved(branch: str, expected: str | None, now: str | None) -> BranchConflict:
    """The error for a branch that is not where it was."""
    stands = f"stands on `{now[:12]}`" if now else "is not there"
    was = f"`{expected[:12]}` was expected" if expected else "it was expected not to be there"
    return BranchConflict(
        f"branch `{storable_path(branch)}` {stands}; {was}",
        facts={"branch": storable_path(branch), "expected": expected, "current": now},
    )


def make_commit(git: Git, tree: str, parents: tuple[str, ...], message: str) -> str:
    """A commit that no branch holds yet; its id."""
    named = [word for parent in parents for word in ("-p", _id(parent))]
    text = message.encode("utf-8", "backslashreplace")
    made = git.call("commit-tree", _id(tree), *named, "-F", "-", stdin=text)
    return decode_output(made).strip()


def tree_of(git: Git, commit: str) -> str:
    """The tree of a commit."""
    found = git.call("rev-parse", "--verify", f"{_id(commit)}^{{tree}}")
    return decode_output(found).strip()


def _lines_of(line: bytes) -> int:
    """One line of `--numstat`: added, removed, path; dashes for a binary file."""
    added, removed, _ = line.split(b"\t", 2)
    return 1 if added == b"-" else int(added) + int(removed)


def _id(text: str) -> str:
    """An object id and nothing else: git would read more into most texts."""
    if not _OBJECT_ID.fullmatch(text):
        raise UsageError(
            f"`{storable_path(text)}` is not the full id of a commit",
            "find it: git rev-parse NAME",
        )
    return text


_NEEDED = (2, 38)


class MergedTree(NamedTuple):
    """The merged tree; with conflicts, the paths that need a person, and a tree with marks."""

    tree: str
    conflicts: tuple[str, ...]


def merge(git: Git, base_commit: str, branch_commit: str) -> MergedTree:
    """Merge two commits as git does by default; no merge driver runs and no setting counts."""
    version = git.version()
    if version < _NEEDED:
        raise ProcessFailed(
            f"merging needs git {_NEEDED[0]}.{_NEEDED[1]}; this is {version[0]}.{version[1]}",
            "install a newer git, or merge by hand: git merge BRANCH",
        )
    options = ("--write-tree", "-z", "--name-only", "--no-messages")
    reply = git.ask("merge-tree", *options, base_commit, branch_commit, accept=(0, 1))
    tree, *paths = reply.stdout.split(b"\0")
    conflicts = dict.fromkeys(os.fsdecode(path) for path in paths if path)
    return MergedTree(decode_output(tree).strip(), tuple(conflicts))


def check_out(git: Git, treeish: str, into: Path) -> None:
    """Write the files of a tree or commit into an empty folder, which is made if it is not there.

    Byte for byte as committed, and no checkout: nothing in the repository knows of it.
    """
    try:
        into.mkdir(parents=True, exist_ok=True)
        occupied = next(into.iterdir(), None)
    except OSError as error:
        raise StorageFailed(f"`{into}` cannot be used as a folder: {error.strerror}") from error
    if occupied is not None:
        raise StorageFailed(
            f"`{into}` is not empty; it holds `{occupied.name}`", "name an empty folder"
        )
    write_tree_files(git, list_tree(git, treeish), into.resolve())
