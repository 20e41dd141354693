"""Tables and error causes that SQLite and PostgreSQL have in common."""

from __future__ import annotations

import errno
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import Any, ClassVar

from signoff.errors import SchemaTooNew, SignoffError, StorageFailed


class StorageCause(StrEnum):
    """Causes of a storage failure; the fact `cause` of the error."""

    ABSENT = "absent"
    LOCKED = "locked"
    FULL = "disk-full"
    READ_ONLY = "read-only"
    CORRUPT = "corrupt"
    IO = "input-output"
    UNAVAILABLE = "unavailable"
    OUTDATED = "outdated"
    UNSTORABLE = "unstorable"


WORDS: dict[StorageCause, str] = {
    StorageCause.ABSENT: "does not exist yet",
    StorageCause.LOCKED: "is locked by another process",
    StorageCause.FULL: "cannot grow: the disk is full",
    StorageCause.READ_ONLY: "is read-only",
    StorageCause.CORRUPT: "is damaged or not a database",
    StorageCause.IO: "could not be read or written by the operating system",
    StorageCause.UNAVAILABLE: "cannot be opened",
    StorageCause.OUTDATED: "has an old schema",
    StorageCause.UNSTORABLE: "cannot store this",
}

_HINTS: dict[StorageCause, str] = {
    StorageCause.ABSENT: "signoff run PLAN",
    StorageCause.LOCKED: "wait for the other signoff process, or stop it, then try again",
    StorageCause.FULL: "free disk space, then run the same command again",
    StorageCause.READ_ONLY: "make it writable for you, then run the same command again",
    StorageCause.CORRUPT: "restore the home folder from a backup; nothing was repaired or deleted",
    StorageCause.IO: "check the disk and the system log, then run the same command again",
    StorageCause.UNAVAILABLE: "check that the address is right and can be reached",
    StorageCause.OUTDATED: "run a command that writes, so that the database is brought up to date",
    StorageCause.UNSTORABLE: "remove NUL and unpaired surrogate characters from the named value",
}

_ERRNO_CAUSES: dict[int, StorageCause] = {
    errno.ENOSPC: StorageCause.FULL,
    errno.EDQUOT: StorageCause.FULL,
    errno.EROFS: StorageCause.READ_ONLY,
    errno.EACCES: StorageCause.READ_ONLY,
    errno.EPERM: StorageCause.READ_ONLY,
    errno.EIO: StorageCause.IO,
}

# After these a connection's own view is not to be trusted: the next use opens and reads anew.
POISONOUS = frozenset({StorageCause.IO, StorageCause.CORRUPT, StorageCause.UNAVAILABLE})


def storage_failed(cause: StorageCause, message: str, hint: str | None = None) -> StorageFailed:
    """The error for `cause`, with its hint and the cause as a fact."""
    return StorageFailed(message, hint or _HINTS[cause], {"cause": str(cause)})


def os_failure(label: str, error: OSError) -> StorageFailed:
    """The operating system's refusal about `label` as our error."""
    cause = _ERRNO_CAUSES.get(error.errno or 0, StorageCause.UNAVAILABLE)
    return storage_failed(cause, f"{label} {WORDS[cause]}: {error.strerror or error}")


# The tables, as numbered migrations. Stored format: add a migration, never edit an old one.
# `{bytes}` is the dialect's type for binary data. Entry data is binary because neither
# database stores every Python string as text (lone surrogates, NUL).
_FIRST = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE plans (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, path {bytes} NOT NULL, repository {bytes})""",
    """CREATE TABLE chains (
        plan TEXT PRIMARY KEY, seq BIGINT NOT NULL, at TEXT NOT NULL, hash TEXT NOT NULL)""",
    """CREATE TABLE entries (
        plan TEXT NOT NULL, seq BIGINT NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL,
        run TEXT, step TEXT, attempt BIGINT, data {bytes} NOT NULL, ref TEXT,
        prev TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (plan, seq))""",
    "CREATE UNIQUE INDEX one_step_done ON entries (plan, run, step) WHERE kind = 'step.done'",
    "CREATE UNIQUE INDEX one_run_finished ON entries (plan, run) WHERE kind = 'run.finished'",
    "CREATE UNIQUE INDEX one_answer ON entries (plan, ref) WHERE kind = 'escalation.answered'",
    "CREATE INDEX escalations ON entries (plan, ref) WHERE kind = 'escalation.opened'",
    "CREATE INDEX reusable ON entries (ref, at) WHERE kind = 'verdict' AND ref IS NOT NULL",
    """CREATE TABLE runs (
        run TEXT PRIMARY KEY, plan TEXT NOT NULL, token BIGINT NOT NULL, holder TEXT NOT NULL)""",
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, data {bytes} NOT NULL)",
)

# Verdicts are looked up in the fold of their own run, no longer by key across all of them.
_SECOND = (
    "DROP INDEX reusable",
    "UPDATE entries SET ref = NULL WHERE kind = 'verdict'",
)

# Named plans: which worktree works on which plan, who holds what until when (by the database's
# clock), and where each plan stood when last written down, for those who only glance.
_THIRD = (
    """CREATE TABLE bindings (
        worktree {bytes} PRIMARY KEY, repository {bytes} NOT NULL, plan TEXT, name TEXT,
        since TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX one_worktree ON bindings (plan) WHERE plan IS NOT NULL",
    """CREATE TABLE leases (
        resource TEXT PRIMARY KEY, repository {bytes}, plan TEXT NOT NULL, run TEXT,
        worker TEXT NOT NULL, holder TEXT NOT NULL, token BIGINT NOT NULL,
        until_s DOUBLE PRECISION NOT NULL, touches TEXT)""",
    """CREATE TABLE standings (
        plan TEXT PRIMARY KEY, seq BIGINT NOT NULL, status TEXT NOT NULL, done BIGINT NOT NULL,
        total BIGINT NOT NULL, step TEXT, title TEXT)""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND, _THIRD)
VERSION = len(MIGRATIONS)
_READ_VERSION = "SELECT value FROM meta WHERE key = 'schema'"
_WRITE_VERSION = (
    "INSERT INTO meta (key, value) VALUES ('schema', ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)

Row = tuple[Any, ...]


class Duplicate(Exception):
    """A uniqueness rule of the database refused a row; `rule` names it."""

    def __init__(self, rule: str):
        super().__init__(rule)
        self.rule = rule


class Connection:
    """One connection of one thread in one process."""

    def __init__(self, connection: Any):
        self.connection = connection
        self.pid = os.getpid()
        self.inside = False
        self.durable = True

    def close(self) -> None:
        """Close the connection where it was opened; a forked child must leave it alone."""
        if self.pid == os.getpid():
            self.connection.close()

    def __del__(self) -> None:
        self.close()


class Database(ABC):
    """One connection per thread, explicit transactions, `?` placeholders, the same SQL."""

    driver_errors: ClassVar[tuple[type[Exception], ...]]
    bytes_type: ClassVar[str]
    row_lock: ClassVar[str]
    begin_write: ClassVar[str]
    begin_read: ClassVar[str]
    now_s: ClassVar[str]  # the database's own clock, as an expression

    def __init__(self, label: str, *, read_only: bool, busy_timeout_s: float):
        self.label = label
        self.read_only = read_only
        self.busy_timeout_s = busy_timeout_s
        self._local = threading.local()
        self._sessions: weakref.WeakSet[Connection] = weakref.WeakSet()

    @abstractmethod
    def connect(self) -> Any:
        """A fresh connection in autocommit mode, with every setting made."""

    @abstractmethod
    def explain(self, error: Exception) -> Exception:
        """The driver's error as Duplicate or StorageFailed."""

    @abstractmethod
    def prepare(self) -> None:
        """Create or migrate the schema under a lock, or check it when read-only."""

    def dialect(self, sql: str) -> str:
        """SQL in the driver's placeholder style."""
        return sql

    def execute(self, sql: str, *values: Any) -> int:
        """Run one statement; the number of rows it touched."""
        try:
            return int(self._session().connection.execute(self.dialect(sql), values).rowcount)
        except self.driver_errors as error:
            raise self._explained(error) from error

    def fetch(self, sql: str, *values: Any) -> list[Row]:
        """All rows of a query."""
        try:
            rows = self._session().connection.execute(self.dialect(sql), values).fetchall()
            return list(rows)
        except self.driver_errors as error:
            raise self._explained(error) from error

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Write transaction as a context manager: all of it or nothing, durable on exit.

        With `durable=False` a power cut (not a crash of ours) may lose it until the next durable
        one, which makes everything before it durable too.
        """
        return self._writing(durable)

    def snapshot(self) -> AbstractContextManager[None]:
        """Read transaction as a context manager: every query sees the same moment."""
        return self._inside(self.begin_read)

    def close(self) -> None:
        """Close the connections of all threads."""
        for session in list(self._sessions):
            session.close()
        self._local = threading.local()

    def schema_version(self) -> int:
        """Version the stored schema says it has."""
        rows = self.fetch(_READ_VERSION)
        if not rows:
            return 0
        try:
            return int(rows[0][0])
        except ValueError as error:
            message = f"{self.label} has the schema version `{rows[0][0]}`, which is no number"
            raise storage_failed(StorageCause.CORRUPT, message) from error

    def check_version(self, version: int) -> None:
        """Refuse a schema of a newer signoff, and an old one that may not be migrated."""
        if version > VERSION:
            raise SchemaTooNew(
                f"{self.label} has schema {version}, this signoff knows up to {VERSION}",
                facts={"found": version, "known": VERSION},
            )
        if version < VERSION and self.read_only:
            message = f"{self.label} has schema {version}, this signoff needs {VERSION}"
            raise storage_failed(
                StorageCause.ABSENT if version == 0 else StorageCause.OUTDATED, message
            )

    def migrate(self, version: int) -> None:
        """Bring the schema from `version` to the current one, inside the caller's transaction."""
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                self.execute(statement.format(bytes=self.bytes_type))
        self.execute(_WRITE_VERSION, str(VERSION))

    @abstractmethod
    def _writing(self, durable: bool) -> AbstractContextManager[None]:
        """A write transaction whose commit waits for the disk, or does not."""

    @contextmanager
    def _inside(self, begin: str) -> Iterator[None]:
        try:
            session = self._session()
            if session.inside:
                raise RuntimeError("a transaction is already open in this thread")
            session.connection.execute(begin)
            session.inside = True
            try:
                yield
                session.connection.execute("COMMIT")
            except BaseException:
                self._roll_back(session)
                raise
            finally:
                session.inside = False
        except self.driver_errors as error:
            raise self._explained(error) from error

    def _roll_back(self, session: Connection) -> None:
        try:
            session.connection.execute("ROLLBACK")
        except self.driver_errors:
            # Some failures end the transaction by themselves; a connection that cannot
            # even say so is dropped, which rolls back too.
            self._forget(session)

    def _explained(self, error: Exception) -> Exception:
        explained = self.explain(error)
        if isinstance(explained, SignoffError) and explained.facts.get("cause") in POISONOUS:
            self._forget(getattr(self._local, "session", None))
        return explained

    def _session(self) -> Connection:
        session: Connection | None = getattr(self._local, "session", None)
        if session is None or session.pid != os.getpid():
            try:
                session = Connection(self.connect())
            except self.driver_errors as error:
                raise self._explained(error) from error
            self._local.session = session
            self._sessions.add(session)
        return session

    def _forget(self, session: Connection | None) -> None:
        if session is not None:
            self._local.session = None
            session.close()
