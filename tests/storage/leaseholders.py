"""Drivers and workers for the tests of leases: here or on another machine, in one home or two."""

from __future__ import annotations

from pathlib import Path

from signoff.domain.ledger import Draft, Kind
from signoff.storage.claims import Offer
from signoff.storage.leases import Lease, LeaseRequest
from signoff.storage.ledger import Ledger
from signoff.storage.records import Fence, Holder
from tests.storage.kit import run_sql

REPOSITORY = "/somewhere/main"
SINCE = "2026-01-02T03:04:05.000006+00:00"


def driver(worker: str = "ann", host: str = "build-7", home: str = "home-7") -> Holder:
    """A driver with a name."""
    return Holder(4711, host, "/somewhere/PLAN-a.md", SINCE, worker, home)


ELSEWHERE = driver("bob", "build-8", "home-8")


def wants(
    plan: str = "a",
    holder: Holder | None = None,
    workspace: str = "w",
    touches: tuple[str, ...] = ("src/**",),
) -> LeaseRequest:
    """What a driver asks for."""
    return LeaseRequest(
        plan=plan,
        name=plan,
        workspace=Path("/somewhere") / workspace,
        workspace_key=workspace,
        repository=REPOSITORY,
        touches=touches,
        holder=holder or driver(),
    )


def offer(plan: str, *touches: str, seq: int = 0) -> Offer:
    """A plan that looked free before anything was written about it."""
    return Offer(plan, plan, seq, touches)


def claimant(worker: str, plan: str) -> Holder:
    """Whoever claims a plan."""
    return Holder(1, "build-7", plan, SINCE, worker, "home-7")


def begin(ledger: Ledger, lease: Lease, plan: str = "a", run: str = "r") -> Fence:
    """Begin a run under a lease, as the product does."""
    fence = ledger.begin_run(plan, run, driver())
    started = Draft(Kind.RUN_STARTED, {"workspace": "w"}, run=run)
    with ledger.database.transaction():
        lease.begin_run(run, ("src/**",))
        ledger.append_within(plan, [started], fence=fence)
    return fence


def finish(ledger: Ledger, plan: str = "a", run: str = "r") -> None:
    """The run is over."""
    ledger.append(plan, [Draft(Kind.RUN_FINISHED, {"outcome": "done"}, run=run)])


def let_time_pass(url: str) -> None:
    """Everything that had a time has outlived it, by the database's clock."""
    run_sql(url, "UPDATE leases SET until_s = until_s - 100000 WHERE until_s > 0")


def resources(url: str) -> list[str]:
    """What is on record."""
    return [row[0] for row in run_sql(url, "SELECT resource FROM leases ORDER BY resource")]
