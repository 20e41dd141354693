"""A run that a person's answer ends is over at once when nobody drives it.

Whoever drives it ends it by itself: the answer is the next thing that it reads.
"""

from __future__ import annotations

from pathlib import Path

from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Draft, Kind
from signoff.errors import Held, SignoffError
from signoff.gate.actions import Finish, next_action
from signoff.gate.state import State
from signoff.orchestrator.attempts import lost_attempts
from signoff.settings.loading import settings_from_pin
from signoff.storage.records import Holder
from signoff.usecases.ground.history import fold_run, pinned_plan, read_history, read_pins
from signoff.usecases.ground.site import PlanPlace, Site, find_plan
from signoff.usecases.ground.workbench import attempt_reports, driven
from signoff.usecases.ground.worker import find_worker
from signoff.usecases.running.marks import show_run


def end_decided_run(site: Site, plan: str) -> Outcome | None:
    """How the run of this plan ended just now; None when it goes on, or somebody drives it."""
    place = _place(site, plan)
    if place is None:
        return None
    worker = find_worker(site.environ)
    holder = worker.driver(site, str(place.path))
    try:
        with driven(site, place, holder, worker):
            return _end(site, place, holder)
    except Held:
        return None


def _place(site: Site, plan: str) -> PlanPlace | None:
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


def _end(site: Site, place: PlanPlace, holder: Holder) -> Outcome | None:
    history = read_history(site.ledger, place.record.id)
    if not history.running or history.run is None or history.run_id is None:
        return None
    pins = read_pins(site.ledger, history.run)
    state = fold_run(history, pinned_plan(pins))
    action = next_action(state, settings_from_pin(pins.settings).policy)
    if not isinstance(action, Finish):
        return None
    fence = site.ledger.take_over(history.run_id, holder)
    drafts = [*lost_attempts(state, attempt_reports(site, state.run)), *_ends(state, action)]
    site.ledger.append(place.record.id, drafts, fence=fence)
    show_run(site, place)
    return action.outcome


def _ends(state: State, action: Finish) -> list[Draft]:
    waived = sorted(subject for subject, record in state.records.items() if record.waived)
    data = {"outcome": action.outcome, "snapshot": state.snapshot, "waived": waived}
    drafts = [Draft(Kind.RUN_FINISHED, data, run=state.run)]
    if action.outcome is Outcome.REVISED:
        drafts.append(Draft(Kind.PLAN_DRAFTED, {"run": state.run}, run=state.run))
    return drafts
