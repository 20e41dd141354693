"""PostgreSQL by URL, in a schema of its own; imported only when such a URL is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import errors as pg

from signoff.storage.engine import VERSION, WORDS, Database, Duplicate, StorageCause, storage_failed

SCHEMA = "signoff"
_MIGRATION_LOCK = 0x5167_6E0F  # any number, the same in every signoff
_CONNECT_TIMEOUT_S = 10

_CAUSES: tuple[tuple[type[Exception], StorageCause], ...] = (
    (pg.LockNotAvailable, StorageCause.LOCKED),
    (pg.QueryCanceled, StorageCause.LOCKED),
    (pg.DeadlockDetected, StorageCause.LOCKED),
    (pg.DiskFull, StorageCause.FULL),
    (pg.ReadOnlySqlTransaction, StorageCause.READ_ONLY),
    (pg.InsufficientPrivilege, StorageCause.READ_ONLY),
    (pg.DataCorrupted, StorageCause.CORRUPT),
    (pg.IndexCorrupted, StorageCause.CORRUPT),
    (pg.IoError, StorageCause.IO),
)


class PostgresDatabase(Database):
    """One database, schema `signoff`; writers to one plan queue on the row of its chain."""

    driver_errors = (psycopg.Error,)
    bytes_type = "BYTEA"
    row_lock = " FOR UPDATE"
    begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED"
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    now_s = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"

    def __init__(self, url: str, *, read_only: bool, busy_timeout_s: float):
        super().__init__(_label(url), read_only=read_only, busy_timeout_s=busy_timeout_s)
        self._url = url

    def connect(self) -> Any:
        """Settings are made here, so that no default of server or role can weaken them."""
        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT_S)
        read_only = "on" if self.read_only else "off"
        connection.execute(
            f"SET search_path TO {SCHEMA}; SET synchronous_commit TO on;"
            f" SET lock_timeout TO {int(self.busy_timeout_s * 1000)};"
            f" SET default_transaction_read_only TO {read_only}"
        )
        return connection

    def dialect(self, sql: str) -> str:
        """`?` as `%s`."""
        return _percent_style(sql)

    def prepare(self) -> None:
        """Look first; only a database that needs it is migrated, under an advisory lock."""
        version = self._version()
        self.check_version(version)
        if version == VERSION:
            return
        with self.transaction():
            self.execute("SELECT pg_advisory_xact_lock(?)", _MIGRATION_LOCK)
            version = self._version()
            self.check_version(version)
            self.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            self.migrate(version)

    @contextmanager
    def _writing(self, durable: bool) -> Iterator[None]:
        with self._inside(self.begin_write):
            if not durable:
                self.execute("SET LOCAL synchronous_commit TO off")
            yield

    def _version(self) -> int:
        # A query on the catalogue itself: `to_regclass` may answer from a cache filled before
        # we waited for the lock.
        known = self.fetch(
            "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = 'meta'", SCHEMA
        )
        return self.schema_version() if known else 0

    def explain(self, error: Exception) -> Exception:
        """Translate an error by its SQLSTATE."""
        if isinstance(error, pg.UniqueViolation):
            return Duplicate(error.diag.constraint_name or str(error))
        text = " ".join(str(error).split())
        for kind, cause in _CAUSES:
            if isinstance(error, kind):
                return storage_failed(cause, f"{self.label} {WORDS[cause]}: {text}")
        return storage_failed(StorageCause.UNAVAILABLE, f"{self.label} failed: {text}")


@lru_cache(maxsize=256)
def _percent_style(sql: str) -> str:
    return sql.replace("?", "%s")


def _label(url: str) -> str:
    """The address without user, password and options."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return f"`{parts.scheme}://{place}{parts.path}`"
