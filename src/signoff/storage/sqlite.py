"""The embedded database: one file, WAL, every commit on disk before it is acknowledged."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from signoff.errors import Held, HomeUnsafe, StorageFailed
from signoff.storage.engine import (
    VERSION,
    WORDS,
    Database,
    Duplicate,
    StorageCause,
    os_failure,
    storage_failed,
)
from signoff.storage.files import sync_folder
from signoff.workspace.folders import wait_for

_CAUSES: dict[int, StorageCause] = {
    sqlite3.SQLITE_BUSY: StorageCause.LOCKED,
    sqlite3.SQLITE_LOCKED: StorageCause.LOCKED,
    sqlite3.SQLITE_FULL: StorageCause.FULL,
    sqlite3.SQLITE_READONLY: StorageCause.READ_ONLY,
    sqlite3.SQLITE_PERM: StorageCause.READ_ONLY,
    sqlite3.SQLITE_CORRUPT: StorageCause.CORRUPT,
    sqlite3.SQLITE_NOTADB: StorageCause.CORRUPT,
    sqlite3.SQLITE_IOERR: StorageCause.IO,
    sqlite3.SQLITE_CANTOPEN: StorageCause.UNAVAILABLE,
}


class SqliteDatabase(Database):
    """One SQLite file; readers never block the writer, writers queue."""

    driver_errors = (sqlite3.Error,)
    bytes_type = "BLOB"
    row_lock = ""
    # Immediate, because a deferred transaction that reads first cannot wait for its turn to write.
    begin_write = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"
    now_s = "(julianday('now') - 2440587.5) * 86400.0"

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float):
        super().__init__(f"`{path}`", read_only=read_only, busy_timeout_s=busy_timeout_s)
        self.path = path
        self._immutable = False

    def connect(self) -> Any:
        """Every connection says `synchronous=FULL` itself: builds of SQLite differ in default."""
        mode = "ro" if self.read_only else "rw"
        address = f"file:{quote(os.fsencode(self.path))}?mode={mode}"
        connection = sqlite3.connect(
            address + ("&immutable=1" if self._immutable else ""),
            uri=True,
            isolation_level=None,
            timeout=self.busy_timeout_s,
            check_same_thread=False,  # only so that close() can reach every thread's connection
        )
        for setting in ("synchronous=FULL", "fullfsync=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def prepare(self) -> None:
        """Look first; only a database that needs it is created or migrated, under a lock."""
        _refuse_odd_file(self.path)
        if self.read_only:
            self.check_version(self._version_read_only())
            return
        if self.path.exists():
            version = self._version()
            self.check_version(version)
            if version == VERSION:
                return
        try:
            lock = self.path.with_name(self.path.name + ".migrate")
            with wait_for(lock, os.O_RDWR | os.O_CREAT, self.busy_timeout_s):
                self._create_and_migrate()
        except Held as error:
            message = f"{self.label} is being created or migrated by another process"
            raise storage_failed(StorageCause.LOCKED, message) from error
        except OSError as error:
            raise os_failure(self.label, error) from error

    def _create_and_migrate(self) -> None:
        try:
            # Exclusive on purpose: opening and closing an existing database file here would
            # drop the locks that SQLite holds on it for other connections of this process.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            sync_folder(self.path.parent)
        except FileExistsError:
            pass
        if self.fetch("PRAGMA journal_mode=WAL") != [("wal",)]:
            message = f"{self.label} lies on a file system without shared memory for a WAL"
            hint = "point SIGNOFF_HOME at a local disk"
            raise storage_failed(StorageCause.UNAVAILABLE, message, hint)
        with self.transaction():
            version = self._version()
            self.check_version(version)
            self.migrate(version)

    @contextmanager
    def _writing(self, durable: bool) -> Iterator[None]:
        # In WAL mode only a FULL commit syncs, and it syncs everything written before it.
        session = self._session()
        if session.durable is not durable and not session.inside:
            self.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            session.durable = durable
        with self._inside(self.begin_write):
            yield

    def _version(self) -> int:
        known = self.fetch("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'")
        return self.schema_version() if known else 0

    def _version_read_only(self) -> int:
        if not self.path.exists():
            raise storage_failed(StorageCause.ABSENT, f"{self.label} does not exist yet")
        try:
            return self._version()
        except StorageFailed as error:
            wal = self.path.with_name(self.path.name + "-wal")
            unwritable = error.facts["cause"] in (StorageCause.UNAVAILABLE, StorageCause.READ_ONLY)
            if not unwritable or (wal.exists() and wal.stat().st_size):
                raise
            # A closed database in a folder we may not write to: SQLite cannot make its shared
            # memory there, and without a WAL nothing but the main file has to be read.
            self._immutable = True
            self.close()
            return self._version()

    def explain(self, error: Exception) -> Exception:
        """Translate an error by SQLite's own result code."""
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, sqlite3.IntegrityError):
            return Duplicate(str(error))
        if not isinstance(error, sqlite3.DatabaseError) or code is None:
            return storage_failed(StorageCause.UNAVAILABLE, f"{self.label} failed: {error}")
        cause = _CAUSES.get(code & 0xFF, StorageCause.UNAVAILABLE)
        name = getattr(error, "sqlite_errorname", code)
        waited = f" for {self.busy_timeout_s:g} s" if cause is StorageCause.LOCKED else ""
        failure = storage_failed(cause, f"{self.label} {WORDS[cause]}{waited}: {error} ({name})")
        failure.facts["database"] = str(self.path)
        return failure


def _refuse_odd_file(path: Path) -> None:
    """A link here could point the ledger at a file of somebody else's choosing."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise os_failure(f"`{path}`", error) from error
    if not stat.S_ISREG(mode):
        what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise HomeUnsafe(f"the database `{path}` is {what}", f"remove or rename `{path}`")
