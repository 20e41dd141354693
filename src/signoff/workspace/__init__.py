"""Snapshots of a workspace and the repository around it: taken by our own walk, restorable.

Loaded when first asked for: finding the repository is on the fast paths, snapshots are not.
"""

from __future__ import annotations

from signoff.lazy import door

# Not `typing.TYPE_CHECKING`: what must answer at once comes through here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from signoff.workspace.advancing import advance
    from signoff.workspace.branches import (
        Commit,
        branch_head,
        branch_heads,
        commits_between,
        diff_size,
        existing_head,
        is_ancestor,
        make_commit,
        merge_base,
        move_branch,
        tree_of,
    )
    from signoff.workspace.byproducts import RoomLimits
    from signoff.workspace.checkout import (
        bare_repository_around,
        find_checkout,
        is_git_directory,
        read_small,
    )
    from signoff.workspace.cleanroom import CleanRoom, Room
    from signoff.workspace.cloning import How
    from signoff.workspace.committing import Committed, commit_content, unjudged_changes
    from signoff.workspace.excluding import exclude_from_git
    from signoff.workspace.git import Git, Identity
    from signoff.workspace.gitfolders import (
        current_branch,
        own_folder,
        read_head,
        refuse_linked_ref,
    )
    from signoff.workspace.ignore import IgnoreFile, IgnoreRules, read_ignore_rules
    from signoff.workspace.merging import Merged, check_out, merge
    from signoff.workspace.records import manifest_digest
    from signoff.workspace.repository import Repository, find_repository
    from signoff.workspace.trees import tree_changes
    from signoff.workspace.unfinished import Unfinished, unfinished_work
    from signoff.workspace.workspace import Workspace, changes_between
    from signoff.workspace.worktrees import (
        Worktree,
        WorktreeState,
        add_worktree,
        checkouts_of,
        find_worktree,
        list_worktrees,
        prune_missing,
        remove_worktree,
    )

__all__ = [
    "CleanRoom",
    "Commit",
    "Committed",
    "Git",
    "How",
    "Identity",
    "IgnoreFile",
    "IgnoreRules",
    "Merged",
    "Repository",
    "Room",
    "RoomLimits",
    "Unfinished",
    "Workspace",
    "Worktree",
    "WorktreeState",
    "add_worktree",
    "advance",
    "bare_repository_around",
    "branch_head",
    "branch_heads",
    "changes_between",
    "check_out",
    "checkouts_of",
    "commit_content",
    "commits_between",
    "current_branch",
    "diff_size",
    "exclude_from_git",
    "existing_head",
    "find_checkout",
    "find_repository",
    "find_worktree",
    "is_ancestor",
    "is_git_directory",
    "list_worktrees",
    "make_commit",
    "manifest_digest",
    "merge",
    "merge_base",
    "move_branch",
    "own_folder",
    "prune_missing",
    "read_head",
    "read_ignore_rules",
    "read_small",
    "refuse_linked_ref",
    "remove_worktree",
    "tree_changes",
    "tree_of",
    "unfinished_work",
    "unjudged_changes",
]

_MODULE_OF = {
    "unjudged_changes": "committing",
    "tree_changes": "trees",
    "bare_repository_around": "checkout",
    "find_checkout": "checkout",
    "is_git_directory": "checkout",
    "read_small": "checkout",
    "advance": "advancing",
    "Commit": "branches",
    "branch_head": "branches",
    "branch_heads": "branches",
    "commits_between": "branches",
    "diff_size": "branches",
    "existing_head": "branches",
    "is_ancestor": "branches",
    "make_commit": "branches",
    "merge_base": "branches",
    "move_branch": "branches",
    "tree_of": "branches",
    "Committed": "committing",
    "commit_content": "committing",
    "exclude_from_git": "excluding",
    "Git": "git",
    "Identity": "git",
    "current_branch": "gitfolders",
    "own_folder": "gitfolders",
    "read_head": "gitfolders",
    "refuse_linked_ref": "gitfolders",
    "Merged": "merging",
    "check_out": "merging",
    "merge": "merging",
    "Unfinished": "unfinished",
    "unfinished_work": "unfinished",
    "Worktree": "worktrees",
    "WorktreeState": "worktrees",
    "add_worktree": "worktrees",
    "checkouts_of": "worktrees",
    "find_worktree": "worktrees",
    "list_worktrees": "worktrees",
    "prune_missing": "worktrees",
    "remove_worktree": "worktrees",
    "RoomLimits": "byproducts",
    "CleanRoom": "cleanroom",
    "Room": "cleanroom",
    "How": "cloning",
    "IgnoreFile": "ignore",
    "IgnoreRules": "ignore",
    "read_ignore_rules": "ignore",
    "manifest_digest": "records",
    "Repository": "repository",
    "find_repository": "repository",
    "Workspace": "workspace",
    "changes_between": "workspace",
}

__getattr__ = door(__name__, _MODULE_OF)
