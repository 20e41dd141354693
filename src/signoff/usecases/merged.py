"""Tell if a plan's work is in the base: by the ledger, never by a branch or a frontmatter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from signoff.domain.ledger import Entry, Kind
from signoff.errors import SignoffError
from signoff.storage.records import PlanRecord
from signoff.usecases.history import PlanHistory
from signoff.workspace.branches import branch_heads, is_ancestor
from signoff.workspace.folders import Repository
from signoff.workspace.git import Git
from signoff.workspace.worktrees import find_worktree


def merge_entries(history: PlanHistory) -> tuple[Entry, ...]:
    """The entries that say where the newest run's work was merged, the newest first."""
    return tuple(
        entry
        for entry in reversed(history.entries)
        if entry.kind is Kind.PLAN_MERGED and entry.data["run"] == history.run_id
    )


def lived_apart(history: PlanHistory, record: PlanRecord) -> bool:
    """True when the newest run worked outside the main checkout, on a branch of its own."""
    if history.run is None or record.repository is None:
        return False
    return not Path(history.run.data["workspace"]).is_relative_to(record.repository)


def is_merged(
    history: PlanHistory, record: PlanRecord, holds: Callable[[str], bool] = lambda _commit: True
) -> bool:
    """True when the work is signed off and in the base.

    `holds` tells whether the base still has a commit: one may be taken back, or merged elsewhere.
    """
    if not history.signed_off:
        return False
    entries = merge_entries(history)
    if entries:
        return any(holds(entry.data["commit"]) for entry in entries)
    return not lived_apart(history, record)


def held_by_base(repository: Path | None, environ: Mapping[str, str]) -> Callable[[str], bool]:
    """Tells whether a commit is in what plans start from: the commit the main checkout is on."""

    @cache
    def holds(commit: str) -> bool:
        if repository is None:
            return True
        try:
            with Git.open(Repository(repository, repository), environ) as git:
                if git.bare:
                    return any(is_ancestor(git, commit, h) for h in branch_heads(git).values())
                head = find_worktree(git, repository).head
                return head is not None and is_ancestor(git, commit, head)
        except SignoffError:
            return False  # a commit that git does not know is in no history

    return holds
