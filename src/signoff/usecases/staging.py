"""`activate`: a plan that was staged in `queued-plans/` becomes a plan of the vault."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.globs import has_wildcard, matches
from signoff.errors import PlanConflict, PlanNotFound, PlanUnreadable, SignoffError
from signoff.planfile.parse import parse
from signoff.storage.location import STAGED_FOLDER
from signoff.storage.vault import Vault, checked_slug
from signoff.testing.crash import VaultPoint, reach
from signoff.usecases.harness import Harness, file_names, vault_to_write


@dataclass(frozen=True)
class ActivateReport:
    """A plan that is in the vault now."""

    name: str
    path: Path
    digest: str


def staged_vault(vault: Vault) -> Vault:
    """Where plans wait that are not plans of the vault yet; the same rules hold for their files."""
    return Vault(vault.path / STAGED_FOLDER)


def activate(harness: Harness, name: str, *, anyway: bool = False) -> ActivateReport:
    """Move a staged plan into the vault; a plan that is there is never overwritten.

    Killed in between, the plan is active, and the staged text is still there to be removed.
    """
    slug = checked_slug(name, new=True)
    place = vault_to_write(harness)
    vault = Vault(place.folder)
    staged = staged_vault(vault)
    _refuse_existing(vault, staged, slug)
    try:
        text, _ = staged.read_plan(slug)
    except PlanNotFound as error:
        hint = f"signoff new {shlex.quote(slug)} --staged"
        raise PlanNotFound(f"no plan `{slug}` is staged in `{staged.path}`", hint) from error
    if not text.strip():
        path = shlex.quote(str(staged.plan_path(slug)))
        raise PlanUnreadable(f"the staged plan `{slug}` is empty", f"rm {path}, or write it")
    if not anyway:
        _refuse_finished(slug, text, place.worktree)
    # The same lock and the same exclusive creation as for any other plan.
    digest = vault.swap_plan(slug, expected=None, text=text)
    reach(VaultPoint.PLAN_ACTIVATED)
    staged.plan_path(slug).unlink(missing_ok=True)
    return ActivateReport(slug, vault.plan_path(slug), digest)


def _refuse_existing(vault: Vault, staged: Vault, slug: str) -> None:
    path = vault.plan_path(slug)
    if not os.path.lexists(path):
        return
    said, hint = f"plan `{slug}` exists already: `{path}`", f"signoff show {shlex.quote(slug)}"
    waiting = staged.plan_path(slug)
    if os.path.lexists(waiting):
        hint = shlex.join(["diff", str(path), str(waiting)])
        try:
            if staged.read_plan(slug) == vault.read_plan(slug):
                said, hint = f"{said}, with the same text", shlex.join(["rm", str(waiting)])
        except SignoffError:
            pass  # whichever cannot be read, the plan is there
    raise PlanConflict(said, hint)


def _refuse_finished(slug: str, text: str, workspace: Path) -> None:
    produced = [glob for step in parse(text).plan.steps for glob in step.produces]
    names = file_names(workspace) if any(map(has_wildcard, produced)) else []

    def exists(glob: str) -> bool:
        if has_wildcard(glob):
            return any(matches(glob, name) for name in names)
        return os.path.lexists(workspace / glob)

    if not produced or not all(map(exists, produced)):
        return
    shown = ", ".join(f"`{glob}`" for glob in produced[:5])
    more = f" and {len(produced) - 5} more" if len(produced) > 5 else ""
    raise PlanConflict(
        f"everything that plan `{slug}` produces exists already: {shown}{more}",
        f"signoff activate {shlex.quote(slug)} --anyway",
    )
