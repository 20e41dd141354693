"""Where a command works: the home, the ledger and the configuration, opened once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from signoff.errors import PlanNotFound, UsageError, WorkspaceMissing
from signoff.planfile import Parsed, decode, parse
from signoff.settings import REPOSITORY_FILE, Settings, read_config_text
from signoff.storage import (
    VAULT_FOLDER,
    Home,
    Ledger,
    PlanRecord,
    Vault,
    find_repository,
    plan_identity,
    plan_slug,
    read_plan_file,
)


@dataclass(frozen=True)
class Site:
    """What every use case gets."""

    environ: Mapping[str, str]
    cwd: Path
    home: Home
    ledger: Ledger
    settings: Settings

    def config_text(self, workspace: Path) -> str:
        """The repository's configuration as it is now."""
        return read_config_text(workspace / REPOSITORY_FILE)


@dataclass(frozen=True)
class PlanPlace:
    """A plan found: its file, its identity, and the workspace it is about."""

    path: Path
    record: PlanRecord
    workspace: Path
    vault: Vault

    @property
    def name(self) -> str:
        """How people call it."""
        return self.record.name or self.path.stem

    def apart(self) -> frozenset[str]:
        """Paths of the workspace that are no work content: the vault and the plan file."""
        root = self.workspace
        places = (self.path, root / VAULT_FOLDER)
        return frozenset(str(p.relative_to(root)) for p in places if p.is_relative_to(root))

    def read(self) -> str:
        """The plan's text as it is now."""
        return decode(read_plan_file(self.path), str(self.path))

    def parse(self) -> Parsed:
        """The plan as it is now."""
        return parse(self.read())


def find_plan(cwd: Path, named: str | None, workspace: Path | None = None) -> PlanPlace:
    """PLAN is a path, a name, or nothing (the plan of the vault around here)."""
    path = _plan_path(cwd, named)
    if not path.exists() and not path.is_symlink():
        raise PlanNotFound(f"no plan at `{path}`", f"signoff init, or write `{path}`")
    # Not Path.resolve(): that raises on a circle of links, which reading the file then names.
    path = Path(os.path.realpath(path))
    repository = find_repository(path.parent)
    chosen = workspace or (repository.top if repository else cwd)
    root = Path(os.path.realpath(cwd / chosen))
    if not root.is_dir():
        raise WorkspaceMissing(f"the workspace `{root}` is not a folder")
    vault = path.parent if path.parent.name == VAULT_FOLDER else root / VAULT_FOLDER
    return PlanPlace(path, plan_identity(path), root, Vault(vault))


def vault_folder(cwd: Path) -> Path:
    """The vault around here: the main checkout's, else the current folder's."""
    repository = find_repository(cwd)
    return (repository.main if repository else cwd) / VAULT_FOLDER


def _plan_path(cwd: Path, named: str | None) -> Path:
    folder = vault_folder(cwd)
    if named is None:
        return folder / "PLAN.md"
    if not named:
        raise UsageError("the plan's name is empty", "name a plan file, or a plan of the vault")
    direct = cwd / named
    if "/" in named or named.endswith(".md") or direct.exists():
        return direct
    return folder / f"PLAN-{slug_of(named)}.md"


def slug_of(named: str) -> str:
    """A plan's name as a file name part; UsageError when it cannot be one."""
    try:
        return plan_slug(named)
    except ValueError as error:
        raise UsageError(str(error), "choose a short name without slashes") from error
