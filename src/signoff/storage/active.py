"""Which plan a session works on: the name given, else the worktree's marker, else the unnamed one.

resolve_active_plan(name) → the plan's files, or an error; never silently another plan
"""

from __future__ import annotations

import os
from collections import namedtuple
from enum import Enum
from stat import S_ISREG

from signoff.domain.names import (
    UNNAMED_PLAN,
    folded,
    name_of_file,
    plan_file,
    plan_slug,
    progress_file,
)
from signoff.errors import ActivePlanError, NoVault, PlanNameInvalid, PlanNotFound
from signoff.places import as_path
from signoff.storage.glance import Bound, open_glance
from signoff.storage.location import VAULT_FOLDER, VaultPlace, find_vault
from signoff.workspace.checkout import read_small

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MARKER = "active-plan"
MARKER_RULE = f"/{VAULT_FOLDER}/{MARKER}"  # keeps it out of git
_MARKER_BYTES = 4096
_BLANK_BYTES = 4096  # a larger file is not read to see whether it is blank


class Source(Enum):
    """What decided."""

    ARGUMENT = "argument"
    MARKER = "marker"
    UNNAMED = "unnamed"


class ActivePlan(namedtuple("ActivePlan", ("name", "place", "source"))):
    """A plan, where its pair of files lies, and why it is this one."""

    __slots__ = ()
    name: str
    place: VaultPlace
    source: Source

    @property
    def plan_path(self) -> Path:
        """The plan's file."""
        return as_path(self.plan_at)

    @property
    def progress_path(self) -> Path:
        """The file of its progress."""
        return as_path(self.progress_at)

    @property
    def plan_at(self) -> str:
        """The plan's file as plain text."""
        return os.path.join(self.place.at, plan_file(self.name))

    @property
    def progress_at(self) -> str:
        """The file of its progress as plain text."""
        return os.path.join(self.place.at, progress_file(self.name))


def resolve_active_plan(
    plan: str | None = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    creating: bool = False,
) -> ActivePlan:
    """The one way from what was said (or not) to a plan.

    Raises ValueError for a bad or unknown name (unless the caller is `creating` it),
    ActivePlanError for a marker that cannot be trusted, NoVault where there are no plans at all.
    """
    environ = os.environ if environ is None else environ
    place = find_vault(os.getcwd() if cwd is None else cwd, environ)
    if plan is not None:
        return _named(place, plan, creating)
    bound = read_binding(place, environ)
    if bound is not None:
        return ActivePlan(bound, place, Source.MARKER)
    if not os.path.isdir(place.at) and not creating:
        raise NoVault(f"no vault at `{place.at}`")
    return ActivePlan("", place, Source.UNNAMED)


def list_plan_files(folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Every plan file of a vault, the unnamed one first; no vault, no plans."""
    base = as_path(folder)
    return tuple(base / plan_file(name) for name in sorted(plan_names(base)))


def plan_names(folder: str | os.PathLike[str]) -> list[str]:
    """The names of all plans in a vault, unsorted."""
    try:
        with os.scandir(folder) as found:
            names = [name_of_file(entry.name) for entry in found]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [name for name in names if name is not None]


def marker_path(worktree: Path) -> Path:
    """Where a worktree says which plan it works on; in the worktree, never in a shared vault."""
    return worktree / VAULT_FOLDER / MARKER


def _marker(place: VaultPlace) -> str:
    return os.path.join(place.top, VAULT_FOLDER, MARKER)


def read_binding(place: VaultPlace, environ: Mapping[str, str]) -> str | None:
    """The plan that marker and ledger agree on; None when there is neither."""
    marked = _read_marker(place)
    if place.main is not None:
        with open_glance(environ) as ledger:
            recorded = ledger.binding(place.top, place.main)
        if recorded is not None and recorded.name != marked:
            raise _disagreement(place, marked, recorded)
    problem = _problem(place, marked) if marked is not None else ""
    if problem:
        raise ActivePlanError(
            f"`{_marker(place)}` names plan `{marked}`, which {problem}",
            facts={"dangling": marked},
        )
    return marked


def _named(place: VaultPlace, plan: str, creating: bool) -> ActivePlan:
    slug = ""
    if plan not in (UNNAMED_PLAN, UNNAMED_PLAN.removesuffix(".md")):
        try:
            slug = plan_slug(plan)
        except ValueError as error:
            raise PlanNameInvalid(str(error), facts={"name": plan}) from error
    if creating:
        return ActivePlan(slug, place, Source.ARGUMENT)
    if not os.path.isdir(place.at):
        raise NoVault(f"no vault at `{place.at}`")
    problem = _problem(place, slug)
    if problem:
        raise PlanNotFound(
            f"plan `{plan}` {problem}", "signoff list-plans", {"name": slug, "plan": plan}
        )
    return ActivePlan(slug, place, Source.ARGUMENT)


def _read_marker(place: VaultPlace) -> str | None:
    """The marker's slug; anything but one clean name is an error."""
    path = _marker(place)
    if not os.path.lexists(path):
        return None
    data = read_small(path, _MARKER_BYTES)
    if data is None:
        raise ActivePlanError(f"the marker `{path}` is not a small regular file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ActivePlanError(f"the marker `{path}` is not UTF-8") from error
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        raise ActivePlanError(f"the marker `{path}` is blank")
    if len(lines) > 1:
        raise ActivePlanError(f"the marker `{path}` names {len(lines)} plans; it must name one")
    try:
        return plan_slug(lines[0])
    except ValueError as error:
        facts = {"dangling": lines[0]}
        raise ActivePlanError(f"the marker `{path}` is unsafe: {error}", facts=facts) from error


def _problem(place: VaultPlace, slug: str) -> str:
    """What keeps a name from standing for one plan with something in it; empty when nothing."""
    path = os.path.join(place.at, plan_file(slug))
    wanted = folded(slug)
    alike = sorted(n for n in plan_names(place.at) if folded(n) == wanted)
    others = [name for name in alike if name != slug]
    if slug not in alike:
        near = f" (there is `{others[0]}`)" if others else ""
        return f"is not in `{place.at}`{near}"
    if others:
        return f"is ambiguous: `{others[0]}` differs only in case or composition"
    try:
        regular = S_ISREG(os.lstat(path).st_mode)
    except OSError:
        regular = False
    if not regular:
        return f"is not a regular file: `{path}`"
    data = read_small(path, _BLANK_BYTES)
    return f"is empty: `{path}`" if data is not None and not data.strip() else ""


def _disagreement(place: VaultPlace, marked: str | None, recorded: Bound) -> ActivePlanError:
    import shlex  # noqa: PLC0415 - only an error needs it, and answers should come at once

    path = _marker(place)
    facts = {"marker": marked, "recorded": recorded.name, "dangling": marked or ""}
    if recorded.name is None:
        return ActivePlanError(
            f"`{path}` names plan `{marked}`, but this worktree was unbound; "
            "somebody wrote the marker behind the ledger",
            "signoff bind NAME to bind it, signoff unbind to remove the marker",
            facts,
        )
    said = f"names plan `{marked}`" if marked is not None else "is gone"
    return ActivePlanError(
        f"`{path}` {said}, but the ledger binds this worktree to `{recorded.name}`",
        f"signoff bind {shlex.quote(recorded.name)} to write it again, or signoff unbind",
        facts,
    )
