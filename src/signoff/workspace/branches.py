"""Branches and commits of a repository: where they stand, how they relate, moved with a compare."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from signoff.domain.text import decode_output, storable_path
from signoff.errors import BranchConflict, ProcessFailed, UsageError
from signoff.workspace.git import SIGNOFF, Git, Identity
from signoff.workspace.gitfolders import refuse_linked_ref

_BRANCHES = "refs/heads/"
_OBJECT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


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
    """As `branch_head`; UsageError when there is no such branch."""
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
    """Whether everything in the commit `older` is in `newer` too."""
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
    """How many lines a branch changes since it left the base; a binary file counts as one."""
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
    old = _id(expected) if expected is not None else git.format.nothing
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


def make_commit(
    git: Git, tree: str, parents: tuple[str, ...], message: str, identity: Identity = SIGNOFF
) -> str:
    """A commit that no branch holds yet; its id."""
    named = [word for parent in parents for word in ("-p", _id(parent))]
    text = message.encode("utf-8", "backslashreplace")
    made = git.call("commit-tree", _id(tree), *named, "-F", "-", stdin=text, identity=identity)
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
