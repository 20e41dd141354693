"""Claims: a plan handed out to one worker until it runs it, gives it back or lets the time pass."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from signoff.domain.names import shown_name
from signoff.errors import Held
from signoff.storage.engine import Database
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder
from signoff.storage.tenancies import (
    Tenancy,
    claim_resource,
    drop_tenancy,
    find_tenancy,
    lock_tenancies,
    may_meet,
    plan_resource,
    put_tenancy,
    tenancies_of,
)

CLAIM_S = 15 * 60.0


@dataclass(frozen=True)
class Offer:
    """A plan that looked free: `seq` is the number of its last entry when it did.

    `beside` are plans whose unfinished runs are in nobody's way as long as nobody drives them.
    """

    plan: str
    name: str
    seq: int
    touches: tuple[str, ...]
    beside: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ClaimAnswer:
    """What was claimed; `outdated` when something else had happened since the offers were made."""

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
    with database.transaction():
        lock_tenancies(database)
        rows = tenancies_of(database, repository)
        for offer in offers:
            if ledger.head(offer.plan)[0] != offer.seq or _in_the_way(offer, rows, gone):
                outdated = True
                continue
            put_tenancy(
                database,
                claim_resource(offer.plan),
                repository,
                offer.plan,
                None,
                claimant(offer),
                0,
                term_s,
                offer.touches,
            )
            return ClaimAnswer(offer, outdated)
    return ClaimAnswer(None, outdated)


def renew_claim(
    ledger: Ledger, repository: str, plan: str, claimant: Holder, term_s: float
) -> bool:
    """Hand a claim to its own worker again; False if it is no longer theirs, or lapsed."""
    database = ledger.database
    with database.transaction():
        lock_tenancies(database)
        row = find_tenancy(database, claim_resource(plan))
        if row is None or not row.live or row.holder.worker != claimant.worker:
            return False
        put_tenancy(
            database,
            row.resource,
            repository,
            plan,
            None,
            claimant,
            0,
            term_s,
            row.touches,
        )
    return True


def give_back_claim(ledger: Ledger, plan: str, owns: Callable[[Holder], bool]) -> bool:
    """End a claim before its time; whether there was one. Held when it is somebody else's."""
    database = ledger.database
    with database.transaction():
        lock_tenancies(database)
        row = find_tenancy(database, claim_resource(plan))
        if row is not None and row.live and not owns(row.holder):
            raise claimed_by_another(row)
        if row is not None:
            drop_tenancy(database, row.resource)
    return row is not None and row.live


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
    if not owns(row.holder):
        if row.live:
            raise claimed_by_another(row)
    elif not row.live and repository is not None:
        _refuse_if_too_late(database, row, repository, touches)
    drop_tenancy(database, row.resource)


def claimed_by_another(row: Tenancy) -> Held:
    """What a worker is told who wants a plan that another one was given."""
    name = shown_name(row.holder.plan)
    minutes = max(1, round(row.left_s / 60))
    return Held(
        f"plan `{name}` is claimed by worker `{row.holder.worker}` since {row.holder.since}",
        f"signoff next --give-back {shlex.quote(name)} --worker {shlex.quote(row.holder.worker)},"
        f" or wait {minutes} min until the claim ends",
        {"holder": row.holder.facts()},
    )


def _at_the_same_files(
    offer: Offer, rows: Sequence[Tenancy], gone: Callable[[Holder], bool]
) -> Tenancy | None:
    """Whoever works, or is about to, where these globs lead; where it cannot be told, too.

    A run that is not over has its files until somebody ends it, whether it is driven or not.
    """
    for row in rows:
        at_work = row.live and (row.claimed_only or not gone(row.holder))
        occupies = at_work or (row.unfinished and row.plan not in offer.beside)
        if row.plan == offer.plan or not occupies:
            continue
        if may_meet(offer.touches, row.touches):
            return row
    return None


def _in_the_way(
    offer: Offer, rows: Sequence[Tenancy], gone: Callable[[Holder], bool]
) -> Tenancy | None:
    for row in rows:
        claimed = row.resource == claim_resource(offer.plan) and row.live
        driven = row.resource == plan_resource(offer.plan) and row.live and not gone(row.holder)
        if claimed or driven:
            return row
    return _at_the_same_files(offer, rows, gone)


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
