"""Surroundings of a command: the home, the ledger and the configuration, opened once."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from signoff.domain.names import name_of_file, shown_name
from signoff.domain.plan import Plan
from signoff.domain.redaction import Redactor, secret_variables
from signoff.domain.session import SESSION_ID
from signoff.errors import (
    PlanNameInvalid,
    PlanNotFound,
    SignoffError,
    UsageError,
    WorkspaceMissing,
    nearest,
)
from signoff.places import DATABASE_VARIABLE
from signoff.planfile.blocks import decode
from signoff.planfile.outline import plan_digest
from signoff.planfile.parse import Parsed, parse
from signoff.settings.loading import REPOSITORY_FILE, Settings, read_config_text
from signoff.storage.active import (
    SHARED_VAULT_FOLDER,
    STAGED_FOLDER,
    VAULT_FOLDER,
    VaultPlace,
    find_vault,
    resolve_active_plan,
)
from signoff.storage.files import read_plan_file
from signoff.storage.glance import open_glance
from signoff.storage.home import Home
from signoff.storage.identity import own_vault, plan_identity
from signoff.storage.ledger import Ledger
from signoff.storage.records import PlanRecord
from signoff.storage.vault import Vault
from signoff.workspace.checkout import is_git_directory
from signoff.workspace.folders import find_repository

MOST_FILES = 200_000


class Harness(Struct, frozen=True):
    """Input of every use case."""

    environ: Mapping[str, str]
    cwd: Path
    home: Home
    ledger: Ledger
    settings: Settings

    def config_text(self, workspace: Path) -> str:
        return read_config_text(workspace / REPOSITORY_FILE)


class PlanLocation(Struct, frozen=True):
    """A plan found: its file, its identity, and the workspace it is about."""

    path: Path
    record: PlanRecord
    workspace: Path
    vault: Vault
    shared: VaultPlace | None = None  # the shared vault around the caller, if the plan lies there
    gone: bool = False  # the file is not there, the text that was approved is pinned

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def name(self) -> str:
        return self.record.name or self.path.stem

    @property
    def name_in_vault(self) -> str | None:
        """The name by which other plans may need it; None of a file that lies elsewhere."""
        return name_of_file(self.path.name) if self.path.parent == self.vault.path else None

    @property
    def quoted(self) -> str:
        """The path as one word of a command to be pasted."""
        return shlex.quote(str(self.path))

    def apart(self) -> frozenset[str]:
        """Paths of the workspace that are no work content: the vault and the plan file."""
        root = self.workspace
        places = (self.path, root / VAULT_FOLDER, self.vault.path)
        return frozenset(str(p.relative_to(root)) for p in places if p.is_relative_to(root))

    def own_vault(self) -> None:
        """Claim a shared vault for its owner, before anything is written."""
        if self.shared is not None:
            own_vault(self.shared)

    @property
    def staged_name(self) -> str | None:
        """The name of a plan that waits in `queued-plans` of a vault; None of any other."""
        folder = self.path.parent
        in_vault = folder.parent.name in (VAULT_FOLDER, SHARED_VAULT_FOLDER)
        return name_of_file(self.path.name) if folder.name == STAGED_FOLDER and in_vault else None

    @property
    def to_approve(self) -> str:
        """The command that comes before its first run: a staged plan is activated first."""
        name = self.staged_name
        return f"signoff activate {shlex.quote(name)}" if name else f"signoff approve {self.quoted}"

    @property
    def putting_back(self) -> str:
        """The command that writes the approved text where the file was."""
        return f"signoff show {self.quoted} --approved > {self.quoted}"

    def read(self) -> str:
        if self.gone and not self.path.exists():
            raise PlanNotFound(
                f"the plan file `{self.path}` is gone",
                f"put it back as approved: {self.putting_back}",
            )
        return decode(read_plan_file(self.path), str(self.path))

    def digest(self) -> str:
        """Digest of its text now, marks and status aside."""
        return plan_digest(self.read())

    def parse(self) -> Parsed:
        return parse(self.read())

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Plans that come first, as the file says now; only plans of a vault name others."""
        return () if self.name_in_vault is None else self.parse().plan.depends_on


def vault_to_write(harness: Harness) -> VaultPlace:
    """The vault around here, before a plan is made there: nobody else's, and in no git folder."""
    place = find_vault(harness.cwd, harness.environ)
    refuse_bare(place)
    own_vault(place)
    return place


def refuse_bare(place: VaultPlace) -> None:
    """Refuse a bare repository: without a checkout nobody works, and nothing of ours belongs."""
    if is_git_directory(place.top):
        raise UsageError(
            f"`{place.top}` is a bare repository: there is no checkout here",
            f"git -C {shlex.quote(place.top)} worktree list, then cd into one of them",
        )


def session_place(workspace: Path, name: str) -> PlanLocation:
    """Place of a session, which has no plan file: the vault's folder stands for it."""
    folder = workspace / VAULT_FOLDER
    return PlanLocation(
        folder, PlanRecord(name, name, str(workspace), None), workspace, Vault(folder)
    )


def find_plan(
    cwd: Path,
    named: str | None,
    workspace: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    even_gone: bool = False,
    staged: bool = False,
) -> PlanLocation:
    """PLAN is a path, a name, or nothing (the plan this worktree is bound to, or the unnamed).

    With `even_gone`, an approved plan is found although its file is not there any more; with
    `staged`, the name of one that waits to be activated is enough.
    """
    environ = os.environ if environ is None else environ
    place = find_vault(cwd, environ)
    try:
        path = _plan_path(cwd, named, place, environ, even_gone=even_gone)
    except PlanNotFound as error:
        if not staged or "staged" not in error.facts:
            raise
        path = Path(error.facts["staged"])
    gone = not os.path.lexists(path) and even_gone and _was_approved(path, place, environ)
    if not path.exists() and not path.is_symlink() and not gone:
        raise PlanNotFound(f"no plan at `{path}`", _where_plans_are(place))
    if path.is_dir():
        raise PlanNotFound(f"`{path}` is a folder, not a plan", _where_plans_are(place))
    # Not Path.resolve(): that raises on a circle of links, which reading the file then names.
    path = Path(os.path.realpath(path))
    record = plan_identity(path, place)
    root = _workspace(cwd, path, record, workspace, place, environ)
    if not root.is_dir():
        raise WorkspaceMissing(f"the workspace `{root}` is not a folder")
    in_vault = record.repository is not None or path.parent.name == VAULT_FOLDER
    in_shared = place.shared and path.parent == Path(os.path.realpath(place.folder))
    vault = Vault(path.parent if in_vault or in_shared else root / VAULT_FOLDER)
    found = PlanLocation(path, record, root, vault, place if in_shared else None, gone)
    if found.staged_name is not None and not staged:
        said = f"plan `{found.staged_name}` is staged, and not yet a plan of `{path.parent.parent}`"
        raise PlanNotFound(said, found.to_approve)
    return found


def require_used(place: PlanLocation, roles: Iterable[str]) -> None:
    """Refuse a role of the command line that was misspelt for this plan."""
    targets = () if place.gone else place.parse().plan.roles
    require_targets(roles, targets, f"`{place.name}`")


def require_targets(roles: Iterable[str], targets: Collection[str | None], of: str) -> None:
    """Refuse a role that no step goes to, while a step goes to one of nearly its name."""
    for role in roles:
        close = "" if role in targets else nearest(role, filter(None, targets))
        if close:
            said = f"`--role {role}`: no step of {of} goes to it"
            raise UsageError(said, f"did you mean `{close}`?")


def _was_approved(path: Path, place: VaultPlace, environ: Mapping[str, str]) -> bool:
    with open_glance(environ) as ledger:
        return ledger.was_approved(plan_identity(path, place).id)


def _where_plans_are(place: VaultPlace) -> str:
    """The command to look for plans; a list that would be empty is not offered."""
    if Vault(place.folder).list_plans():
        return "signoff list-plans"
    return "signoff init, or name a file that exists"


def _plan_path(
    cwd: Path, named: str | None, place: VaultPlace, environ: Mapping[str, str], *, even_gone: bool
) -> Path:
    if named is None:
        return resolve_active_plan(cwd=cwd, environ=environ, creating=True).plan_path
    if not named:
        raise UsageError("the plan's name is empty", "name a plan file, or a plan of the vault")
    if SESSION_ID.fullmatch(named):
        raise UsageError(f"`{named}` is an agent's session, not a plan", f"signoff status {named}")
    if "/" in named:
        return _not_a_copy(cwd / named, place)
    direct = cwd / named
    try:
        in_vault = resolve_active_plan(named, cwd=cwd, environ=environ).plan_path
    except (SignoffError, ValueError) as error:
        # `notes.md` that is nowhere is missed as a file; a name is missed as a plan.
        as_file = named.endswith(".md") and not isinstance(error, PlanNameInvalid)
        if direct.is_file() or direct.is_symlink() or as_file:
            return _not_a_copy(direct, place)
        if even_gone and isinstance(error, PlanNotFound):
            path = resolve_active_plan(named, cwd=cwd, environ=environ, creating=True).plan_path
            if _was_approved(path, place, environ):
                return path
        raise
    if direct.is_file() and not direct.samefile(in_vault):
        here, there = shlex.quote(f"./{named}"), shlex.quote(str(in_vault))
        raise UsageError(
            f"`{named}` is a file here and a plan of the vault",
            f"say {here} for the file, or {there} for the plan",
        )
    return in_vault


def _not_a_copy(path: Path, place: VaultPlace) -> Path:
    """Refuse a plan that git brought along as a copy: the main checkout's vault serves all."""
    real = Path(os.path.realpath(path))
    name = name_of_file(real.name)
    repository = find_repository(real.parent) if name is not None else None
    if repository is None or name is None or repository.top == repository.main:
        return path
    if real.parent != repository.top / VAULT_FOLDER:
        return path
    home = place.folder if place.repository == repository.main else repository.main / VAULT_FOLDER
    raise UsageError(
        f"`{path}` is a copy in a worktree; plans are kept in `{home}`",
        f"name the plan: {shlex.quote(shown_name(name))}",
    )


def _workspace(
    cwd: Path,
    path: Path,
    record: PlanRecord,
    chosen: Path | None,
    place: VaultPlace,
    environ: Mapping[str, str],
) -> Path:
    """The chosen folder, else the plan's own worktree, else the checkout around us or the plan."""
    if chosen is not None:
        return Path(os.path.realpath(cwd / chosen))
    if record.repository is None:
        repository = find_repository(path.parent)
        return Path(os.path.realpath(repository.top if repository else cwd))
    if (Path(record.repository) / ".git" / "worktrees").is_dir() or place.shared:
        with open_glance(environ) as ledger:
            bound = ledger.worktree_of(record.id)
        if bound is not None and bound.is_dir():
            return bound
    inside = place.repository is not None and str(place.repository) == record.repository
    return place.worktree if inside else Path(record.repository)


def file_names(workspace: Path) -> list[str]:
    """The files of a workspace by name, git's own left out; of very many only the first."""
    found: list[str] = []
    for folder, folders, files in os.walk(workspace):
        folders[:] = [name for name in folders if name != ".git"]
        base = os.path.relpath(folder, workspace)
        found.extend(name if base == "." else f"{base}/{name}" for name in files)
        if len(found) > MOST_FILES:
            break
    return found


def is_surely_gone(path: Path) -> bool:
    """True when nothing is there; what cannot be looked at may be there."""
    try:
        path.lstat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


def known_secrets(
    environ: Mapping[str, str],
    settings: Settings,
    database_url: str | None,
    passed: Iterable[str] = (),
) -> Redactor:
    """Takes out the database's address, secret variables, and those that roles get by name."""
    names = {*passed, *(name for role in settings.roles.values() for name in role.env)}
    secrets = list(secret_variables(environ, sorted(names)))
    if database_url:
        secrets += secret_variables({DATABASE_VARIABLE: database_url}, ())
    return Redactor(secrets)


def redactor_of(harness: Harness, plan: Plan, settings: Settings) -> Redactor:
    """Takes out what the person keeps secret, variables that this plan's contracts get included.

    From here on the ledger takes the same out of everything that is appended.
    """
    passed = [n for s in plan.subjects if s.contract is not None for n in s.contract.env]
    found = known_secrets(harness.environ, settings, harness.settings.database_url, passed)
    harness.ledger.redactor = found
    return found
