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
from typing import NamedTuple

from signoff.domain.plan import JudgeIn
from signoff.domain.verdict import Isolation
from signoff.errors import SandboxMissing, SetupFailed
from signoff.gate.state import State
from signoff.process.confinement import Mount
from signoff.settings.loading import Policy, settings_from_pin
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
from signoff.verification.enclosure import Seat
from signoff.verification.guards import Guards
from signoff.verification.pins import Pins
from signoff.verification.rooms import ScratchRooms
from signoff.verification.setup import ScratchSetUp
from signoff.verification.since_approval import SinceApproval
from signoff.workspace.byproducts import holds_dependencies
from signoff.workspace.git import Git
from signoff.workspace.merging import check_out
from signoff.workspace.workspace import Workspace


@dataclass(frozen=True)
class Judged:
    """Every line of the plan on the merged content, and that content's digest."""

    lines: tuple[Line, ...]
    snapshot: str
    notes: tuple[str, ...] = ()


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
    """Judge every contract that may run again on the merged tree, checked out into `scratch`.

    By-products come from the set-up command, run there on exactly that content; without one, from
    the worktree, and what changed there since approval is told. SetupFailed: nothing was judged.
    """
    there = replace(place, workspace=scratch)
    check_out(git, base, scratch)
    from_base = pins_here(site, there, pins)
    _empty(scratch)
    check_out(git, tree, scratch)
    enclosure = enclosure_of(site, place, from_base.search_path)
    boxed = enclosure.isolation.has_own_view
    plan = pinned_plan(pins)
    bench = Bench(
        from_base.search_path, site.environ, mark=workspace_lock(there), enclosure=enclosure
    )
    settings = settings_from_pin(pins.settings)
    redactor = redactor_of(site, plan, settings)
    if settings.setup is not None:
        _refuse_unconfined(settings.policy, enclosure.isolation)
        seat = Seat(scratch)
        if boxed:
            shown = Mount(scratch, place.workspace, writable=True)
            seat = Seat(place.workspace, JudgeIn.CLEAN, mounts=(shown,), on_disk=scratch)
        opened = open_pinned_workspace(site, there, from_base, plan)
        tell("set-up")
        beside = _made(ScratchSetUp(settings.setup, bench, seat, opened, redactor), scratch)
    else:
        beside = _of_worktree(site, place, pins)
        for path in beside.paths:
            _share(scratch / path, place.workspace / path, linked=not boxed)
    workspace = _workspace(site, there, from_base, beside.paths)
    judge = open_judge(site, there, from_base, workspace, bench, redactor)
    rooms = ScratchRooms(
        scratch,
        why_not=f"the merged content, shown at `{place.workspace}`" if boxed else "merged content",
        shown_at=place.workspace if boxed else None,
        shared=beside.read_only,
        source=scratch if beside.setup else None,
        setup=beside.setup,
    )
    guards = Guards.of_plan(from_base, workspace, plan)
    lines = judge_again(state, replace(judge, rooms=rooms), guards, {}, tell)
    return Judged(lines, workspace.snapshot().digest, beside.notes)


def _workspace(site: Site, place: PlanPlace, pins: Pins, shared: tuple[str, ...]) -> Workspace:
    opened = open_pinned_workspace(site, place, pins, pinned_plan(pins))
    apart = opened.apart | frozenset(shared)
    return Workspace(opened.root, opened.store, opened.rules, apart, opened.protects)


class _Beside(NamedTuple):
    """What lies beside the merged content: virtual environments, dependencies, builds."""

    paths: tuple[str, ...]
    read_only: tuple[str, ...]
    setup: ScratchSetUp | None = None
    notes: tuple[str, ...] = ()


def _made(setup: ScratchSetUp, scratch: Path) -> _Beside:
    """What the set-up command makes of the merged content; dependencies nobody may change."""
    try:
        setup.refresh()
    except SetupFailed as failed:
        said = f"{failed.message}\n{failed.facts['output_tail']}".rstrip()
        raise SetupFailed(said, failed.hint, failed.facts) from failed
    folders = [path for path in setup.paths if (scratch / path).is_dir()]
    installed = (
        p for p in folders if holds_dependencies(p, {i.name for i in (scratch / p).iterdir()})
    )
    return _Beside(setup.paths, tuple(installed), setup)


def _of_worktree(site: Site, place: PlanPlace, pins: Pins) -> _Beside:
    """What the plan's contracts had beside the content when it was signed off, or since."""
    workspace = open_pinned_workspace(site, place, pins, pinned_plan(pins))
    note = SinceApproval(workspace, pins).needs_setup(workspace.digest_now())
    paths = tuple(path for path in workspace.byproducts if (place.workspace / path).is_dir())
    return _Beside(paths, paths, notes=(note,) if note else ())


def _refuse_unconfined(policy: Policy, isolation: Isolation) -> None:
    if policy.require_sandbox and isolation is Isolation.NONE:
        raise SandboxMissing("the policy requires a sandbox, and the set-up would have none")


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
