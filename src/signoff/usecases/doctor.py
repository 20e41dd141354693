"""`doctor`: what this machine offers and what is missing, found out by trying it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from signoff.domain.verdict import Isolation
from signoff.errors import SignoffError
from signoff.process import STANDARD_PATH, best_isolation, find_tool, full_control, probe_sandboxes
from signoff.settings import Settings, load_settings
from signoff.storage import Home, Ledger, find_repository, open_database, resolve_home
from signoff.usecases.workbench import wanted_isolation


class Health(StrEnum):
    """How one thing is."""

    GOOD = "good"
    LESS = "less"  # works, with less than there could be
    BAD = "bad"  # signoff cannot work like this


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what to do about it."""

    name: str
    health: Health
    detail: str
    next: str = ""


@dataclass(frozen=True)
class DoctorReport:
    """Everything that was looked at."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether signoff can work here."""
        return all(check.health is not Health.BAD for check in self.checks)


def examine(environ: Mapping[str, str], cwd: Path) -> DoctorReport:
    """Look at everything; one thing that is broken hides no other."""
    return DoctorReport((*_machine(), *_sandboxes(), *_configuration(environ, cwd)))


def _machine() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", Health.GOOD, version)
    for tool, needed in (("bash", Health.BAD), ("git", Health.LESS)):
        path = find_tool(tool, STANDARD_PATH)
        if path is None:
            yield Check(tool, needed, "not found", f"install {tool} with the package manager")
        else:
            yield Check(tool, Health.GOOD, str(path))
    if full_control():
        yield Check("processes", Health.GOOD, "everything an attempt starts can be ended")
    else:
        detail = "a process that detaches itself may outlive its attempt"
        yield Check("processes", Health.LESS, detail, "use Linux for the full promise")


def _sandboxes() -> Iterator[Check]:
    hints = {
        Isolation.BUBBLEWRAP: "install bubblewrap, and allow user namespaces",
        Isolation.LANDLOCK: "use Linux 5.13 or newer with Landlock switched on",
    }
    for support in probe_sandboxes():
        name = f"sandbox {support.isolation}"
        if support.available:
            yield Check(name, Health.GOOD, support.detail)
        else:
            yield Check(name, Health.LESS, support.detail, hints[support.isolation])


def _configuration(environ: Mapping[str, str], cwd: Path) -> Iterator[Check]:
    repository = find_repository(cwd)
    try:
        settings = load_settings(repository.top if repository else cwd, environ)
    except SignoffError as error:
        yield Check("configuration", Health.BAD, error.message, error.hint)
        settings = Settings()
    else:
        yield Check("configuration", Health.GOOD, f"roles: {', '.join(settings.roles) or 'none'}")
        yield _isolation(settings)
    yield from _home(environ, settings)


def _isolation(settings: Settings) -> Check:
    chosen = best_isolation(wanted_isolation(settings))
    working = {s.isolation for s in probe_sandboxes() if s.available} | {Isolation.NONE}
    if chosen not in working:
        hint = "change `isolation` under [sandbox] in your own configuration, or install it"
        return Check("isolation", Health.BAD, f"`{chosen}` is chosen and does not work here", hint)
    if chosen is Isolation.NONE:
        required = settings.policy.require_sandbox
        detail = "none: contracts and agents run without a sandbox"
        return Check("isolation", Health.BAD if required else Health.LESS, detail)
    return Check("isolation", Health.GOOD, str(chosen))


def _home(environ: Mapping[str, str], settings: Settings) -> Iterator[Check]:
    try:
        home = Home(resolve_home(environ))
        yield Check("home", Health.GOOD, str(home.path))
        ledger = Ledger(open_database(settings.database_url or home.database_url))
        plans = len(ledger.plans())
        kind = "PostgreSQL" if settings.database_url else "embedded SQLite"
        yield Check("database", Health.GOOD, f"{kind}, plans known: {plans}")
    except SignoffError as error:
        yield Check("home and database", Health.BAD, error.message, error.hint)
