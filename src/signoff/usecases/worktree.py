"""`worktree add | list | remove | prune`: a checkout of its own for every plan."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from signoff.domain.names import shown_name
from signoff.errors import PlanConflict, UnfinishedWork, UsageError
from signoff.storage.active import MARKER_RULE, resolve_active_plan
from signoff.storage.identity import bind_worktree, plan_identity, remember_plan, unbind_worktree
from signoff.storage.location import VaultPlace, find_vault
from signoff.storage.records import PlanRecord
from signoff.usecases.harness import Harness
from signoff.usecases.history import read_history
from signoff.usecases.merged import Base, is_merged
from signoff.usecases.person import refuse_in_attempt
from signoff.workspace.branches import branch_head, commits_between, existing_head
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import exclude_from_git
from signoff.workspace.ignore import read_ignore_rules
from signoff.workspace.repository import Repository
from signoff.workspace.worktrees import (
    Unfinished,
    Worktree,
    WorktreeState,
    add_worktree,
    find_worktree,
    list_worktrees,
    prune_missing,
    remove_worktree,
    unfinished_work,
)

BRANCH_PREFIX = "plan/"
_MOST_SHOWN = 20


class Fate(StrEnum):
    """What became of a worktree that `prune` looked at."""

    REMOVED = "removed"
    KEPT = "kept"
    FORGOTTEN = "forgotten"  # its folder was gone already


@dataclass(frozen=True)
class WorktreeLine:
    """One worktree with the plan it is bound to, and what would be lost with it."""

    path: Path
    branch: str | None
    plan: str | None
    state: WorktreeState
    is_main: bool
    unfinished: Unfinished | None = None


@dataclass(frozen=True)
class Pruned:
    """One worktree that `prune` looked at, and why it ended as it did."""

    path: Path
    plan: str | None
    fate: Fate
    why: str


def add(
    harness: Harness,
    name: str,
    path: Path | None = None,
    base: str | None = None,
    *,
    adopt: bool = False,
) -> WorktreeLine:
    """A worktree for the plan, on its own branch, bound to it; the same call finishes half of one.

    A plan that is bound to a worktree already gets no second one. A branch that holds commits
    nobody merged is taken only by who says `adopt`: they would be merged with the plan's work.
    """
    place, repository = _here(harness)
    by = refuse_in_attempt(harness.environ, harness.home.path)
    plan = resolve_active_plan(name, cwd=harness.cwd, environ=harness.environ)
    if not plan.name:
        raise UsageError("the plan without a name works in the main checkout", "name a plan")
    record = plan_identity(plan.plan_path, place)
    target = harness.cwd / path if path is not None else default_path(repository, plan.name)
    branch = f"{BRANCH_PREFIX}{plan.name}"
    _refuse_second(harness, record, target)
    remember_plan(harness.ledger, record)
    with Git.open(repository, harness.environ) as git:
        exclude_from_git(repository, MARKER_RULE)
        worktree = _existing(git, target, branch)
        if worktree is None:
            start = existing_head(git, base or base_branch(git, repository))
            if not adopt:
                _refuse_unmerged_branch(git, branch, start, plan.name)
            worktree = add_worktree(git, target, branch, start)
    bind_worktree(harness.ledger, record, worktree.path, repository.main, by)
    return WorktreeLine(worktree.path, branch, plan.name, worktree.state, is_main=False)


def list_all(harness: Harness) -> tuple[WorktreeLine, ...]:
    """Every checkout of the repository, with what is unfinished in it."""
    _, repository = _here(harness)
    with Git.open(repository, harness.environ) as git:
        base = base_branch(git, repository)
        return tuple(_seen(harness, git, w, repository, base) for w in list_worktrees(git))


def remove(harness: Harness, name: str, *, force: bool = False) -> WorktreeLine:
    """Remove a plan's worktree; what would be lost is named, and refused unless `force`."""
    place, repository = _here(harness)
    by = refuse_in_attempt(harness.environ, harness.home.path)
    with Git.open(repository, harness.environ) as git:
        base = base_branch(git, repository)
        seen = _seen(harness, git, _named(harness, git, name, place), repository, base)
        if seen.is_main:
            raise UsageError("the main checkout is no worktree to remove", "signoff unbind")
        if seen.unfinished and not force:
            raise _would_be_lost(seen, seen.unfinished)
        _refuse_a_run(harness, seen, place)
        remove_worktree(git, seen.path)
    unbind_worktree(harness.ledger, seen.path, repository.main, by)
    return seen


def prune(harness: Harness) -> tuple[Pruned, ...]:
    """Remove worktrees whose plan is done and merged, and forget those whose folder is gone."""
    place, repository = _here(harness)
    by = refuse_in_attempt(harness.environ, harness.home.path)
    found = []
    with Git.open(repository, harness.environ) as git:
        base = base_branch(git, repository)
        for worktree in list_worktrees(git):
            if worktree.is_main or worktree.state is not WorktreeState.PRESENT:
                continue
            seen = _seen(harness, git, worktree, repository, base)
            if seen.plan is None:
                continue  # not ours: somebody made it for something else
            why = _why_kept(harness, seen, place)
            if not why:
                remove_worktree(git, seen.path)
                unbind_worktree(harness.ledger, seen.path, repository.main, by)
            fate = Fate.KEPT if why else Fate.REMOVED
            found.append(Pruned(seen.path, seen.plan, fate, why or "done and merged"))
        for path in prune_missing(git):
            bound = harness.ledger.glance().binding(path, repository.main)
            unbind_worktree(harness.ledger, path, repository.main, by)
            name = bound.name if bound is not None else None
            found.append(Pruned(path, name, Fate.FORGOTTEN, "its folder is gone"))
    return tuple(found)


def default_path(repository: Repository, name: str) -> Path:
    """Beside the main checkout, never in it: what lies in a checkout is its content."""
    return repository.main.parent / f"{repository.main.name}.worktrees" / name


def base_branch(git: Git, repository: Repository) -> str:
    """What plans are merged into: the branch that the main checkout is on."""
    found = find_worktree(git, repository.main).branch if not git.bare else None
    if found is None:
        raise UsageError(
            f"`{repository.main}` is on no branch", "git checkout BRANCH there, or name it"
        )
    return found


def _here(harness: Harness) -> tuple[VaultPlace, Repository]:
    place = find_vault(harness.cwd, harness.environ)
    if place.repository is None:
        raise UsageError(f"`{place.worktree}` is not in a git repository", "git init")
    return place, Repository(place.worktree, place.repository)


def _refuse_second(harness: Harness, record: PlanRecord, target: Path) -> None:
    bound = harness.ledger.glance().worktree_of(record.id)
    if bound is not None and bound.is_dir() and bound != target.resolve():
        raise PlanConflict(
            f"plan `{record.name}` has a worktree already: `{bound}`",
            f"cd {shlex.quote(str(bound))}, or signoff unbind there",
            {"worktree": str(bound)},
        )


def _refuse_unmerged_branch(git: Git, branch: str, base: str, name: str) -> None:
    head = branch_head(git, branch)
    commits = commits_between(git, base, head) if head is not None else ()
    if commits:
        listed = _some([f"  {commit.id[:12]} {commit.subject}" for commit in commits])
        raise UnfinishedWork(
            "\n".join([f"branch `{branch}` holds commits that are not in the base:", *listed]),
            f"signoff worktree add {shlex.quote(name)} --adopt, after you looked at them",
            {"commits": [commit.id for commit in commits]},
        )


def _existing(git: Git, target: Path, branch: str) -> Worktree | None:
    """The worktree that an earlier, interrupted call has made."""
    for worktree in list_worktrees(git):
        if worktree.branch == branch and worktree.state is WorktreeState.PRESENT:
            if worktree.path != target.resolve():
                name = shlex.quote(branch.removeprefix(BRANCH_PREFIX))
                raise UsageError(
                    f"branch `{branch}` is checked out in `{worktree.path}`",
                    f"cd {shlex.quote(str(worktree.path))} && signoff bind {name}",
                )
            return worktree
    return None


def _named(harness: Harness, git: Git, name: str, place: VaultPlace) -> Worktree:
    """By the plan that is bound to it, else by its path."""
    for worktree in list_worktrees(git):
        assert place.repository is not None
        bound = harness.ledger.glance().binding(worktree.path, place.repository)
        if bound is not None and bound.name == name.removesuffix(".md").removeprefix("PLAN-"):
            return worktree
    return find_worktree(git, harness.cwd / name)


def _seen(
    harness: Harness, git: Git, worktree: Worktree, repository: Repository, base: str
) -> WorktreeLine:
    bound = harness.ledger.glance().binding(worktree.path, repository.main)
    seen = WorktreeLine(
        path=worktree.path,
        branch=worktree.branch,
        plan=bound.name if bound is not None else None,
        state=worktree.state,
        is_main=worktree.is_main,
    )
    if worktree.state is not WorktreeState.PRESENT or worktree.is_main:
        return seen
    lost = unfinished_work(git, worktree, base, read_ignore_rules(worktree.path))
    return seen if lost.is_nothing else replace(seen, unfinished=lost)


def _would_be_lost(seen: WorktreeLine, lost: Unfinished) -> UnfinishedWork:
    plan = shlex.quote(seen.plan or "NAME")
    files = [f"  {path}" for path in lost.uncommitted]
    commits = [f"  {commit.id[:12]} {commit.subject}" for commit in lost.commits]
    lines = [f"`{seen.path}` has work that is nowhere else:", *_some(files), *_some(commits)]
    return UnfinishedWork(
        "\n".join(lines),
        f"signoff run {plan}, then signoff merge {plan} keep it; --force throws it away",
        {"paths": list(lost.uncommitted), "commits": [c.id for c in lost.commits]},
    )


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST_SHOWN
    return lines if more <= 0 else [*lines[:_MOST_SHOWN], f"  and {more} more"]


def _refuse_a_run(harness: Harness, seen: WorktreeLine, place: VaultPlace) -> None:
    why = _unfinished_run(harness, seen, place)
    if why:
        name = shlex.quote(seen.plan or "NAME")
        raise UsageError(
            f"a {why} in `{seen.path}`", f"signoff run {name}, or signoff cancel {name}"
        )


def _why_kept(harness: Harness, seen: WorktreeLine, place: VaultPlace) -> str:
    why = _unfinished_run(harness, seen, place)
    if why:
        return why
    if seen.unfinished:
        return "it has work that is nowhere else"
    assert seen.plan is not None
    plan = resolve_active_plan(seen.plan, cwd=harness.cwd, environ=harness.environ, creating=True)
    record = plan_identity(plan.plan_path, place)
    history = read_history(harness.ledger, record.id)
    merged = is_merged(history, record, Base(place.repository, harness.environ).holds)
    return "" if merged else f"plan `{shown_name(seen.plan)}` is not merged"


def _unfinished_run(harness: Harness, seen: WorktreeLine, place: VaultPlace) -> str:
    if seen.plan is None:
        return ""
    plan = resolve_active_plan(seen.plan, cwd=harness.cwd, environ=harness.environ, creating=True)
    history = read_history(harness.ledger, plan_identity(plan.plan_path, place).id)
    started = history.run.data.get("workspace") if history.run is not None else None
    if history.running and started == str(seen.path):
        return f"run of plan `{seen.plan}` is not over"
    return ""
