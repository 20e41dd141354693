"""`bind` and `unbind`: which plan a worktree works on, recorded first and marked second."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.names import shown_name
from signoff.errors import ActivePlanError, Held, PlanNotFound, UsageError
from signoff.storage.active import MARKER_RULE, marker_path, resolve_active_plan
from signoff.storage.identity import bind_worktree, plan_identity, remember_plan, unbind_worktree
from signoff.storage.location import VaultPlace, find_vault
from signoff.usecases.harness import Harness, refuse_bare
from signoff.usecases.history import read_history
from signoff.usecases.merged import Base, is_merged
from signoff.usecases.person import require_person
from signoff.workspace.gitfolders import exclude_from_git
from signoff.workspace.repository import Repository


@dataclass(frozen=True)
class BindReport:
    """A worktree and its plan from now on; `plan` None: it has none."""

    worktree: Path
    plan: str | None
    was: str | None
    marker: Path


def bind(harness: Harness, name: str) -> BindReport:
    """Bind the checkout around here to a plan that exists; agents cannot."""
    place = find_vault(harness.cwd, harness.environ)
    repository = _checkout(place)
    by = require_person(harness.environ, harness.home.path)
    plan = resolve_active_plan(name, cwd=harness.cwd, environ=harness.environ)
    if not plan.name:
        raise PlanNotFound(
            "the plan without a name needs no binding", "signoff unbind goes back to it"
        )
    record = plan_identity(plan.plan_path, place)
    was = _bound_now(harness, place)
    _refuse_a_run(harness, was, place)
    remember_plan(harness.ledger, record)
    exclude_from_git(repository, MARKER_RULE)
    bind_worktree(harness.ledger, record, place.worktree, repository.main, by)
    return BindReport(place.worktree, plan.name, was, marker_path(place.worktree))


def unbind(harness: Harness) -> BindReport:
    """Take the binding of the checkout around here back."""
    place = find_vault(harness.cwd, harness.environ)
    repository = _checkout(place)
    by = require_person(harness.environ, harness.home.path)
    was = _bound_now(harness, place)
    _refuse_a_run(harness, was, place)
    unbind_worktree(harness.ledger, place.worktree, repository.main, by)
    return BindReport(place.worktree, None, was, marker_path(place.worktree))


def _checkout(place: VaultPlace) -> Repository:
    """A registered checkout of a repository: its both ends name each other."""
    refuse_bare(place)
    if place.repository is None:
        raise UsageError(f"`{place.worktree}` is not in a git repository", "git init")
    if (place.worktree / ".git").is_file() and place.worktree == place.repository:
        raise UsageError(
            f"`{place.worktree}` is no registered worktree: its `.git` leads elsewhere",
            "signoff worktree add NAME makes one",
        )
    return Repository(place.worktree, place.repository)


def _bound_now(harness: Harness, place: VaultPlace) -> str | None:
    """The plan on record; what a marker alone says does not count."""
    assert place.repository is not None
    bound = harness.ledger.glance().binding(place.worktree, place.repository)
    return bound.name if bound is not None else None


def _refuse_a_run(harness: Harness, name: str | None, place: VaultPlace) -> None:
    """A run in this worktree would lose its plan under its feet."""
    if name is None:
        return
    try:
        plan = resolve_active_plan(name, cwd=harness.cwd, environ=harness.environ)
    except (ActivePlanError, ValueError):
        return  # the plan is gone; nothing can go on with it
    record = plan_identity(plan.plan_path, place)
    history = read_history(harness.ledger, record.id)
    if history.run is None or history.run.data["workspace"] != str(place.worktree):
        return
    quoted = shlex.quote(name)
    if history.running:
        raise Held(
            f"run `{history.run_id}` of plan `{shown_name(name)}` is not over in this worktree",
            f"signoff run {quoted}, or signoff cancel {quoted}",
        )
    holds = Base(place.repository, harness.environ).holds
    if history.signed_off and not is_merged(history, record, holds):
        raise Held(
            f"plan `{shown_name(name)}` is signed off in this worktree and not merged",
            f"signoff merge {quoted}",
        )
