"""`cancel`: end a run for good; whoever drives it is fenced out at once."""

from __future__ import annotations

import os
import shlex
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Draft, Kind
from signoff.errors import Held, NoSuchRun
from signoff.storage.locks import hold
from signoff.storage.records import Holder
from signoff.usecases.ground.history import read_history
from signoff.usecases.ground.person import refuse_in_attempt
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.workbench import learn_secrets, plan_lock, taken
from signoff.usecases.running.marks import show_run


@dataclass(frozen=True)
class CancelReport:
    """Which run was ended, and whether a live driver had to be stopped."""

    place: PlanPlace
    run: str
    stopped: int | None


def cancel_run(site: Site, place: PlanPlace, note: str) -> CancelReport:
    """Void the driver's fence, record the end, then stop the driver if it lives here."""
    by = refuse_in_attempt(site.environ, site.home.path)
    history = read_history(site.ledger, place.record.id)
    run = history.run_id
    if not history.running or run is None:
        raise NoSuchRun(
            f"plan `{place.name}` has no run to cancel",
            f"signoff status {shlex.quote(str(place.path))}",
        )
    record = site.ledger.run_record(run)
    fence = site.ledger.take_over(run, Holder.current(str(place.path)))
    learn_secrets(site, place.record.id)
    data: dict[str, Any] = {"outcome": Outcome.CANCELLED, "by": by, "note": note}
    data |= {"snapshot": None, "waived": []}
    site.ledger.append(place.record.id, [Draft(Kind.RUN_FINISHED, data, run=run)], fence=fence)
    show_run(site, place)
    return CancelReport(place, run, _stop(site, place, record.holder) if record else None)


def _stop(site: Site, place: PlanPlace, driver: Holder) -> int | None:
    """Ask a driver that lives to end, as Ctrl-C would; of a dead one only leftovers are ended."""
    us = Holder.current(str(place.path))
    try:
        with hold(site.home.locks, plan_lock(place), us), taken(site, place, us):
            return None
    except Held:
        if driver.host != os.uname().nodename:
            return None
    with suppress(ProcessLookupError, PermissionError):
        os.kill(driver.pid, signal.SIGINT)
        return driver.pid
    return None
