"""Judging a plan on merged content: what is pinned there is what the base holds.

A file that the plan protects may have changed in the base since the plan was approved, by another
plan that was signed off. What must not happen is that this plan's branch changes it. So the pins
are taken again from the base, and the merged content is held against them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.plan import JudgeIn
from signoff.domain.verdict import Isolation
from signoff.errors import SandboxMissing, SetupFailed
from signoff.process.command import Mount
from signoff.usecases.audit import Line, judge_again
from signoff.usecases.harness import Harness
from signoff.usecases.history import ApprovedPlan
from signoff.usecases.openwork import enclosure_of, open_work
from signoff.usecases.pinning import pins_here
from signoff.usecases.workspaces import approved_workspace
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.guards import Guards
from signoff.verification.rooms import ScratchRooms
from signoff.verification.setup import ScratchSetUp
from signoff.verification.since_approval import SinceApproval
from signoff.workspace.branches import check_out
from signoff.workspace.byproducts import holds_dependencies
from signoff.workspace.git import Git
from signoff.workspace.workspace import Workspace


class JudgedMerge(Struct, frozen=True):
    """Every line of the plan on the merged content, and that content's digest."""

    lines: tuple[Line, ...]
    snapshot: str
    notes: tuple[str, ...] = ()


def judge_merged(
    harness: Harness,
    approved: ApprovedPlan,
    git: Git,
    *,
    base: str,
    tree: str,
    scratch: Path,
    tell: Callable[[str], None],
) -> JudgedMerge:
    """Judge every contract that may run again on the merged tree, checked out into `scratch`.

    By-products come from the set-up command, run there on exactly that content; without one, from
    the worktree, and what changed there since approval is told. SetupFailed: nothing was judged.
    """
    place = approved.place
    there = approved.in_folder(scratch)
    check_out(git, base, scratch)
    # No agent chose the times of files in a fresh checkout.
    pins = replace(pins_here(harness, there.place, approved.pins), times="")
    from_base = replace(there, pins=pins)
    _empty(scratch)
    check_out(git, tree, scratch)
    enclosure = enclosure_of(harness, place, from_base.pins.search_path)
    boxed = enclosure.isolation.has_own_view
    work = open_work(harness, from_base, enclosure)
    if approved.settings.setup is not None:
        if approved.settings.policy.require_sandbox and enclosure.isolation is Isolation.NONE:
            raise SandboxMissing("the policy requires a sandbox, and the set-up would have none")
        spot = JudgingPlace(scratch)
        if boxed:
            shown = Mount(scratch, place.workspace, writable=True)
            spot = JudgingPlace(place.workspace, JudgeIn.CLEAN, mounts=(shown,), on_disk=scratch)
        judge = work.judge
        tell("set-up")
        setup = ScratchSetUp(
            approved.settings.setup, judge.runner, spot, work.workspace, judge.redactor
        )
        beside = _made(setup, scratch)
    else:
        beside = _of_worktree(harness, approved)
        for path in beside.paths:
            _share(scratch / path, place.workspace / path, linked=not boxed)
    opened = work.workspace
    apart = opened.apart | frozenset(beside.paths)
    workspace = Workspace(opened.root, opened.store, opened.rules, apart, opened.protects)
    rooms = ScratchRooms(
        scratch,
        why_not=f"the merged content, shown at `{place.workspace}`" if boxed else "merged content",
        shown_at=place.workspace if boxed else None,
        shared=beside.read_only,
        source=scratch if beside.setup else None,
        setup=beside.setup,
    )
    guards = Guards.of_plan(from_base.pins, workspace, approved.plan)
    judge = replace(work.judge, workspace=workspace, rooms=rooms)
    lines = judge_again(approved.state, judge, guards, {}, tell)
    return JudgedMerge(lines, workspace.snapshot().digest, beside.notes)


class _Beside(NamedTuple):
    """Folders beside the merged content: virtual environments, dependencies, builds."""

    paths: tuple[str, ...]
    read_only: tuple[str, ...]
    setup: ScratchSetUp | None = None
    notes: tuple[str, ...] = ()


def _made(setup: ScratchSetUp, scratch: Path) -> _Beside:
    """Run the set-up command on the merged content; nobody may change its dependencies."""
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


def _of_worktree(harness: Harness, approved: ApprovedPlan) -> _Beside:
    """By-products that the plan's contracts had when it was signed off, or since."""
    workspace = approved_workspace(harness, approved)
    note = SinceApproval(workspace, approved.pins).needs_setup(workspace.digest_now())
    paths = tuple(
        path for path in workspace.byproducts if (approved.place.workspace / path).is_dir()
    )
    return _Beside(paths, paths, notes=(note,) if note else ())


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
