"""`doctor`: what this machine offers and what is missing, found out by trying it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from signoff.agents.command import troubles_of
from signoff.domain.clients import CLIENTS
from signoff.domain.names import plan_file, shown_name
from signoff.domain.verdict import Isolation
from signoff.errors import ActivePlanError, SignoffError
from signoff.places import resolve_home
from signoff.process.environment import STANDARD_PATH, safe_search_path
from signoff.process.sandboxes import best_isolation, probe_sandboxes
from signoff.process.shell import find_tool
from signoff.process.tree import full_control
from signoff.settings.loading import Settings, load_settings
from signoff.storage.active import read_binding
from signoff.storage.database import open_database
from signoff.storage.home import Home
from signoff.storage.ledger import Ledger
from signoff.storage.location import VaultPlace, find_vault
from signoff.storage.vault import Vault
from signoff.usecases.clients.files import Scope
from signoff.usecases.conflicts import find_conflicts
from signoff.usecases.install import hooks_file
from signoff.usecases.openwork import opened_places, unopened, wanted_isolation
from signoff.usecases.person import ADVICE, in_words, open_sockets
from signoff.verification.enclosure import Enclosure
from signoff.workspace.git import Git
from signoff.workspace.repository import Repository, find_repository
from signoff.workspace.worktrees import Worktree, WorktreeState, list_worktrees

MOST_NAMED = 10


class Health(StrEnum):
    """How one thing is."""

    OK = "ok"
    WARN = "warn"  # works, with less than there could be
    FAIL = "fail"  # signoff cannot work like this


@dataclass(frozen=True)
class HealthCheck:
    """One thing that was looked at, and what to do about it."""

    name: str
    health: Health
    detail: str
    next: str = ""


@dataclass(frozen=True)
class DoctorReport:
    """Everything that was looked at."""

    checks: tuple[HealthCheck, ...]

    @property
    def healthy(self) -> bool:
        """Whether signoff can work here."""
        return all(check.health is not Health.FAIL for check in self.checks)


def examine(environ: Mapping[str, str], cwd: Path) -> DoctorReport:
    """Look at everything; one thing that is broken hides no other."""
    checks = (
        *_machine(),
        *_sandboxes(),
        *_configuration(environ, cwd),
        *_plans(environ, cwd),
        _hooks(environ, cwd),
    )
    return DoctorReport(checks)


def _machine() -> Iterator[HealthCheck]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield HealthCheck("python", Health.OK, version)
    for tool, needed in (("bash", Health.FAIL), ("git", Health.WARN)):
        path = find_tool(tool, STANDARD_PATH)
        if path is None:
            yield HealthCheck(tool, needed, "not found", f"install {tool} with the package manager")
        else:
            yield HealthCheck(tool, Health.OK, str(path))
    if full_control():
        yield HealthCheck("processes", Health.OK, "everything an attempt starts can be ended")
    else:
        detail = "a process that detaches itself may outlive its attempt"
        yield HealthCheck("processes", Health.WARN, detail, "use Linux for the full promise")


def _sandboxes() -> Iterator[HealthCheck]:
    hints = {
        Isolation.BUBBLEWRAP: "install bubblewrap, and allow user namespaces",
        Isolation.NAMESPACES: "allow user namespaces, or install bubblewrap",
        Isolation.LANDLOCK: "use Linux 5.13 or newer with Landlock switched on",
    }
    for support in probe_sandboxes():
        name = f"sandbox {support.isolation}"
        if support.available:
            yield HealthCheck(name, Health.OK, support.detail)
        else:
            yield HealthCheck(name, Health.WARN, support.detail, hints[support.isolation])


def _configuration(environ: Mapping[str, str], cwd: Path) -> Iterator[HealthCheck]:
    repository = find_repository(cwd)
    try:
        settings = load_settings(repository.top if repository else cwd, environ)
    except SignoffError as error:
        yield HealthCheck("configuration", Health.FAIL, error.message, error.hint)
        settings = Settings()
    else:
        yield HealthCheck(
            "configuration", Health.OK, f"roles: {', '.join(settings.roles) or 'none'}"
        )
        yield _isolation(settings)
        yield from _sockets(settings, environ)
        yield from _opened(settings, environ, repository.top if repository else cwd)
        yield from _roles(settings, environ, repository.top if repository else cwd)
    yield from _home(environ, settings)


def _isolation(settings: Settings) -> HealthCheck:
    chosen = best_isolation(wanted_isolation(settings))
    working = {s.isolation for s in probe_sandboxes() if s.available} | {Isolation.NONE}
    if chosen not in working:
        hint = "change `isolation` under [sandbox] in your own configuration, or install it"
        return HealthCheck(
            "isolation", Health.FAIL, f"`{chosen}` is chosen and does not work here", hint
        )
    if chosen is Isolation.NONE:
        required = settings.policy.require_sandbox
        detail = "none: contracts and agents run without a sandbox"
        return HealthCheck("isolation", Health.FAIL if required else Health.WARN, detail)
    return HealthCheck("isolation", Health.OK, str(chosen))


def _sockets(settings: Settings, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Programs of the user that an agent could have act for it."""
    found = open_sockets(settings, environ)
    if found:
        health = Health.FAIL if settings.policy.require_sandbox else Health.WARN
        yield HealthCheck("sockets", health, in_words(found), ADVICE)


def _opened(
    settings: Settings, environ: Mapping[str, str], workspace: Path
) -> Iterator[HealthCheck]:
    """What the user opened to agents and contracts, and is not there."""
    isolation = best_isolation(wanted_isolation(settings))
    user = Path(environ.get("HOME", "/"))
    readable, writable = opened_places(settings, user, workspace)
    agents = settings.sandbox.agents
    enclosure = Enclosure(isolation, readable=readable, writable=writable, agents=agents)
    missing = unopened(enclosure, workspace)
    if missing is not None:
        yield HealthCheck("sandbox places", Health.WARN, missing.said, missing.advice)


def _roles(
    settings: Settings, environ: Mapping[str, str], workspace: Path
) -> Iterator[HealthCheck]:
    """Whether the programs that would do the work are there; a role nobody uses stops nothing."""
    path = safe_search_path(environ.get("PATH", ""), workspace)
    for role in settings.roles.values():
        name = f"role {role.name}"
        troubles = tuple(troubles_of(role, path, workspace, environ))
        for trouble in troubles:
            yield HealthCheck(name, Health.WARN, trouble.message, trouble.hint)
        if not troubles:
            yield HealthCheck(name, Health.OK, shlex.split(role.command)[0])


def _home(environ: Mapping[str, str], settings: Settings) -> Iterator[HealthCheck]:
    try:
        home = Home(resolve_home(environ))
        yield HealthCheck("home", Health.OK, str(home.path))
        ledger = Ledger(open_database(settings.database_url or home.database_url))
        plans = len(ledger.plans())
        kind = "PostgreSQL" if settings.database_url else "embedded SQLite"
        yield HealthCheck("database", Health.OK, f"{kind}, plans known: {plans}")
    except SignoffError as error:
        yield HealthCheck("home and database", Health.FAIL, error.message, error.hint)


def _hooks(environ: Mapping[str, str], cwd: Path) -> HealthCheck:
    """In which clients signoff is installed, for this project or for the user."""
    repository = find_repository(cwd)
    top = repository.top if repository else cwd
    found = [
        f"{client.name} ({scope.value})"
        for client in CLIENTS.values()
        for scope in Scope
        if hooks_file(client, scope, top, environ)
    ]
    return HealthCheck("hooks", Health.OK, ", ".join(found) or "none installed")


def _plans(environ: Mapping[str, str], cwd: Path) -> Iterator[HealthCheck]:
    """Everything about plans; what cannot be found out is a line too."""
    try:
        place = find_vault(cwd, environ)
        if place.repository is None and not place.folder.exists():
            detail = f"none yet: `{cwd}` is in no repository and has no vault"
            yield HealthCheck(
                "vault", Health.WARN, detail, "signoff init, in the folder of your work"
            )
            return
        yield from _vault(place)
    except SignoffError as error:
        yield HealthCheck("vault", Health.FAIL, error.message, error.hint)
        return
    try:
        worktrees = _worktrees(place, environ)
    except SignoffError as error:
        yield HealthCheck("worktrees", Health.WARN, error.message, error.hint)
        worktrees = ()
    here = {place.worktree, *(w.path for w in worktrees if w.state is WorktreeState.PRESENT)}
    for folder in sorted(here):
        yield from _marker(folder, environ)
    yield from _lost(worktrees)


def _vault(place: VaultPlace) -> Iterator[HealthCheck]:
    vault = Vault(place.folder)
    names = vault.list_plans()
    if not names:
        yield HealthCheck("vault", Health.FAIL, f"no plan in `{vault.path}`", "signoff init")
    else:
        named = sum(1 for name in names if name)
        said = f"{len(names)} plans, {named} of them named"
        if len(names) == 1:
            said = "one plan with a name" if named else "one plan without a name"
        detail = f"`{vault.path}`: {said}: {_some([plan_file(name) for name in names])}"
        yield HealthCheck("vault", Health.OK, detail)
    odd = vault.odd_names()
    if odd:
        shown = _some([f"`{name}`" for name in odd])
        detail = f"{shown} in `{vault.path}`: looks like a plan and is none"
        yield HealthCheck("names", Health.WARN, detail, "signoff check")
    conflicts = find_conflicts(vault)
    if not conflicts:
        yield HealthCheck("conflicts", Health.OK, "no conflict copies")
        return
    shown = _some([f"`{conflict.path.name}`" for conflict in conflicts])
    yield HealthCheck("conflicts", Health.WARN, shown, "signoff conflicts")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _worktrees(place: VaultPlace, environ: Mapping[str, str]) -> tuple[Worktree, ...]:
    if place.repository is None:
        return ()
    with Git.open(Repository(place.worktree, place.repository), environ) as git:
        return list_worktrees(git)


def _marker(worktree: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    name = f"binding of `{worktree}`"
    try:
        bound = read_binding(find_vault(worktree, environ), environ)
    except ActivePlanError as error:
        yield HealthCheck(name, Health.WARN, f"DANGLING: {error.message}", error.hint)
    except SignoffError as error:
        yield HealthCheck(name, Health.WARN, error.message, error.hint)
    else:
        yield HealthCheck(
            name, Health.OK, "none" if bound is None else f"plan `{shown_name(bound)}`"
        )


def _lost(worktrees: tuple[Worktree, ...]) -> Iterator[HealthCheck]:
    lost = [w for w in worktrees if w.state is not WorktreeState.PRESENT]
    for worktree in lost:
        said = (
            "its folder is gone"
            if worktree.state is WorktreeState.MISSING
            else "the folder there is not this worktree any more"
        )
        name = f"worktree `{worktree.path}`"
        yield HealthCheck(name, Health.WARN, said, "signoff worktree prune")
    if worktrees and not lost:
        yield HealthCheck("worktrees", Health.OK, f"{len(worktrees)}, all there")
