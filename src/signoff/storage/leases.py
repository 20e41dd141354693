"""Leases on a plan and its workspace: taken together, renewed, and fenced when taken over."""

from __future__ import annotations

import json
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from signoff.domain.names import shown_name
from signoff.errors import Fenced, Held, Interrupted, PlanConflict, SignoffError
from signoff.storage import claims
from signoff.storage.engine import Database
from signoff.storage.files import read_plan_file, swap_file
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder

LEASE_S = 30.0
RENEWALS_PER_TERM = 3
_IDENTITY_FILE = "identity"
_TOKEN_BITS = 62

_LOCK_CHAIN = "SELECT seq FROM chains WHERE plan = ?"
_VOID_FENCE = "UPDATE runs SET token = token + 1, holder = ? WHERE run = ?"
# A lease that lapsed before its run began has stopped nobody since, so it is not revived.
_RENEW = (
    "UPDATE leases SET until_s = {now} + ? WHERE token = ? AND (until_s > {now} OR run IS NOT NULL)"
)
_LIVE = "SELECT resource FROM leases WHERE token = ? AND until_s > {now}"
_NAME_RUN = "UPDATE leases SET run = ?, touches = ? WHERE token = ?"
_DROP = (
    "DELETE FROM leases WHERE token = ? AND (run IS NULL OR EXISTS (SELECT 1 FROM entries e"
    " WHERE e.plan = leases.plan AND e.run = leases.run AND e.kind = 'run.finished'))"
)
# Its run goes on some day: the row stays and says so, under a token that is nobody's.
_LEAVE = "UPDATE leases SET until_s = 0, token = 0 WHERE token = ?"


class LeaseRequest(Struct, frozen=True):
    """Needs of a driver; `workspace_key` is the same for the same folder."""

    plan: str
    name: str
    workspace: Path
    workspace_key: str
    repository: str | None
    touches: tuple[str, ...]
    holder: Holder


@contextmanager
def leased(
    ledger: Ledger,
    request: LeaseRequest,
    owns: Callable[[Holder], bool] = lambda _holder: False,
    term_s: float = LEASE_S,
) -> Iterator[Lease]:
    """Hold plan and workspace and keep renewing; a driver that lost them is told by Fenced.

    The caller holds the locks of its home already: whoever shares them and does not is dead.
    """
    lease = acquire_lease(ledger, request, owns, term_s)
    renewal = threading.Thread(target=lease.keep_renewing, name="signoff-lease", daemon=True)
    renewal.start()
    try:
        yield lease
    except Interrupted as error:
        if lease.lost():
            raise lease.fenced() from error
        raise
    finally:
        lease.release()


def acquire_lease(
    ledger: Ledger,
    request: LeaseRequest,
    owns: Callable[[Holder], bool] = lambda _holder: False,
    term_s: float = LEASE_S,
) -> Lease:
    """Plan and workspace in one transaction, or Held with who has them since when.

    `owns` tells which claims on the plan are the caller's own.
    """
    database = ledger.database
    token = 1 + (int.from_bytes(os.urandom(8)) >> (64 - _TOKEN_BITS))
    began = time.monotonic()
    with claims.tenancies_alone(database):
        claims.redeem_claim(database, request.plan, request.repository, request.touches, owns)
        shown = f"plan `{shown_name(request.name)}`", f"`{request.workspace}`"
        for resource, what in zip(_resources(request), shown, strict=True):
            _take(database, request, resource, what, token, term_s)
    return Lease(ledger, request, token, term_s, began)


class Lease:
    """Plan and workspace, held under one token until released or taken over."""

    def __init__(
        self, ledger: Ledger, request: LeaseRequest, token: int, term_s: float, since: float
    ):
        self._ledger = ledger
        self._request = request
        self._token = token
        self._term_s = term_s
        self._renewed = since
        self._lost = False
        self._released = threading.Event()
        self._busy = threading.Lock()

    def lost(self) -> bool:
        """True when somebody else has it, or nobody could be asked for longer than it lasts.

        Cheap, so that it can be asked all the time; a process that was stopped asks the database.
        """
        if not self._lost and time.monotonic() - self._renewed >= self._term_s:
            self.renew()
        return self._lost

    def fenced(self) -> Fenced:
        """The error for a driver that lost its lease."""
        name = shown_name(self._request.name)
        return Fenced(
            f"this driver lost its lease on plan `{name}`",
            f"signoff status {shlex.quote(name)}, then run again",
        )

    def keep_renewing(self) -> None:
        """Renew in time, until released or lost."""
        while not self._released.wait(self._term_s / RENEWALS_PER_TERM) and not self._lost:
            self.renew()

    def renew(self) -> bool:
        """Make it last a full term from now; whether it is still ours."""
        with self._busy:
            if self._released.is_set() or self._lost:
                return not self._lost
            asked = time.monotonic()
            try:
                database = self._ledger.database
                with claims.tenancies_alone(database, durable=False):
                    sql = _RENEW.format(now=database.now_s)
                    renewed = database.execute(sql, self._term_s, self._token)
                self._lost = renewed < len(_resources(self._request))
                self._renewed = asked
            except SignoffError:
                # The database may come back; but longer than it lasts nothing is ours for sure.
                self._lost = time.monotonic() - self._renewed >= self._term_s
            return not self._lost

    def begin_run(self, run: str, touches: Sequence[str]) -> None:
        """Say which run it is for, in the transaction that records the run's beginning."""
        database = self._ledger.database
        claims.lock_tenancies(database)
        live = database.fetch(_LIVE.format(now=database.now_s), self._token)
        if len(live) < len(_resources(self._request)):
            raise self.fenced()
        database.execute(_NAME_RUN, run, json.dumps(list(touches)), self._token)

    def release(self) -> None:
        """Give it back; what stands for an unfinished run stays, held by nobody."""
        with self._busy:
            self._released.set()
            database = self._ledger.database
            # What cannot be given back now lapses by itself.
            with suppress(SignoffError), claims.tenancies_alone(database):
                database.execute(_DROP, self._token)
                database.execute(_LEAVE, self._token)


def home_identity(home: Path) -> str:
    """Identity of this home, wherever it is mounted; made once, by the first process that asks."""
    path = home / _IDENTITY_FILE
    with suppress(PlanConflict):
        if not path.exists():
            swap_file(path, None, os.urandom(16).hex().encode())
    return read_plan_file(path, follow=False).decode("ascii", "replace")


def _resources(request: LeaseRequest) -> tuple[str, ...]:
    return claims.plan_resource(request.plan), claims.workspace_resource(request.workspace_key)


def _take(
    database: Database,
    request: LeaseRequest,
    resource: str,
    shown: str,
    token: int,
    term_s: float,
) -> None:
    row = claims.find_tenancy(database, resource)
    if row is not None and row.live and not row.holder.shares_locks_with(request.holder):
        raise _held(shown, row)
    run, touches = None, request.touches
    if row is not None and row.unfinished and row.run is not None:
        _void_fence(database, row.plan, row.run, request.holder)
        if row.plan == request.plan:
            run, touches = row.run, row.touches
    row = claims.Tenancy(resource, request.plan, run, request.holder, token, touches, term_s)
    claims.put_tenancy(database, request.repository, row)


def _void_fence(database: Database, plan: str, run: str, holder: Holder) -> None:
    """Fence out the driver of that run: it writes nothing more, even if we never touch its plan."""
    # Same lock as append: nobody is between its fence check and its commit now.
    database.fetch(_LOCK_CHAIN + database.row_lock, plan)
    database.execute(_VOID_FENCE, json.dumps(holder.facts()), run)


def _held(shown: str, row: claims.Tenancy) -> Held:
    worker = f", worker `{row.holder.worker}`" if row.holder.worker else ""
    plan = f" (plan `{row.holder.plan}`)" if row.holder.plan else ""
    return Held(
        f"{shown} is held by {row.holder}{worker}{plan}",
        f"wait for it; if it died, its lease ends in {max(1, round(row.left_s))} s",
        {"holder": row.holder.facts()},
    )


def is_gone(holder: Holder, ours: Holder) -> bool:
    """True when a driver is known to be dead: it shared our locks, and its process is no more."""
    if not holder.shares_locks_with(ours):
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
