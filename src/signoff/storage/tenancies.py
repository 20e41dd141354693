"""Rows of the table `leases`: who has what until when, by the database's clock."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from signoff.gate.overlap import Territory
from signoff.storage.engine import Database, Row
from signoff.storage.records import Holder

_OVER = (
    "EXISTS (SELECT 1 FROM entries e WHERE e.plan = l.plan AND e.run = l.run"
    " AND e.kind = 'run.finished')"
)
_COLUMNS = "l.resource, l.plan, l.run, l.holder, l.token, l.touches, l.until_s"
_PUT = (
    "INSERT INTO leases"
    " (resource, repository, plan, run, worker, holder, token, until_s, touches)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, {now} + ?, ?) ON CONFLICT (resource) DO UPDATE SET"
    " repository = excluded.repository, plan = excluded.plan, run = excluded.run,"
    " worker = excluded.worker, holder = excluded.holder, token = excluded.token,"
    " until_s = excluded.until_s, touches = excluded.touches"
)


@dataclass(frozen=True)
class Tenancy:
    """Somebody has a resource, or had it for a run that is not over."""

    resource: str
    plan: str
    run: str | None
    holder: Holder
    token: int
    touches: tuple[str, ...]
    left_s: float
    over: bool

    @property
    def live(self) -> bool:
        """Whether its time is not up; one whose run is over is free, whatever its time."""
        return self.left_s > 0 and not self.over

    @property
    def unfinished(self) -> bool:
        """Whether it stands for a run that somebody must still bring to its end."""
        return self.run is not None and not self.over

    @property
    def claimed_only(self) -> bool:
        """Whether nobody drives yet: it was handed out, and its worker has not begun."""
        return self.resource.startswith("claim:")


def plan_resource(plan: str) -> str:
    """What the driver of a plan holds."""
    return f"plan:{plan}"


def workspace_resource(workspace: str) -> str:
    """What whoever works in a workspace holds."""
    return f"workspace:{workspace}"


def claim_resource(plan: str) -> str:
    """What a worker holds to whom the plan was handed out."""
    return f"claim:{plan}"


def lock_tenancies(database: Database) -> None:
    """Wait for our turn: whoever reads and writes leases in a transaction does so alone.

    Always before the lock of any chain, so that no two transactions wait for each other.
    """
    database.fetch("SELECT value FROM meta WHERE key = 'schema'" + database.row_lock)


def find_tenancy(database: Database, resource: str) -> Tenancy | None:
    """The row of one resource."""
    rows = _select(database, "l.resource = ?", resource)
    return rows[0] if rows else None


def tenancies_of(database: Database, repository: str) -> tuple[Tenancy, ...]:
    """Every row of a repository's plans."""
    return _select(database, "l.repository = ?", os.fsencode(repository))


def put_tenancy(
    database: Database,
    resource: str,
    repository: str | None,
    plan: str,
    run: str | None,
    holder: Holder,
    token: int,
    term_s: float,
    touches: Sequence[str],
) -> None:
    """Write a row over whatever was there, for `term_s` from now."""
    database.execute(
        _PUT.format(now=database.now_s),
        resource,
        None if repository is None else os.fsencode(repository),
        plan,
        run,
        holder.worker,
        json.dumps(holder.facts()),
        token,
        term_s,
        json.dumps(list(touches)),
    )


def drop_tenancy(database: Database, resource: str) -> None:
    """Remove a row."""
    database.execute("DELETE FROM leases WHERE resource = ?", resource)


def may_meet(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two plans may change the same file; what cannot be told is never taken for safe."""
    return bool(Territory({"one": tuple(one), "other": tuple(other)}).in_the_way("one"))


def _select(database: Database, where: str, *values: Any) -> tuple[Tenancy, ...]:
    rows = database.fetch(
        f"SELECT {_COLUMNS}, {database.now_s}, {_OVER} FROM leases l WHERE {where}"
        " ORDER BY l.resource",
        *values,
    )
    return tuple(map(_to_tenancy, rows))


def _to_tenancy(row: Row) -> Tenancy:
    resource, plan, run, holder, token, touches, until_s, now_s, over = row
    return Tenancy(
        resource=resource,
        plan=plan,
        run=run,
        holder=Holder(**json.loads(holder)),
        token=int(token),
        touches=tuple(json.loads(touches or "[]")),
        left_s=float(until_s) - float(now_s),
        over=bool(over),
    )
