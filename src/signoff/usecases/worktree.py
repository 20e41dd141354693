"""`worktree` and `bind`: a checkout for every plan, and the plan that a checkout works on."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.names import shown_name
from signoff.errors import Held, PlanConflict, PlanNotFound, UnfinishedWork, UsageError
from signoff.storage.active import (
    MARKER_RULE,
    VaultPlace,
    find_vault,
    marker_path,
    resolve_active_plan,
)
from signoff.storage.identity import bind_worktree, plan_identity, remember_plan, unbind_worktree
from signoff.storage.records import PlanRecord
from signoff.usecases.furnish import furnish
from signoff.usecases.harness import Harness, find_plan, refuse_bare
from signoff.usecases.history import PlanHistory, read_history
from signoff.usecases.merged import held_by_base, is_merged
from signoff.usecases.person import refuse_in_attempt, require_person
from signoff.workspace.branches import branch_head, commits_between, existing_head
from signoff.workspace.folders import Repository
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import exclude_from_git
from signoff.workspace.ignore import read_ignore_rules
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
    REMOVED = "removed"
    KEPT = "kept"
    FORGOTTEN = "forgotten"  # its folder was gone already


class WorktreeLine(Struct, frozen=True):
    """One worktree with the plan it is bound to, and what would be lost with it."""

    path: Path
    branch: str | None
    plan: str | None
    state: WorktreeState
    is_main: bool
    unfinished: Unfinished | None = None
    notes: tuple[str, ...] = ()  # about how a new one was set up


class Pruned(Struct, frozen=True):
    """One worktree that `prune` looked at, and why it ended as it did."""

    path: Path
    plan: str | None
    fate: Fate
    why: str


class BindReport(Struct, frozen=True):
    """A worktree and its plan from now on; `plan` None: it has none."""

    worktree: Path
    plan: str | None
    was: str | None
    marker: Path


def bind(harness: Harness, name: str | None) -> BindReport:
    """Bind the checkout around here to a plan that exists, or to none; agents cannot."""
    place, repository = _here(harness)
    refuse_bare(place)
    if (place.worktree / ".git").is_file() and place.worktree == place.repository:
        raise UsageError(
            f"`{place.worktree}` is not a worktree that git knows: its `.git` leads elsewhere",
            "signoff worktree add NAME makes one",
        )
    by = require_person(harness.environ, harness.home.path)
    marker, was = marker_path(place.worktree), _bound(harness, place.worktree, repository)
    if name is None:
        _refuse_to_leave(harness, was, place)
        unbind_worktree(harness.ledger, place.worktree, repository.main, by)
        return BindReport(place.worktree, None, was, marker)
    plan = resolve_active_plan(name, cwd=harness.cwd, environ=harness.environ)
    if not plan.name:
        hint = "signoff unbind goes back to it"
        raise PlanNotFound("the plan without a name needs no binding", hint)
    _refuse_to_leave(harness, was, place)
    record = plan_identity(plan.plan_path, place)
    remember_plan(harness.ledger, record)
    exclude_from_git(repository, MARKER_RULE)
    bind_worktree(harness.ledger, record, place.worktree, repository.main, by)
    return BindReport(place.worktree, plan.name, was, marker)


def _bound(harness: Harness, worktree: Path, repository: Repository) -> str | None:
    """The plan on record; what a marker alone says does not count."""
    bound = harness.ledger.glance().binding(worktree, repository.main)
    return bound.name if bound is not None else None


def _history(harness: Harness, name: str, place: VaultPlace) -> tuple[PlanRecord, PlanHistory]:
    plan = resolve_active_plan(name, cwd=harness.cwd, environ=harness.environ, creating=True)
    record = plan_identity(plan.plan_path, place)
    return record, read_history(harness.ledger, record.id)


def _refuse_to_leave(harness: Harness, name: str | None, place: VaultPlace) -> None:
    """A run in this worktree would lose its plan under its feet."""
    if name is None:
        return
    record, history = _history(harness, name, place)
    there = history.run.data["workspace"] if history.run is not None else None
    if there != str(place.worktree) or not Path(record.path).exists():
        return
    quoted = shlex.quote(name)
    if history.running:
        raise Held(
            f"run `{history.run_id}` of plan `{shown_name(name)}` is not over in this worktree",
            f"signoff run {quoted}, or signoff cancel {quoted}",
        )
    in_base = held_by_base(place.repository, harness.environ)
    if history.signed_off and not is_merged(history, record, in_base):
        raise Held(
            f"plan `{shown_name(name)}` is signed off in this worktree and not merged",
            f"signoff merge {quoted}",
        )


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
        is_new = worktree is None
        if worktree is None:
            start = existing_head(git, base or base_branch(git, repository))
            if not adopt:
                _refuse_unmerged_branch(git, branch, start, plan.name)
            worktree = add_worktree(git, target, branch, start)
    bind_worktree(harness.ledger, record, worktree.path, repository.main, by)
    seen = WorktreeLine(worktree.path, branch, plan.name, worktree.state, is_main=False)
    if not is_new:
        return seen
    there = find_plan(worktree.path, shown_name(plan.name), environ=harness.environ)
    return replace(seen, notes=furnish(harness, there, repository.main))


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
        slug = name.removesuffix(".md").removeprefix("PLAN-")
        every = list_worktrees(git)
        bound = [w for w in every if _bound(harness, w.path, repository) == slug]
        chosen = bound[0] if bound else find_worktree(git, harness.cwd / name)
        seen = _seen(harness, git, chosen, repository, base)
        if seen.is_main:
            raise UsageError(
                "only worktrees can be removed, and this is the main checkout", "signoff unbind"
            )
        if seen.unfinished and not force:
            raise _would_be_lost(seen, seen.unfinished)
        if why := _unfinished_run(harness, seen, place):
            named = shlex.quote(seen.plan or "NAME")
            hint = f"signoff run {named}, or signoff cancel {named}"
            raise UsageError(f"a {why} in `{seen.path}`", hint)
        remove_worktree(git, seen.path)
    unbind_worktree(harness.ledger, seen.path, repository.main, by)
    return seen


def prune(harness: Harness) -> tuple[Pruned, ...]:
    """Remove worktrees whose plan is done and merged, and forget those whose folder is gone."""
    place, repository = _here(harness)
    by = refuse_in_attempt(harness.environ, harness.home.path)
    found, in_base = [], held_by_base(place.repository, harness.environ)
    with Git.open(repository, harness.environ) as git:
        base = base_branch(git, repository)
        for worktree in list_worktrees(git):
            if worktree.is_main or worktree.state is not WorktreeState.PRESENT:
                continue
            seen = _seen(harness, git, worktree, repository, base)
            if seen.plan is None:
                continue  # not ours: somebody made it for something else
            why = _unfinished_run(harness, seen, place)
            if not why and seen.unfinished:
                why = "it has work that is nowhere else"
            record, history = _history(harness, seen.plan, place)
            if not why and not is_merged(history, record, in_base):
                why = f"plan `{shown_name(seen.plan)}` is not merged"
            if not why:
                remove_worktree(git, seen.path)
                unbind_worktree(harness.ledger, seen.path, repository.main, by)
            fate = Fate.KEPT if why else Fate.REMOVED
            found.append(Pruned(seen.path, seen.plan, fate, why or "done and merged"))
        for path in prune_missing(git):
            name = _bound(harness, path, repository)
            unbind_worktree(harness.ledger, path, repository.main, by)
            found.append(Pruned(path, name, Fate.FORGOTTEN, "its folder is gone"))
    return tuple(found)


def default_path(repository: Repository, name: str) -> Path:
    """Path beside the main checkout, never in it: what lies in a checkout is its content."""
    return repository.main.parent / f"{repository.main.name}.worktrees" / name


def base_branch(git: Git, repository: Repository) -> str:
    """The branch into which plans are merged: the one that the main checkout is on."""
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


def _seen(
    harness: Harness, git: Git, worktree: Worktree, repository: Repository, base: str
) -> WorktreeLine:
    seen = WorktreeLine(
        path=worktree.path,
        branch=worktree.branch,
        plan=_bound(harness, worktree.path, repository),
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


def _unfinished_run(harness: Harness, seen: WorktreeLine, place: VaultPlace) -> str:
    if seen.plan is None:
        return ""
    _, history = _history(harness, seen.plan, place)
    started = history.run.data.get("workspace") if history.run is not None else None
    unfinished = history.running and started == str(seen.path)
    return f"run of plan `{seen.plan}` is not over" if unfinished else ""
