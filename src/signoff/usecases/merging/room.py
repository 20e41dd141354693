"""Judging a plan on merged content: what is pinned there is what the base holds.

A file that the plan protects may have changed in the base since the plan was approved, by another
plan that was signed off. What must not happen is that this plan's branch changes it. So the pins
are taken again from the base, and the merged content is held against them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from signoff.domain.verdict import Isolation
from signoff.gate.state import State
from signoff.settings.loading import settings_from_pin
from signoff.usecases.ground.history import pinned_plan
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.workbench import (
    enclosure_of,
    open_judge,
    open_pinned_workspace,
    redactor_of,
    workspace_lock,
)
from signoff.usecases.proofs.rejudging import Line, judge_again
from signoff.usecases.running.rehoming import pins_here
from signoff.verification.bench import Bench
from signoff.verification.guards import Guards
from signoff.verification.pins import Pins
from signoff.verification.rooms import ScratchRooms
from signoff.workspace.git import Git
from signoff.workspace.merging import check_out
from signoff.workspace.workspace import Workspace


@dataclass(frozen=True)
class Judged:
    """Every line of the plan on the merged content, and that content's digest."""

    lines: tuple[Line, ...]
    snapshot: str


def judge_merged(
    site: Site,
    place: PlanPlace,
    pins: Pins,
    state: State,
    git: Git,
    *,
    base: str,
    tree: str,
    scratch: Path,
    tell: Callable[[str], None],
) -> Judged:
    """Judge every contract that may run again on the merged tree, checked out into `scratch`."""
    there = replace(place, workspace=scratch)
    check_out(git, base, scratch)
    from_base = pins_here(site, there, pins)
    _empty(scratch)
    check_out(git, tree, scratch)
    shared = _byproducts(site, place, pins)
    enclosure = enclosure_of(site, place, from_base.search_path)
    boxed = enclosure.isolation is Isolation.BUBBLEWRAP
    for path in shared:
        _share(scratch / path, place.workspace / path, linked=not boxed)
    plan = pinned_plan(pins)
    workspace = _workspace(site, there, from_base, shared)
    bench = Bench(
        from_base.search_path, site.environ, mark=workspace_lock(there), enclosure=enclosure
    )
    redactor = redactor_of(site, plan, settings_from_pin(pins.settings))
    judge = open_judge(site, there, from_base, workspace, bench, redactor)
    rooms = ScratchRooms(
        scratch,
        why_not=f"the merged content, shown at `{place.workspace}`" if boxed else "merged content",
        shown_at=place.workspace if boxed else None,
        shared=shared,
    )
    guards = Guards.of_plan(from_base, workspace, plan)
    lines = judge_again(state, replace(judge, rooms=rooms), guards, {}, tell)
    return Judged(lines, workspace.snapshot().digest)


def _workspace(site: Site, place: PlanPlace, pins: Pins, shared: tuple[str, ...]) -> Workspace:
    opened = open_pinned_workspace(site, place, pins, pinned_plan(pins))
    apart = opened.apart | frozenset(shared)
    return Workspace(opened.root, opened.store, opened.rules, apart, opened.protects)


def _byproducts(site: Site, place: PlanPlace, pins: Pins) -> tuple[str, ...]:
    """What the plan's contracts had beside the content: virtual environments, dependencies."""
    workspace = open_pinned_workspace(site, place, pins, pinned_plan(pins))
    workspace.digest_now()
    return tuple(path for path in workspace.byproducts if (place.workspace / path).is_dir())


def _share(target: Path, source: Path, *, linked: bool) -> None:
    """A place for a mount, or a link where nothing can be mounted."""
    if target.exists() or target.is_symlink():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if linked:
        target.symlink_to(source, target_is_directory=True)
    else:
        target.mkdir()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
