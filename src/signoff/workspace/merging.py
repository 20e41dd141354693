"""Merging two commits without touching any checkout, and writing a tree out to look at it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from signoff.domain.text import decode_output
from signoff.errors import ProcessFailed, StorageFailed
from signoff.workspace.git import Git
from signoff.workspace.trees import list_tree, write_tree_files

_NEEDED = (2, 38)


class Merged(NamedTuple):
    """The merged tree; with conflicts, the paths that need a person, and a tree with marks."""

    tree: str
    conflicts: tuple[str, ...]


def merge(git: Git, base_commit: str, branch_commit: str) -> Merged:
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
    return Merged(decode_output(tree).strip(), tuple(conflicts))


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
