"""Holds on plans and workspaces: rows of the table `leases`, timed by the database's clock.

A claim is a plan handed out to one worker until it runs it, gives it back or lets the time pass.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.globs import Overlaps
from signoff.domain.names import shown_name
from signoff.errors import Held
from signoff.storage.engine import Database, Row
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder

CLAIM_S = 15 * 60.0
_SELECT = (
    "SELECT l.resource, l.plan, l.run, l.holder, l.token, l.touches, l.until_s - {now},"
    " EXISTS (SELECT 1 FROM entries e WHERE e.plan = l.plan AND e.run = l.run"
    " AND e.kind = 'run.finished') FROM leases l WHERE {where} ORDER BY l.resource"
)
_PUT = (
    "INSERT INTO leases"
    " (resource, repository, plan, run, worker, holder, token, until_s, touches)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, {now} + ?, ?) ON CONFLICT (resource) DO UPDATE SET"
    " repository = excluded.repository, plan = excluded.plan, run = excluded.run,"
    " worker = excluded.worker, holder = excluded.holder, token = excluded.token,"
    " until_s = excluded.until_s, touches = excluded.touches"
)
_DROP = "DELETE FROM leases WHERE resource = ?"


class Tenancy(Struct, frozen=True):
    """Somebody has a resource for `left_s` from now, or had it for a run that is not over."""

    resource: str
    plan: str
    run: str | None
    holder: Holder
    token: int
    touches: tuple[str, ...]
    left_s: float
    over: bool = False

    @property
    def live(self) -> bool:
        """True when its time is not up; one whose run is over is free, whatever its time."""
        return self.left_s > 0 and not self.over

    @property
    def unfinished(self) -> bool:
        """True when it stands for a run that somebody must still bring to its end."""
        return self.run is not None and not self.over

    @property
    def claimed_only(self) -> bool:
        """True when nobody drives yet: it was handed out, and its worker has not begun."""
        return self.resource.startswith("claim:")


def plan_resource(plan: str) -> str:
    """Name of the lease that the driver of a plan holds."""
    return f"plan:{plan}"


def workspace_resource(workspace: str) -> str:
    """Name of the lease that anybody at work in a workspace holds."""
    return f"workspace:{workspace}"


def claim_resource(plan: str) -> str:
    """Name of the lease of a worker to whom the plan was handed out."""
    return f"claim:{plan}"


@contextmanager
def tenancies_alone(database: Database, *, durable: bool = True) -> Iterator[None]:
    """A transaction in which nobody else reads or writes tenancies."""
    with database.transaction(durable=durable):
        lock_tenancies(database)
        yield


def lock_tenancies(database: Database) -> None:
    """Wait for our turn, inside the caller's transaction.

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


def tenancies_with_prefix(database: Database, prefix: str) -> tuple[Tenancy, ...]:
    """Every row whose resource begins like this."""
    return _select(database, f"SUBSTR(l.resource, 1, {len(prefix)}) = ?", prefix)


def drop_tenancy(database: Database, resource: str) -> None:
    """Remove a row."""
    database.execute(_DROP, resource)


def _select(database: Database, where: str, value: Any) -> tuple[Tenancy, ...]:
    rows = database.fetch(_SELECT.format(now=database.now_s, where=where), value)
    return tuple(map(_to_tenancy, rows))


def _to_tenancy(row: Row) -> Tenancy:
    resource, plan, run, holder, token, touches, left_s, over = row
    who, globs = Holder(**json.loads(holder)), tuple(json.loads(touches or "[]"))
    return Tenancy(resource, plan, run, who, int(token), globs, float(left_s), bool(over))


def put_tenancy(database: Database, repository: str | None, row: Tenancy) -> None:
    """Write a row over whatever was there."""
    database.execute(
        _PUT.format(now=database.now_s),
        row.resource,
        None if repository is None else os.fsencode(repository),
        row.plan,
        row.run,
        row.holder.worker,
        json.dumps(row.holder.facts()),
        row.token,
        row.left_s,
        json.dumps(list(row.touches)),
    )


class Offer(Struct, frozen=True):
    """A plan that looked free: `seq` is the number of its last entry when it did.

    `beside` are plans whose unfinished runs are in nobody's way as long as nobody drives them.
    """

    plan: str
    name: str
    seq: int
    touches: tuple[str, ...]
    beside: frozenset[str] = frozenset()


class ClaimAnswer(Struct, frozen=True):
    """The offer that was claimed; `outdated` when something happened since the offers were made."""

    offer: Offer | None
    outdated: bool


def claim_first(
    ledger: Ledger,
    repository: str,
    offers: Sequence[Offer],
    claimant: Callable[[Offer], Holder],
    term_s: float = CLAIM_S,
    gone: Callable[[Holder], bool] = lambda _holder: False,
) -> ClaimAnswer:
    """Claim the first offer that still stands, in one transaction that nobody else is in.

    `gone` tells which drivers are known to be dead before their lease ends.
    """
    database = ledger.database
    outdated = False
    with tenancies_alone(database):
        rows = tenancies_of(database, repository)
        for offer in offers:
            if ledger.head(offer.plan)[0] != offer.seq or _in_the_way(offer, rows, gone):
                outdated = True
                continue
            key, who = claim_resource(offer.plan), claimant(offer)
            row = Tenancy(key, offer.plan, None, who, 0, offer.touches, term_s)
            put_tenancy(database, repository, row)
            return ClaimAnswer(offer, outdated)
    return ClaimAnswer(None, outdated)


def renew_claim(
    ledger: Ledger, repository: str, plan: str, claimant: Holder, term_s: float
) -> bool:
    """Hand a claim to its own worker again; False if it is no longer theirs, or lapsed."""
    with tenancies_alone(ledger.database):
        row = find_tenancy(ledger.database, claim_resource(plan))
        if row is None or not row.live or row.holder.worker != claimant.worker:
            return False
        renewed = replace(row, run=None, holder=claimant, token=0, left_s=term_s)
        put_tenancy(ledger.database, repository, renewed)
    return True


def give_back_claim(ledger: Ledger, plan: str, owns: Callable[[Holder], bool]) -> bool:
    """End a claim before its time; whether there was one. Held when it is somebody else's."""
    with tenancies_alone(ledger.database):
        row = find_tenancy(ledger.database, claim_resource(plan))
        if row is None:
            return False
        if row.live and not owns(row.holder):
            raise _claimed_by_another(row)
        ledger.database.execute(_DROP, row.resource)
    return row.live


def redeem_claim(
    database: Database,
    plan: str,
    repository: str | None,
    touches: Sequence[str],
    owns: Callable[[Holder], bool],
) -> None:
    """Turn a worker's own claim into the right to drive, inside the caller's transaction."""
    row = find_tenancy(database, claim_resource(plan))
    if row is None:
        return
    if row.live and not owns(row.holder):
        raise _claimed_by_another(row)
    if not row.live and owns(row.holder) and repository is not None:
        _refuse_if_too_late(database, row, repository, touches)
    database.execute(_DROP, row.resource)


def _claimed_by_another(row: Tenancy) -> Held:
    name = shown_name(row.holder.plan)
    minutes = max(1, round(row.left_s / 60))
    return Held(
        f"plan `{name}` is claimed by worker `{row.holder.worker}` since {row.holder.since}",
        f"signoff next --give-back {shlex.quote(name)} --worker {shlex.quote(row.holder.worker)},"
        f" or wait {minutes} min until the claim ends",
        {"holder": row.holder.facts()},
    )


def _in_the_way(
    offer: Offer, rows: Sequence[Tenancy], gone: Callable[[Holder], bool]
) -> Tenancy | None:
    """The holder who has the plan already, or works on the same files."""
    for row in rows:
        claimed = row.resource == claim_resource(offer.plan) and row.live
        driven = row.resource == plan_resource(offer.plan) and row.live and not gone(row.holder)
        if claimed or driven:
            return row
    return _at_the_same_files(offer, rows, gone)


def _at_the_same_files(
    offer: Offer, rows: Sequence[Tenancy], gone: Callable[[Holder], bool]
) -> Tenancy | None:
    """The holder who works, or is about to, where these globs may lead; in doubt they do.

    A run that is not over has its files until somebody ends it, whether it is driven or not.
    """
    for row in rows:
        at_work = row.live and (row.claimed_only or not gone(row.holder))
        occupies = at_work or (row.unfinished and row.plan not in offer.beside)
        if row.plan == offer.plan or not occupies:
            continue
        if Overlaps({"mine": offer.touches, "theirs": row.touches}).in_the_way("mine"):
            return row
    return None


def _refuse_if_too_late(
    database: Database, row: Tenancy, repository: str, touches: Sequence[str]
) -> None:
    """A claim that ended has kept nobody away since: somebody may be at the same files now."""
    late = Offer(row.plan, row.holder.plan, 0, tuple(touches))
    other = _at_the_same_files(late, tenancies_of(database, repository), lambda _holder: False)
    if other is not None:
        name = shown_name(row.holder.plan)
        raise Held(
            f"the claim of worker `{row.holder.worker}` on plan `{name}` ended, and plan"
            f" `{other.holder.plan}`, which may change the same files, is under way",
            "signoff next for another plan; "
            f"signoff next --give-back {shlex.quote(name)} gives up the claim",
            {"holder": other.holder.facts()},
        )
