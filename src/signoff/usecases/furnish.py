"""`worktree` made usable: what lanes share is copied into it, and its set-up runs once.

Nobody approved the worktree's configuration yet, so its set-up runs in a sandbox or not at all.
Whatever fails is told; the worktree stays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from signoff.domain.globs import matches_any
from signoff.domain.verdict import Isolation
from signoff.errors import ConfigInvalid, SandboxMissing, SetupFailed
from signoff.process.environment import safe_search_path
from signoff.settings.loading import Setup, load_settings
from signoff.usecases.harness import Harness, PlanLocation, redactor_of
from signoff.usecases.openwork import enclosure_of
from signoff.usecases.workspaces import workspace_lock
from signoff.verification.check_runner import CheckRunner
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.setup import run_setup
from signoff.workspace.byproducts import DEPENDENCY_MARKS
from signoff.workspace.caches import not_plain
from signoff.workspace.fitting import copy_content
from signoff.workspace.ignore import read_ignore_rules


def furnish(harness: Harness, place: PlanLocation, main: Path) -> tuple[str, ...]:
    """Copy from the main checkout what lanes share, and run the set-up; returns what to tell."""
    try:
        settings = load_settings(place.workspace, harness.environ)
    except ConfigInvalid as error:
        return (f"not set up: {error.message}",)
    told = _share(main, place.workspace, settings.share) if settings.share else []
    if settings.setup is not None:
        told.append(_set_up(harness, place, settings.setup))
    return tuple(told)


def _set_up(harness: Harness, place: PlanLocation, setup: Setup) -> str:
    root = place.workspace
    path = safe_search_path(harness.environ.get("PATH", ""), root)
    try:
        enclosure = enclosure_of(harness, place, path)
        if enclosure.isolation is Isolation.NONE:
            return f"not set up: there is no sandbox, and nobody approved `{setup.command}` yet"
        redactor = redactor_of(harness, place.parse().plan, harness.settings)
        runner = CheckRunner(path, harness.environ, mark=workspace_lock(place), enclosure=enclosure)
        run_setup(setup, runner, JudgingPlace(root), (), redactor)
    except (SetupFailed, SandboxMissing) as failed:
        return "\n".join(filter(None, (failed.message, failed.facts.get("output_tail", ""))))
    return f"set up: {setup.command}"


def _share(main: Path, worktree: Path, share: tuple[str, ...]) -> list[str]:
    told: list[str] = []
    for path in _shared_paths(main, share):
        source, target = main / path, worktree / path
        if os.path.lexists(target):
            continue
        if any((source / mark).exists() for mark in DEPENDENCY_MARKS):
            told.append(f"`{path}` was not copied: it holds absolute paths to `{main}`")
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target, True, not_plain, _copy_file)
        except (OSError, shutil.Error) as error:
            told.append(f"`{path}` was not copied whole: {error}")
    return told


def _shared_paths(main: Path, share: tuple[str, ...]) -> Iterator[str]:
    """Ignored folders that are shared, relative to the checkout; the topmost of each."""
    rules = read_ignore_rules(main)
    for above, folders, _ in os.walk(main):
        inside = Path(above).relative_to(main)
        paths = {name: (inside / name).as_posix() for name in sorted(folders)}
        folders[:] = [n for n, p in paths.items() if n != ".git" and not matches_any(share, p)]
        for path in paths.values():
            is_shared = matches_any(share, path) and not (main / path).is_symlink()
            if is_shared and rules.is_ignored(path, is_dir=True):
                yield path


def _copy_file(source: str, target: str) -> str:
    if Path(source).is_symlink():
        return str(shutil.copy2(source, target, follow_symlinks=False))
    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        copy_content(old.fileno(), new.fileno())
    shutil.copystat(source, target)
    return target
