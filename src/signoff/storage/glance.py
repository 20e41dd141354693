"""A quick look at what the ledger has on record, without opening it for writing.

For commands that must answer at once: an embedded database is read with the standard library alone,
and one that is not there yet is simply empty.
"""

from __future__ import annotations

import os
import sqlite3
from collections import namedtuple

from signoff.domain.names import name_of_file
from signoff.errors import ConfigInvalid, StorageFailed
from signoff.places import DATABASE_VARIABLE, as_path, home_folder, user_choice

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

_BUSY_TIMEOUT_S = 5.0
_BINDING = "SELECT plan, name, repository FROM bindings WHERE worktree = ?"
_APPROVED = "SELECT 1 FROM entries WHERE plan = ? AND kind = 'plan.approved' LIMIT 1"
_WORKTREE = "SELECT worktree FROM bindings WHERE plan = ?"
_STANDINGS = (
    "SELECT p.name, p.path, s.status, s.done, s.total, s.step, s.title, p.id FROM plans p"
    " JOIN standings s ON s.plan = p.id WHERE {whose}"
)
_QUESTIONS = (
    "SELECT p.name, p.path, o.ref, o.step FROM entries o JOIN plans p ON p.id = o.plan"
    " WHERE o.kind = 'escalation.opened' AND NOT EXISTS ("
    "SELECT 1 FROM entries a WHERE a.kind = 'escalation.answered' AND a.plan = o.plan"
    " AND a.ref = o.ref) AND NOT EXISTS (SELECT 1 FROM entries f WHERE"
    " f.kind = 'run.finished' AND f.plan = o.plan AND f.run = o.run) AND {whose}"
    " ORDER BY o.at, o.seq"
)


class Bound(namedtuple("Bound", ("name", "plan"))):
    """The ledger's binding of a worktree; `name` None: it was unbound on purpose."""

    __slots__ = ()
    name: str | None
    plan: str | None


class NotedStanding(
    namedtuple("NotedStanding", ("name", "status", "done", "total", "step", "title", "plan"))
):
    """State of a plan when the harness last wrote it down."""

    __slots__ = ()
    name: str
    status: str
    done: int
    total: int
    step: str | None
    title: str | None
    plan: str


class Question(namedtuple("Question", ("name", "id", "step"))):
    """An open question for a person."""

    __slots__ = ()
    name: str
    id: str
    step: str | None


class Glance:
    """Reads; an absent or older database has nothing to tell."""

    def __init__(self, query: Callable[..., Any], close: Callable[[], None] | None = None):
        self._query = query
        self._close = close

    def __enter__(self) -> Glance:
        return self

    def __exit__(self, *_: object) -> None:
        if self._close is not None:
            self._close()

    def binding(self, worktree: str | Path, repository: str | Path) -> Bound | None:
        """The plan this worktree is bound to on record; None if nothing was ever recorded."""
        rows = self._query(_BINDING, os.fsencode(worktree))
        # A folder that now belongs to another repository was not the one that was bound.
        if not rows or os.fsdecode(bytes(rows[0][2])) != str(repository):
            return None
        return Bound(rows[0][1], rows[0][0])

    def was_approved(self, plan: str) -> bool:
        """True when a text of this plan is pinned, so that it outlives its file."""
        return bool(self._query(_APPROVED, plan))

    def worktree_of(self, plan: str) -> Path | None:
        """The worktree bound to a plan."""
        rows = self._query(_WORKTREE, plan)
        return as_path(os.fsdecode(bytes(rows[0][0]))) if rows else None

    def standings_of(self, main: str | None, vault: str) -> dict[str, NotedStanding]:
        """Every plan of the vault that the ledger knows, by name."""
        return {row[0]: NotedStanding(*row) for row in self._in_vault(_STANDINGS, main, vault)}

    def questions_of(self, main: str | None, vault: str) -> tuple[Question, ...]:
        """Open questions for a person in the vault, oldest first."""
        return tuple(Question(*row) for row in self._in_vault(_QUESTIONS, main, vault))

    def _in_vault(self, sql: str, main: str | None, vault: str) -> Iterator[tuple[Any, ...]]:
        if main is not None:
            rows = self._query(sql.format(whose="p.repository = ?"), os.fsencode(main))
            yield from ((name, *rest) for name, _path, *rest in rows)
            return
        # A vault outside any repository: its plans are known by their files alone.
        real = os.path.realpath(vault)
        for _name, path, *rest in self._query(sql.format(whose="p.repository IS NULL")):
            above, file_name = os.path.split(os.fsdecode(bytes(path)))
            name = name_of_file(file_name) if above == real else None
            if name is not None:
                yield (name, *rest)


def open_glance(environ: Mapping[str, str]) -> Glance:
    """Open the database that the environment and the user's own file name, to look only."""
    url = environ.get(DATABASE_VARIABLE) or user_choice(environ, "database")
    if url:
        return _through_driver(str(url))
    path = os.path.join(home_folder(environ), "ledger.sqlite3")
    if not os.path.exists(path):
        return Glance(lambda _sql, *_values: [])
    connection = _connect(path)
    return Glance(lambda sql, *values: _fetch(connection, sql, values), connection.close)


def _connect(path: str) -> sqlite3.Connection:
    try:
        address = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        return sqlite3.connect(f"file:{address}?mode=ro", uri=True, timeout=_BUSY_TIMEOUT_S)
    except sqlite3.Error as error:
        raise StorageFailed(f"`{path}` cannot be opened: {error}") from error


def _fetch(connection: sqlite3.Connection, sql: str, values: tuple[Any, ...]) -> list[Any]:
    try:
        return connection.execute(sql, values).fetchall()
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.OperationalError) and "no such table" in str(error):
            return []  # made by an older signoff, which recorded nothing of the kind
        raise StorageFailed(f"the ledger cannot be read: {error}") from error


def _through_driver(url: str) -> Glance:
    # A server's driver takes longer to load than everything else on this path.
    from signoff.storage.home import open_database  # noqa: PLC0415

    if ":" not in url:
        raise ConfigInvalid(f"the database address `{url}` is not a URL")
    database = open_database(url, read_only=True)
    return Glance(database.fetch, database.close)
