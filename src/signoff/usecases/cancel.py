"""`cancel`: end a run for good; and a run that a person's answer ends while nobody drives it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from signoff.domain.ledger import Draft, Kind, Outcome
from signoff.errors import Held, NoSuchRun, SignoffError
from signoff.gate.actions import Finish, next_action
from signoff.orchestrator.openrun import lost_attempts
from signoff.storage.home import hold
from signoff.storage.records import Holder
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.history import approved_by, read_history, read_pins
from signoff.usecases.marks import show_run
from signoff.usecases.openwork import attempt_reports, driven, learn_secrets, taken
from signoff.usecases.person import find_worker, refuse_in_attempt
from signoff.usecases.workspaces import plan_lock


class CancelReport(Struct, frozen=True):
    """The run that was ended, and the live driver that had to be stopped."""

    place: PlanLocation
    run: str
    stopped: int | None


def cancel_run(harness: Harness, place: PlanLocation, note: str) -> CancelReport:
    """Void the driver's fence, record the end, then stop the driver if it lives here."""
    by = refuse_in_attempt(harness.environ, harness.home.path)
    history = read_history(harness.ledger, place.id)
    run = history.run_id
    if not history.running or run is None:
        raise NoSuchRun(
            f"plan `{place.name}` has no run to cancel", f"signoff status {place.quoted}"
        )
    record = harness.ledger.run_record(run)
    fence = harness.ledger.take_over(run, Holder.current(str(place.path)))
    learn_secrets(harness, place.id)
    ended = {"outcome": Outcome.CANCELLED, "snapshot": None, "waived": list[str]()}
    data = {**ended, "by": by, "note": note}
    harness.ledger.append(place.id, [Draft(Kind.RUN_FINISHED, data, run=run)], fence=fence)
    show_run(harness, place)
    return CancelReport(place, run, _stop(harness, place, record.holder) if record else None)


def _stop(harness: Harness, place: PlanLocation, driver: Holder) -> int | None:
    """Ask a driver that lives to end, as Ctrl-C would; of a dead one only leftovers are ended."""
    us = Holder.current(str(place.path))
    try:
        with hold(harness.home.locks, plan_lock(place), us), taken(harness, place, us):
            return None
    except Held:
        if driver.host != os.uname().nodename:
            return None
    with suppress(ProcessLookupError, PermissionError):
        os.kill(driver.pid, signal.SIGINT)
        return driver.pid
    return None


def end_decided_run(harness: Harness, plan: str) -> Outcome | None:
    """Outcome of this plan's run, if a person's answer just ended it.

    None when it goes on, or somebody drives it: then the answer is the next thing that they read.
    """
    run = read_history(harness.ledger, plan).run
    records = [record for record in harness.ledger.plans() if record.id == plan]
    if run is None or not records:
        return None
    try:
        # Where it was begun; one whose workspace is gone is left to the next run.
        workspace = Path(read_pins(harness.ledger, run).workspace)
        place = find_plan(harness.cwd, records[0].path, workspace, harness.environ, even_gone=True)
    except SignoffError:
        return None
    if place.id != plan:
        return None
    try:
        with driven(harness, place, find_worker(harness.environ)) as (_, holder):
            return _end(harness, place, holder)
    except Held:
        return None


def _end(harness: Harness, place: PlanLocation, holder: Holder) -> Outcome | None:
    history = read_history(harness.ledger, place.id)
    if not history.running or history.run is None:
        return None
    approved = approved_by(harness.ledger, place, history, history.run)
    state = approved.state
    action = next_action(state, approved.settings.policy)
    if not isinstance(action, Finish):
        return None
    fence = harness.ledger.take_over(state.run, holder)
    waived = sorted(subject for subject, record in state.records.items() if record.waived)
    data = {"outcome": action.outcome, "snapshot": state.snapshot, "waived": waived}
    drafts = [
        *lost_attempts(state, attempt_reports(harness, state.run)),
        Draft(Kind.RUN_FINISHED, data, run=state.run),
    ]
    if action.outcome is Outcome.REVISED:
        drafts.append(Draft(Kind.PLAN_DRAFTED, {"run": state.run}, run=state.run))
    harness.ledger.append(place.id, drafts, fence=fence)
    show_run(harness, place)
    return action.outcome
