"""Find the folder of plans, and the plan that a session works on: named, bound or unnamed.

resolve_active_plan(name) → the plan's files, or an error; never silently another plan

By paths, variables and the user's own file only. Light on purpose: what must answer at once
(`resolve-active-plan`, `session-start`) starts here.
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
    path_component,
    plan_file,
    plan_slug,
    progress_file,
)
from signoff.errors import (
    ActivePlanError,
    ConfigInvalid,
    NoVault,
    PlanNameInvalid,
    PlanNotFound,
    VaultClash,
)
from signoff.places import as_path, user_choice, user_file
from signoff.storage.glance import Bound, open_glance
from signoff.workspace.checkout import (
    bare_repository_around,
    find_checkout,
    is_git_directory,
    read_small,
)

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VAULT_FOLDER = ".harness"
SHARED_VAULT_FOLDER = "_harness"
STAGED_FOLDER = "queued-plans"  # in the vault: plans that wait to be activated
VAULT_VARIABLE = "SIGNOFF_VAULT"
PROJECT_VARIABLE = "SIGNOFF_PROJECT"
OWNERS_FILE = ".repositories"
_OWNERS_BYTES = 256 * 1024


class VaultPlace(namedtuple("VaultPlace", ("at", "top", "main", "shared"))):
    """The vault around a folder, on plain text: `top` is the checkout there, `main` its main one.

    The same as paths, for who can afford to make them: `folder`, `worktree`, `repository`.
    """

    __slots__ = ()
    at: str
    top: str
    main: str | None
    shared: bool

    @property
    def owner(self) -> str:
        """Owner of the plans: the repository, else the folder itself."""
        return self.main or self.top

    @property
    def folder(self) -> Path:
        """Folder of the plans."""
        return as_path(self.at)

    @property
    def worktree(self) -> Path:
        """The checkout we are in, or the folder where there is none."""
        return as_path(self.top)

    @property
    def repository(self) -> Path | None:
        """The main checkout."""
        return None if self.main is None else as_path(self.main)


def find_vault(cwd: str | os.PathLike[str], environ: Mapping[str, str]) -> VaultPlace:
    """The main checkout's vault, else the current folder's; VaultClash if it is another's."""
    checkout = find_checkout(cwd)
    if checkout is None and (bare := bare_repository_around(cwd)) is not None:
        checkout = (bare, bare)  # the plans of its worktrees are kept there
    top, main = checkout or (os.path.realpath(cwd),) * 2
    base = _shared_vault(environ)
    owner = main if checkout else None
    if base is None:
        return VaultPlace(os.path.join(main, VAULT_FOLDER), top, owner, shared=False)
    folder = os.path.join(base, _project(main, environ), SHARED_VAULT_FOLDER)
    place = VaultPlace(folder, top, owner, shared=True)
    refuse_clash(place)
    return place


def repository_of_vault(folder: Path) -> Path | None:
    """The main checkout whose plans this folder holds; None if it is no repository's vault."""
    if folder.name == VAULT_FOLDER:
        if is_git_directory(folder.parent):
            return folder.parent  # a bare repository keeps the plans of its worktrees
        checkout = find_checkout(folder.parent)
        return as_path(checkout[1]) if checkout and checkout[0] == str(folder.parent) else None
    if folder.name == SHARED_VAULT_FOLDER:
        living = _living(owners(folder))
        only = living[0] if len(living) == 1 else None
        return as_path(only) if only is not None and _is_repository(only) else None
    return None


def owners(folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """The places of this machine that said they keep their plans in this shared folder."""
    data = read_small(os.path.join(folder, OWNERS_FILE), _OWNERS_BYTES) or b""
    lines = (os.fsdecode(line).split("\t", 1) for line in data.split(b"\n") if b"\t" in line)
    return tuple(path for host, path in lines if host == os.uname().nodename)


def refuse_clash(place: VaultPlace) -> None:
    """Refuse two repositories of the same name that would read each other's plans."""
    known = owners(place.at)
    if place.owner in known:
        return
    living = _living(known)
    if living:
        raise VaultClash(
            f"`{place.at}` holds the plans of `{living[0]}`, not of `{place.owner}`",
            facts={"folder": place.at, "owner": living[0]},
        )


def _living(places: tuple[str, ...]) -> list[str]:
    return [path for path in places if os.path.isdir(path)]


def _is_repository(path: str) -> bool:
    return os.path.exists(os.path.join(path, ".git")) or is_git_directory(path)


def _shared_vault(environ: Mapping[str, str]) -> str | None:
    chosen = environ.get(VAULT_VARIABLE)
    where = VAULT_VARIABLE
    if not chosen:
        chosen = user_choice(environ, "vault")
        if not chosen:
            return None
        where = f"`vault` in `{user_file(environ)}`"
    if not isinstance(chosen, str):
        raise ConfigInvalid(f"{where} must be a text")
    path = os.path.expanduser(chosen)
    if not os.path.isabs(path):
        raise ConfigInvalid(
            f"{where} is `{chosen}`: a relative path is another folder wherever you are",
            "name the shared vault by its absolute path",
        )
    return path


def _project(main: str, environ: Mapping[str, str]) -> str:
    """The folder of this repository in a shared vault; only the user may choose another."""
    named = environ.get(PROJECT_VARIABLE)
    if not named:
        projects = user_choice(environ, "projects")
        named = projects.get(main) if isinstance(projects, dict) else None
    if named is None:
        return os.path.basename(main)
    try:
        return path_component(str(named), "project name")
    except ValueError as error:
        raise ConfigInvalid(
            f"the project name `{named}` cannot be the name of a folder",
            "choose letters, digits and dashes",
        ) from error


MARKER = "active-plan"
MARKER_RULE = f"/{VAULT_FOLDER}/{MARKER}"  # keeps it out of git
_MARKER_BYTES = 4096
_BLANK_BYTES = 4096  # a larger file is not read to see whether it is blank


class Source(Enum):
    """The source that decided on the plan."""

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
    """Path of a worktree's marker; in the worktree, never in a shared vault."""
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
        facts = {"name": slug, "plan": plan}
        staged = os.path.join(place.at, STAGED_FOLDER, plan_file(slug))
        if slug and os.path.isfile(staged):
            import shlex  # noqa: PLC0415 - as below

            said = f"plan `{plan}` is staged, and not yet a plan of `{place.at}`"
            next_ = f"signoff activate {shlex.quote(slug)}"
            raise PlanNotFound(said, next_, {**facts, "staged": staged})
        raise PlanNotFound(f"plan `{plan}` {problem}", "signoff list-plans", facts)
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
    """The reason why a name does not stand for one plan with content; empty when it does."""
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
            "the ledger knows nothing of that marker",
            "signoff bind NAME to bind it, signoff unbind to remove the marker",
            facts,
        )
    said = f"names plan `{marked}`" if marked is not None else "is gone"
    return ActivePlanError(
        f"`{path}` {said}, but the ledger binds this worktree to `{recorded.name}`",
        f"signoff bind {shlex.quote(recorded.name)} to write it again, or signoff unbind",
        facts,
    )
