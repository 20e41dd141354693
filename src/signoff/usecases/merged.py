"""Whether a plan's work is in the base: said by the ledger, never by a branch or a frontmatter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from signoff.domain.ledger import Entry, Kind
from signoff.errors import SignoffError
from signoff.storage.records import PlanRecord
from signoff.usecases.history import PlanHistory
from signoff.workspace.branches import branch_heads, is_ancestor
from signoff.workspace.git import Git
from signoff.workspace.repository import Repository
from signoff.workspace.worktrees import find_worktree


def merge_entries(history: PlanHistory) -> tuple[Entry, ...]:
    """The entries that say where the newest run's work was merged, the newest first."""
    return tuple(
        entry
        for entry in reversed(history.entries)
        if entry.kind is Kind.PLAN_MERGED and entry.data["run"] == history.run_id
    )


def lived_apart(history: PlanHistory, record: PlanRecord) -> bool:
    """Whether the newest run worked outside the main checkout, on a branch of its own."""
    if history.run is None or record.repository is None:
        return False
    return not Path(history.run.data["workspace"]).is_relative_to(record.repository)


def is_merged(
    history: PlanHistory, record: PlanRecord, holds: Callable[[str], bool] = lambda _commit: True
) -> bool:
    """Whether the work is signed off and where everybody else's is.

    `holds` tells whether the base still has a commit: one may be taken back, or merged elsewhere.
    """
    if not history.signed_off:
        return False
    entries = merge_entries(history)
    if entries:
        return any(holds(entry.data["commit"]) for entry in entries)
    return not lived_apart(history, record)


class Base:
    """What plans start from: the commit the main checkout is on; asked for when first needed."""

    def __init__(self, repository: Path | None, environ: Mapping[str, str]):
        self._repository = repository
        self._environ = environ
        self._known: dict[str, bool] = {}

    def holds(self, commit: str) -> bool:
        """Whether the commit is in the base's history."""
        if commit not in self._known:
            self._known[commit] = self._asked(commit)
        return self._known[commit]

    def _asked(self, commit: str) -> bool:
        if self._repository is None:
            return True
        repository = Repository(self._repository, self._repository)
        try:
            with Git.open(repository, self._environ) as git:
                if git.bare:
                    return any(is_ancestor(git, commit, h) for h in branch_heads(git).values())
                head = find_worktree(git, self._repository).head
                return head is not None and is_ancestor(git, commit, head)
        except SignoffError:
            return False  # a commit that git does not know is in no history
