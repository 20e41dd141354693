"""`doctor`: what this machine offers and what is missing, found out by trying it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from signoff.agents.program import troubles_of
from signoff.domain.verdict import Isolation
from signoff.errors import SignoffError
from signoff.places import resolve_home
from signoff.process.environment import STANDARD_PATH, safe_search_path
from signoff.process.sandboxes import best_isolation, probe_sandboxes
from signoff.process.shell import find_tool
from signoff.process.tree import full_control
from signoff.settings.loading import Settings, load_settings
from signoff.storage.database import open_database
from signoff.storage.home import Home
from signoff.storage.ledger import Ledger
from signoff.usecases.ground.escapes import ADVICE, in_words, open_sockets
from signoff.usecases.ground.workbench import opened_places, unopened, wanted_isolation
from signoff.usecases.vault.health import Check, Health, vault_checks
from signoff.verification.enclosure import Enclosure
from signoff.workspace.repository import find_repository


@dataclass(frozen=True)
class DoctorReport:
    """Everything that was looked at."""

    checks: tuple[Check, ...]

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
        *vault_checks(environ, cwd),
        Check("hooks", Health.OK, "none installed"),
    )
    return DoctorReport(checks)


def _machine() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", Health.OK, version)
    for tool, needed in (("bash", Health.FAIL), ("git", Health.WARN)):
        path = find_tool(tool, STANDARD_PATH)
        if path is None:
            yield Check(tool, needed, "not found", f"install {tool} with the package manager")
        else:
            yield Check(tool, Health.OK, str(path))
    if full_control():
        yield Check("processes", Health.OK, "everything an attempt starts can be ended")
    else:
        detail = "a process that detaches itself may outlive its attempt"
        yield Check("processes", Health.WARN, detail, "use Linux for the full promise")


def _sandboxes() -> Iterator[Check]:
    hints = {
        Isolation.BUBBLEWRAP: "install bubblewrap, and allow user namespaces",
        Isolation.NAMESPACES: "allow user namespaces, or install bubblewrap",
        Isolation.LANDLOCK: "use Linux 5.13 or newer with Landlock switched on",
    }
    for support in probe_sandboxes():
        name = f"sandbox {support.isolation}"
        if support.available:
            yield Check(name, Health.OK, support.detail)
        else:
            yield Check(name, Health.WARN, support.detail, hints[support.isolation])


def _configuration(environ: Mapping[str, str], cwd: Path) -> Iterator[Check]:
    repository = find_repository(cwd)
    try:
        settings = load_settings(repository.top if repository else cwd, environ)
    except SignoffError as error:
        yield Check("configuration", Health.FAIL, error.message, error.hint)
        settings = Settings()
    else:
        yield Check("configuration", Health.OK, f"roles: {', '.join(settings.roles) or 'none'}")
        yield _isolation(settings)
        yield from _sockets(settings, environ)
        yield from _opened(settings, environ, repository.top if repository else cwd)
        yield from _roles(settings, environ, repository.top if repository else cwd)
    yield from _home(environ, settings)


def _isolation(settings: Settings) -> Check:
    chosen = best_isolation(wanted_isolation(settings))
    working = {s.isolation for s in probe_sandboxes() if s.available} | {Isolation.NONE}
    if chosen not in working:
        hint = "change `isolation` under [sandbox] in your own configuration, or install it"
        return Check("isolation", Health.FAIL, f"`{chosen}` is chosen and does not work here", hint)
    if chosen is Isolation.NONE:
        required = settings.policy.require_sandbox
        detail = "none: contracts and agents run without a sandbox"
        return Check("isolation", Health.FAIL if required else Health.WARN, detail)
    return Check("isolation", Health.OK, str(chosen))


def _sockets(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """Programs of the user that an agent could have act for it."""
    found = open_sockets(settings, environ)
    if found:
        health = Health.FAIL if settings.policy.require_sandbox else Health.WARN
        yield Check("sockets", health, in_words(found), ADVICE)


def _opened(settings: Settings, environ: Mapping[str, str], workspace: Path) -> Iterator[Check]:
    """What the user opened to agents and contracts, and is not there."""
    isolation = best_isolation(wanted_isolation(settings))
    user = Path(environ.get("HOME", "/"))
    readable, writable = opened_places(settings, user, workspace)
    agents = settings.sandbox.agents
    enclosure = Enclosure(isolation, readable=readable, writable=writable, agents=agents)
    missing = unopened(enclosure, workspace)
    if missing is not None:
        yield Check("sandbox places", Health.WARN, missing.said, missing.advice)


def _roles(settings: Settings, environ: Mapping[str, str], workspace: Path) -> Iterator[Check]:
    """Whether the programs that would do the work are there; a role nobody uses stops nothing."""
    path = safe_search_path(environ.get("PATH", ""), workspace)
    for role in settings.roles.values():
        name = f"role {role.name}"
        troubles = tuple(troubles_of(role, path, workspace, environ))
        for trouble in troubles:
            yield Check(name, Health.WARN, trouble.message, trouble.hint)
        if not troubles:
            yield Check(name, Health.OK, shlex.split(role.command)[0])


def _home(environ: Mapping[str, str], settings: Settings) -> Iterator[Check]:
    try:
        home = Home(resolve_home(environ))
        yield Check("home", Health.OK, str(home.path))
        ledger = Ledger(open_database(settings.database_url or home.database_url))
        plans = len(ledger.plans())
        kind = "PostgreSQL" if settings.database_url else "embedded SQLite"
        yield Check("database", Health.OK, f"{kind}, plans known: {plans}")
    except SignoffError as error:
        yield Check("home and database", Health.FAIL, error.message, error.hint)
