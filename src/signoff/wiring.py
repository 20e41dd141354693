"""The one place that builds concrete things."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from signoff.places import resolve_home
from signoff.settings import load_settings
from signoff.storage import Home, Ledger, open_database
from signoff.usecases.site import Site
from signoff.workspace import find_repository


def existing_home(environ: Mapping[str, str]) -> Home | None:
    """The home folder if there is one; for commands that must work without, and make none."""
    path = resolve_home(environ)
    return Home(path, create=False) if path.is_dir() else None


def open_site(
    environ: Mapping[str, str],
    cwd: Path,
    workspace: Path | None,
    roles: Mapping[str, str] | None = None,
) -> Site:
    """Home, ledger and settings; the configuration is the workspace's, else the one around here."""
    if workspace is None:
        repository = find_repository(cwd)
        workspace = repository.top if repository else cwd
    settings = load_settings(workspace, environ)
    home = Home(resolve_home(environ))
    database = open_database(settings.database_url or home.database_url)
    return Site(
        environ=environ,
        cwd=cwd,
        home=home,
        ledger=Ledger(database),
        settings=settings.with_roles(roles or {}),
    )
