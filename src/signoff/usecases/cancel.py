"""`cancel`: end a run for good; and a run that a person's answer ends while nobody drives it."""

from __future__ import annotations

import os
import shlex
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Draft, Kind
from signoff.errors import Held, NoSuchRun, SignoffError
from signoff.gate.actions import Finish, next_action
from signoff.orchestrator.attempts import lost_attempts
from signoff.storage.locks import hold
from signoff.storage.records import Holder
from signoff.usecases.history import approved_by, read_history, read_pins
from signoff.usecases.marks import show_run
from signoff.usecases.openwork import attempt_reports, driven, learn_secrets, plan_lock, taken
from signoff.usecases.person import find_worker, refuse_in_attempt
from signoff.usecases.site import Harness, PlanLocation, find_plan


@dataclass(frozen=True)
class CancelReport:
    """Which run was ended, and whether a live driver had to be stopped."""

    place: PlanLocation
    run: str
    stopped: int | None


def cancel_run(site: Harness, place: PlanLocation, note: str) -> CancelReport:
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


def _stop(site: Harness, place: PlanLocation, driver: Holder) -> int | None:
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


def end_decided_run(site: Harness, plan: str) -> Outcome | None:
    """How the run of this plan ended just now by a person's answer.

    None when it goes on, or somebody drives it: then the answer is the next thing that they read.
    """
    place = _where_begun(site, plan)
    if place is None:
        return None
    try:
        with driven(site, place, find_worker(site.environ)) as (_, holder):
            return _end(site, place, holder)
    except Held:
        return None


def _where_begun(site: Harness, plan: str) -> PlanLocation | None:
    """Where the run was begun; one whose workspace is gone is left to the next run."""
    run = read_history(site.ledger, plan).run
    records = [record for record in site.ledger.plans() if record.id == plan]
    if run is None or not records:
        return None
    try:
        workspace = Path(read_pins(site.ledger, run).workspace)
        place = find_plan(site.cwd, records[0].path, workspace, site.environ, even_gone=True)
    except SignoffError:
        return None
    return place if place.record.id == plan else None


def _end(site: Harness, place: PlanLocation, holder: Holder) -> Outcome | None:
    history = read_history(site.ledger, place.record.id)
    if not history.running or history.run is None:
        return None
    approved = approved_by(site.ledger, place, history, history.run)
    state = approved.state
    action = next_action(state, approved.settings.policy)
    if not isinstance(action, Finish):
        return None
    fence = site.ledger.take_over(state.run, holder)
    waived = sorted(subject for subject, record in state.records.items() if record.waived)
    data = {"outcome": action.outcome, "snapshot": state.snapshot, "waived": waived}
    drafts = [
        *lost_attempts(state, attempt_reports(site, state.run)),
        Draft(Kind.RUN_FINISHED, data, run=state.run),
    ]
    if action.outcome is Outcome.REVISED:
        drafts.append(Draft(Kind.PLAN_DRAFTED, {"run": state.run}, run=state.run))
    site.ledger.append(place.record.id, drafts, fence=fence)
    show_run(site, place)
    return action.outcome
