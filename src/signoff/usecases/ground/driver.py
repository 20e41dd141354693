"""Who drives a run now: read from its lease, without trying any lock."""

from __future__ import annotations

import os
from dataclasses import dataclass

from signoff.storage.claims import find_tenancy, plan_resource
from signoff.storage.leases import home_identity, is_gone
from signoff.storage.records import Holder
from signoff.usecases.ground.site import Site


@dataclass(frozen=True)
class Driver:
    """Who drives a run, or drove it until it died."""

    holder: Holder
    alive: bool


def driver_of(site: Site, plan: str) -> Driver | None:
    """None when whoever drove it last gave it back, or is this very process."""
    row = find_tenancy(site.ledger.database, plan_resource(plan))
    if row is None or not row.unfinished or not row.token:
        return None
    ours = Holder.current("", home=home_identity(site.home.path))
    if row.holder.pid == os.getpid() and row.holder.shares_locks_with(ours):
        return None
    return Driver(row.holder, alive=row.live and not is_gone(row.holder, ours))
