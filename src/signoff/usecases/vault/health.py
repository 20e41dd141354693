"""A doctor's word on one thing, and on the vault: plans, markers, worktrees, conflicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from signoff.domain.names import plan_file, shown_name
from signoff.errors import ActivePlanError, SignoffError
from signoff.storage.active import read_binding
from signoff.storage.location import VaultPlace, find_vault
from signoff.storage.vault import Vault
from signoff.usecases.conflicts import find_conflicts
from signoff.workspace.git import Git
from signoff.workspace.repository import Repository
from signoff.workspace.worktrees import Worktree, WorktreeState, list_worktrees

MOST_NAMED = 10


class Health(StrEnum):
    """How one thing is."""

    OK = "ok"
    WARN = "warn"  # works, with less than there could be
    FAIL = "fail"  # signoff cannot work like this


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what to do about it."""

    name: str
    health: Health
    detail: str
    next: str = ""


def vault_checks(environ: Mapping[str, str], cwd: Path) -> Iterator[Check]:
    """Everything about plans; what cannot be found out is a line too."""
    try:
        place = find_vault(cwd, environ)
        if place.repository is None and not place.folder.exists():
            detail = f"none yet: `{cwd}` is in no repository and has no vault"
            yield Check("vault", Health.WARN, detail, "signoff init, in the folder of your work")
            return
        yield from _vault(place)
    except SignoffError as error:
        yield Check("vault", Health.FAIL, error.message, error.hint)
        return
    try:
        worktrees = _worktrees(place, environ)
    except SignoffError as error:
        yield Check("worktrees", Health.WARN, error.message, error.hint)
        worktrees = ()
    here = {place.worktree, *(w.path for w in worktrees if w.state is WorktreeState.PRESENT)}
    for folder in sorted(here):
        yield from _marker(folder, environ)
    yield from _lost(worktrees)


def _vault(place: VaultPlace) -> Iterator[Check]:
    vault = Vault(place.folder)
    names = vault.list_plans()
    if not names:
        yield Check("vault", Health.FAIL, f"no plan in `{vault.path}`", "signoff init")
    else:
        files = [plan_file(name) for name in names]
        more = f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else ""
        named = sum(1 for name in names if name)
        said = f"{len(files)} plans, {named} of them named"
        if len(files) == 1:
            said = "one plan with a name" if named else "one plan without a name"
        detail = f"`{vault.path}`: {said}: {', '.join(files[:MOST_NAMED])}{more}"
        yield Check("vault", Health.OK, detail)
    odd = vault.odd_names()
    if odd:
        shown = ", ".join(f"`{name}`" for name in odd[:MOST_NAMED])
        detail = f"{shown} in `{vault.path}`: looks like a plan and is none"
        yield Check("names", Health.WARN, detail, "signoff check")
    conflicts = find_conflicts(vault)
    if not conflicts:
        yield Check("conflicts", Health.OK, "no conflict copies")
        return
    shown = ", ".join(f"`{conflict.path.name}`" for conflict in conflicts[:MOST_NAMED])
    more = f" and {len(conflicts) - MOST_NAMED} more" if len(conflicts) > MOST_NAMED else ""
    yield Check("conflicts", Health.WARN, f"{shown}{more}", "signoff conflicts")


def _worktrees(place: VaultPlace, environ: Mapping[str, str]) -> tuple[Worktree, ...]:
    if place.repository is None:
        return ()
    with Git.open(Repository(place.worktree, place.repository), environ) as git:
        return list_worktrees(git)


def _marker(worktree: Path, environ: Mapping[str, str]) -> Iterator[Check]:
    name = f"binding of `{worktree}`"
    try:
        bound = read_binding(find_vault(worktree, environ), environ)
    except ActivePlanError as error:
        yield Check(name, Health.WARN, f"DANGLING: {error.message}", error.hint)
    except SignoffError as error:
        yield Check(name, Health.WARN, error.message, error.hint)
    else:
        yield Check(name, Health.OK, "none" if bound is None else f"plan `{shown_name(bound)}`")


def _lost(worktrees: tuple[Worktree, ...]) -> Iterator[Check]:
    lost = [w for w in worktrees if w.state is not WorktreeState.PRESENT]
    for worktree in lost:
        said = (
            "its folder is gone"
            if worktree.state is WorktreeState.MISSING
            else "the folder there is not this worktree any more"
        )
        name = f"worktree `{worktree.path}`"
        yield Check(name, Health.WARN, said, "signoff worktree prune")
    if worktrees and not lost:
        yield Check("worktrees", Health.OK, f"{len(worktrees)}, all there")
