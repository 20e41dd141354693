"""Which repository a path belongs to, and which plan a file is; by looking at paths only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.digests import digest_of
from signoff.errors import SignoffError
from signoff.storage.files import read_plan_file
from signoff.storage.records import PlanRecord
from signoff.storage.vault import name_of_file

VAULT_FOLDER = ".harness"
_POINTER_BYTES = 16 * 1024
_ID_DIGITS = 16


@dataclass(frozen=True)
class Repository:
    """`top` is the checkout a path lies in, `main` the one whose vault serves all worktrees."""

    top: Path
    main: Path


def find_repository(start: Path) -> Repository | None:
    """The nearest checkout around `start`; git itself is not asked, its configuration not read."""
    real = Path(os.path.realpath(start))
    for folder in (real, *real.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            return Repository(folder, folder)
        if dot_git.is_file():
            return Repository(folder, _main_checkout(folder, dot_git))
    return None


def plan_identity(plan_path: Path) -> PlanRecord:
    """Repository and name for a plan in a repository's vault, else its real path."""
    real = Path(os.path.realpath(plan_path))
    repository = find_repository(real.parent)
    name = name_of_file(real.name)
    if repository and name is not None and real.parent == repository.top / VAULT_FOLDER:
        main = str(repository.main)
        return PlanRecord(_short_id("vault", main, name), name, str(real), main)
    # The name is for people; the identity keeps the exact bytes of the path.
    shown = os.fsencode(real.stem).decode("utf-8", "replace")
    return PlanRecord(_short_id("file", str(real)), shown, str(real), None)


def _main_checkout(top: Path, dot_git: Path) -> Path:
    """The main checkout of a linked worktree; `top` itself for a submodule or anything odd.

    Both ends must name each other: a `.git` file alone, which an agent can write, does not
    make a folder part of another repository.
    """
    pointer = _pointer(dot_git)
    if pointer is None or not pointer.startswith("gitdir:"):
        return top
    git_dir = _resolve(top, pointer.removeprefix("gitdir:").strip())
    common, back = _pointer(git_dir / "commondir"), _pointer(git_dir / "gitdir")
    if common is None or back is None or _resolve(git_dir, back) != dot_git:
        return top
    common_dir = _resolve(git_dir, common)
    if git_dir.parent != common_dir / "worktrees":
        return top
    return common_dir.parent if common_dir.name == ".git" else common_dir


def _pointer(path: Path) -> str | None:
    try:
        return os.fsdecode(read_plan_file(path, limit_bytes=_POINTER_BYTES)).strip()
    except SignoffError:
        return None


def _resolve(base: Path, target: str) -> Path:
    return Path(os.path.realpath(base / target))


def _short_id(*parts: str) -> str:
    return digest_of(list(parts))[:_ID_DIGITS]
