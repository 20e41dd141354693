"""A real PostgreSQL for the suites: one server per test session, one fresh database per test."""

from __future__ import annotations

import atexit
import fcntl
import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """The server; xdist's workers share it, and the last to finish stops and removes it."""
    import psycopg

    with warnings.catch_warnings():
        # About a runtime folder this machine may not have; the fallback is fine.
        warnings.simplefilter("ignore")
        from pgserver.postgres_server import get_server

    # Outside pytest's own folders: as root the server runs as another user, who must get there.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}-{uuid.uuid4().hex}")
    data = Path(tempfile.gettempdir()) / f"signoff-postgres-{run}"
    with _locked(data.with_suffix(".lock")):
        server = get_server(data, cleanup_mode="delete")
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            # No test pulls the plug of the server itself; making databases gets much faster.
            for setting in ("fsync", "full_page_writes"):
                admin.execute(f"ALTER SYSTEM SET {setting} TO off".encode())
            admin.execute("SELECT pg_reload_conf()")
    yield server
    with _locked(data.with_suffix(".lock")):
        server.cleanup()
        atexit.unregister(server._cleanup)
        if not data.exists():
            data.with_suffix(".lock").unlink(missing_ok=True)


@pytest.fixture
def postgres_url(postgres_server: Any) -> Iterator[str]:
    """The address of a database nobody has used."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield postgres_server.get_uri(database=name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh database of either kind: what holds for one must hold for the other."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path / 'ledger.sqlite3'}"
    return str(request.getfixturevalue("postgres_url"))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
