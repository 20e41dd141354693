"""Forgeries of a ledger: what somebody with a database client can do to its entries."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing

from signoff.domain.digests import canonical_json
from signoff.domain.ledger import Draft, Kind, entry_hash
from tests.cli.kit import Desk


def rewrite(kind: str, old: str, new: str) -> Callable[[sqlite3.Connection], None]:
    """Other words in the entries of a kind, under their old hashes."""

    def forge(database: sqlite3.Connection) -> None:
        database.execute(
            "UPDATE entries SET data = CAST(replace(CAST(data AS TEXT), ?, ?) AS BLOB)"
            " WHERE kind = ?",
            (old, new, kind),
        )

    return forge


def end_as_done(database: sqlite3.Connection) -> None:
    """The last entry says done, with every hash right."""
    row = database.execute(
        "SELECT plan, seq, at, run, data, prev FROM entries ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    plan, seq, at, run, data, prev = row
    kept = database.execute("SELECT data FROM entries WHERE kind = 'verdict'").fetchall()
    content = json.loads(kept[-1][0])["snapshot"]
    said = {**json.loads(data), "outcome": "done", "snapshot": content, "waived": []}
    head = entry_hash(plan, seq, at, Draft(Kind.RUN_FINISHED, said, run), prev)
    text = canonical_json(said).encode()
    database.execute("UPDATE entries SET data = ?, hash = ? WHERE seq = ?", (text, head, seq))
    database.execute("UPDATE chains SET hash = ? WHERE plan = ?", (head, plan))


def touch(desk: Desk, forge: Callable[[sqlite3.Connection], None]) -> None:
    with closing(sqlite3.connect(desk.ledger_file)) as database, database:
        forge(database)
