"""Opens the database a URL names; the drivers are imported only when needed."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

from signoff.errors import ConfigInvalid
from signoff.storage.engine import Database

DEFAULT_BUSY_TIMEOUT_S = 30.0


def open_database(
    url: str, *, read_only: bool = False, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S
) -> Database:
    """Open, and create or migrate unless `read_only`; an absent one is then StorageFailed."""
    scheme = url.partition(":")[0]
    database: Database
    if scheme == "sqlite":
        # Commands that never open a database start faster without the driver.
        from signoff.storage.sqlite import SqliteDatabase  # noqa: PLC0415

        path = sqlite_path(url)
        database = SqliteDatabase(path, read_only=read_only, busy_timeout_s=busy_timeout_s)
    elif scheme in ("postgresql", "postgres"):
        # psycopg takes longer to import than most commands take to run.
        from signoff.storage.postgres import PostgresDatabase  # noqa: PLC0415

        database = PostgresDatabase(url, read_only=read_only, busy_timeout_s=busy_timeout_s)
    else:
        raise ConfigInvalid(
            f"the database address starts with `{scheme}:`",
            "use sqlite:///absolute/path or postgresql://user@host/name",
        )
    try:
        database.prepare()
    except BaseException:
        database.close()
        raise
    return database


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file at an absolute path."""
    return f"sqlite://{quote(os.fsencode(path))}"


def sqlite_path(url: str) -> Path:
    """The absolute path in a SQLite URL."""
    parts = urlsplit(url)
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if parts.netloc or parts.query or parts.fragment or not path.startswith("/"):
        raise ConfigInvalid(
            f"the database address `{url}` is not sqlite:/// and an absolute path",
            "use sqlite:///absolute/path, with % for special characters",
        )
    return Path("/" + path.lstrip("/"))
