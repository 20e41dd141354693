"""`merge-order`: finished plans in the order in which they should be merged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from signoff.errors import UsageError
from signoff.gate.dependencies import Finished, MergeOrder, merge_order
from signoff.gate.ready import PlanStanding
from signoff.storage.vault import Vault
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import approved_by
from signoff.usecases.openwork import approved_workspace
from signoff.usecases.ready import Census, PlanFacts, take_census
from signoff.usecases.worktree import base_branch
from signoff.workspace.branches import diff_size
from signoff.workspace.git import Git
from signoff.workspace.repository import Repository
from signoff.workspace.worktrees import Worktree, list_worktrees

_MOST_COMPARED = 20_000_000
_HEADS = ("+++", "---")


@dataclass(frozen=True)
class UnmergedPlan:
    """A finished plan with the branch it is on, and how large its change is."""

    name: str
    branch: str
    size: int


@dataclass(frozen=True)
class MergeOrderReport:
    """The order, with everything it rests on."""

    base: str
    plans: dict[str, UnmergedPlan]
    answer: MergeOrder


def order_of_merges(harness: Harness) -> MergeOrderReport:
    """Look at every plan that was signed off on a branch of its own and is not merged."""
    return order_in(harness, take_census(harness))


def order_in(harness: Harness, census: Census) -> MergeOrderReport:
    """The same from a census that was just taken."""
    place = census.place
    if place.repository is None:
        raise UsageError(f"`{place.worktree}` is not in a git repository", "git init")
    repository = Repository(place.worktree, place.repository)
    unmerged = [p for p in census.plans if p.standing is PlanStanding.SIGNED_OFF_UNMERGED]
    with Git.open(repository, harness.environ) as git:
        base = base_branch(git, repository)
        trees = {tree.path: tree for tree in list_worktrees(git)}
        plans = {p.name: _waiting(harness, git, p, base, trees) for p in unmerged}
    finished = [
        Finished(p.name, p.plan.depends_on if p.plan else (), plans[p.name].size) for p in unmerged
    ]
    merged = [p.name for p in census.plans if p.standing is PlanStanding.SIGNED_OFF]
    return MergeOrderReport(base, plans, merge_order(finished, merged))


def _waiting(
    harness: Harness, git: Git, plan: PlanFacts, base: str, trees: dict[Path, Worktree]
) -> UnmergedPlan:
    """The real branch of the worktree the plan was signed off in; one that is gone has no size.

    What was signed off need not be committed yet, so both measures are taken and the larger counts.
    """
    assert plan.history.run is not None
    workspace = Path(plan.history.run.data["workspace"])
    tree = trees.get(workspace)
    branch = tree.branch if tree is not None else None
    if branch is None:
        return UnmergedPlan(plan.name, "", 0)
    committed = diff_size(git, base, branch)
    return UnmergedPlan(
        plan.name, branch, max(committed, _signed_off_size(harness, plan, workspace))
    )


def _signed_off_size(harness: Harness, plan: PlanFacts, workspace: Path) -> int:
    """Changed lines between what was approved and what was signed off."""
    assert plan.history.run is not None and plan.history.finished is not None
    place = PlanLocation(plan.path, plan.record, workspace, Vault(plan.path.parent))
    approved = approved_by(harness.ledger, place, plan.history, plan.history.run)
    text = approved_workspace(harness, approved).text_diff(
        approved.pins.snapshot, plan.history.finished.data["snapshot"], max_bytes=_MOST_COMPARED
    )
    return sum(1 for line in text.split("\n") if line[:1] in ("+", "-") and line[:3] not in _HEADS)
