"""`run --on workers`, `pull`, `workers`: hand a run over, follow it, bring back what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from signoff.domain.ledger import Entry, Outcome
from signoff.domain.plan import PlanStatus
from signoff.domain.text import shown_list
from signoff.errors import (
    ContentUnreachable,
    Held,
    Interrupted,
    NoSuchRun,
    NotApproved,
    PlanConflict,
)
from signoff.gate.fold import fold
from signoff.gate.state import State
from signoff.orchestrator.dispatch import Dispatcher, RunQueue, dispatching
from signoff.orchestrator.events import Appended, Driving
from signoff.process.environment import safe_search_path
from signoff.settings.roles import HUMAN_ROLE
from signoff.storage.home import shown_size
from signoff.storage.workers import ON_WORKERS, PresentWorker, present_workers, read_trust
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import (
    ApprovedPlan,
    PlanHistory,
    approved_by,
    fold_run,
    intact_history,
    pinned_plan,
    read_history,
    read_pins,
)
from signoff.usecases.marks import show_run
from signoff.usecases.openwork import driven
from signoff.usecases.person import find_worker
from signoff.usecases.pinning import refuse_foreign_worktree, refuse_other_place
from signoff.usecases.run import RunOptions, RunReport, approved_to_run, report_run, run_plan
from signoff.usecases.working import BEGUN, WAITING, remote_of, server_url
from signoff.usecases.workspaces import approved_workspace
from signoff.workspace.beside import bring_over
from signoff.workspace.remote import ContentRemote
from signoff.workspace.workspace import Workspace

_LOOK_S = 0.5
_NAMED = 10


class Pulled(Struct, frozen=True):
    """Content that a run on workers came to, brought into the workspace."""

    run: str
    outcome: Outcome
    snapshot: str
    changed: tuple[str, ...]


class WorkerLine(Struct, frozen=True):
    """A worker as people see it."""

    worker: PresentWorker
    trusted: bool
    sign_of_life_s: float  # ago


class WorkersReport(Struct, frozen=True):
    """Workers, queues, and runs that wait for a worker that is not there."""

    workers: tuple[WorkerLine, ...]
    queues: tuple[RunQueue, ...]
    missing: tuple[str, ...]  # what waits for a worker that is not there, in words


def run_on_workers(harness: Harness, place: PlanLocation, options: RunOptions) -> RunReport:
    """Hand the plan over to the workers, or find it with them, and follow it; Ctrl-C leaves it."""
    url = server_url(harness)
    remote = remote_of(harness, place.id)
    refuse_foreign_worktree(harness, place)
    history = intact_history(harness.ledger, place.id, place.path)
    if not history.running and history.status(place.digest()) is PlanStatus.DONE:
        return run_plan(harness, place, options)  # nothing to hand over: it looks, and says so
    if place.depends_on and not options.anyway and not history.running:
        from signoff.usecases.ready import refuse_unready  # noqa: PLC0415 - looks at every plan

        refuse_unready(harness, place, "run")
    if history.running:
        assert history.run is not None
        refuse_other_place(place, history, on_worker=True)
        approved = approved_by(harness.ledger, place, history, history.run)
    else:
        approved = _send(harness, place, options, remote)
    needs = [role for role in approved.plan.roles if role != HUMAN_ROLE]
    with dispatching(url) as queues:
        after = BEGUN if history.running else history.run_id or ""
        handed = queues.hand_over(
            place.id, after, needs, options.roles or {}, approved.plan.priority
        )
        result = _follow(harness, place, options, queues, handed)
    outcome = None if result == WAITING else _outcome(harness, place)
    if outcome is Outcome.DONE:
        try:
            pulled = pull_plan(harness, place)
            if pulled.changed:
                options.tell(f"brought up to date here: {shown_list(pulled.changed, _NAMED)}")
        except (PlanConflict, Held, ContentUnreachable) as error:
            options.tell(
                f"the workspace was not brought up to date: {error.message}"
                f" (signoff pull {place.quoted})"
            )
    return report_run(harness, place, outcome)


def _send(
    harness: Harness, place: PlanLocation, options: RunOptions, remote: ContentRemote
) -> ApprovedPlan:
    """Approve where that is to be done now, and send the approved content."""
    harness.home.keep_apart(place.workspace)
    with driven(harness, place, find_worker(harness.environ, options.worker)):
        history = intact_history(harness.ledger, place.id, place.path)
        approved = approved_to_run(harness, place, history, options)
        workspace = approved_workspace(harness, approved)
        if workspace.snapshot(durable=True).digest != approved.pins.snapshot:
            raise NotApproved(
                "the workspace changed since the approval; workers begin with what was approved",
                f"signoff approve {place.quoted}",
            )
        files = workspace.manifest(approved.pins.snapshot).values()
        size = shown_size(sum(state.size for state in files))
        options.tell(
            f"{len(files)} files ({size}) of `{place.workspace}` go to the content remote,"
            " untracked ones included; ignored ones stay here"
        )
        remote.send(workspace.objects, approved.pins.snapshot)
    return approved


def _follow(
    harness: Harness, place: PlanLocation, options: RunOptions, queues: Dispatcher, handed: str
) -> str:
    """Tell what is written, until the run is over, waits for a person, or nobody wants to know."""
    seq, state, said = harness.ledger.head(place.id)[0], None, ""
    while True:
        stand = queues.look(handed)  # first: what was written before it ended is told then
        for entry in tuple(harness.ledger.entries(place.id, after=seq)):
            state = _tell(harness, place, options, state, entry)
            seq = entry.seq
        if stand.error is not None:
            raise stand.error
        if not stand.waits and not stand.under_way:
            return stand.result
        missing = "; ".join(_missing(harness, queues)) if stand.waits else ""
        if missing and missing != said:
            options.tell(missing)
        said = missing
        if options.cancelled():
            raise Interrupted("left with the workers, who go on", f"signoff status {place.quoted}")
        time.sleep(_LOOK_S)


def _tell(
    harness: Harness, place: PlanLocation, options: RunOptions, state: State | None, entry: Entry
) -> State | None:
    """Tell one entry; whoever watches is shown the run's state with it."""
    if state is None and entry.run is not None:
        history = read_history(harness.ledger, place.id)
        if history.run is None or history.run_id != entry.run:
            return None
        plan = pinned_plan(read_pins(harness.ledger, history.run))
        state = fold(State(plan, entry.run), [e for e in history.entries if e.seq < entry.seq])
        options.reporter.tell(Driving(state))
    if state is not None and entry.seq > state.seq:
        fold(state, (entry,))
    options.reporter.tell(Appended(entry))
    return state


def _outcome(harness: Harness, place: PlanLocation) -> Outcome | None:
    history = read_history(harness.ledger, place.id)
    return None if history.finished is None else Outcome(history.finished.data["outcome"])


def pull_plan(harness: Harness, place: PlanLocation) -> Pulled:
    """Bring what a run on workers came to into the workspace, beside what changed there since."""
    _over_on_workers(harness, place)  # before it is asked for: a worker may hold it
    with driven(harness, place, find_worker(harness.environ)):
        history, finished = _over_on_workers(harness, place)
        assert history.run is not None and history.run_id is not None
        approved = approved_by(harness.ledger, place, history, history.run)
        plan, pins = approved.plan, approved.pins
        content = finished.data["snapshot"] or fold_run(history, plan).snapshot
        workspace, remote = approved_workspace(harness, approved), remote_of(harness, place.id)
        changed = _bring(harness, workspace, remote, pins.snapshot, content or pins.snapshot)
        show_run(harness, place)
    outcome = Outcome(finished.data["outcome"])
    return Pulled(history.run_id, outcome, content or pins.snapshot, changed)


def _over_on_workers(harness: Harness, place: PlanLocation) -> tuple[PlanHistory, Entry]:
    """The history, and the end, of the newest run, which was on workers."""
    history = intact_history(harness.ledger, place.id, place.path)
    if history.run is None or history.run.data.get("on") != ON_WORKERS:
        raise NoSuchRun(f"no run of plan `{place.name}` was on workers")
    if history.finished is None:
        raise Held(
            f"run `{history.run_id}` is not over", f"signoff run {place.quoted} --on workers"
        )
    return history, history.finished


def _bring(
    harness: Harness, workspace: Workspace, remote: ContentRemote, base: str, content: str
) -> tuple[str, ...]:
    remote.fetch(workspace, (content,))
    before = workspace.snapshot(durable=True).digest
    path = safe_search_path(harness.environ.get("PATH", ""), workspace.root)
    collided = bring_over(workspace, base, content, {**harness.environ, "PATH": path})
    if collided:
        raise PlanConflict(
            f"changed here and by the run, so nothing was written: {shown_list(collided, _NAMED)}",
            "put these files aside, then run it again",
        )
    after = workspace.snapshot(durable=True).digest
    with suppress(ContentUnreachable):
        remote.remove(remote.digests())  # nobody else needs it: what was signed off is kept here
    return tuple(change.path for change in workspace.diff(before, after))


def workers_report(harness: Harness) -> WorkersReport:
    """List who is there by the database's clock, whom people trust, and what waits for whom."""
    url = server_url(harness)
    database = harness.ledger.database
    with dispatching(url) as queues:
        waiting, missing = queues.queues(), tuple(_missing(harness, queues))
    trusted = {(t.name, t.key.id[:32]) for t in read_trust(harness.ledger) if t.until_s is None}
    return WorkersReport(
        tuple(
            WorkerLine(one, (one.name, one.process.partition(":")[0]) in trusted, one.silent_s)
            for one in present_workers(database)
        ),
        waiting,
        missing,
    )


def _missing(harness: Harness, queues: Dispatcher) -> Sequence[str]:
    """Say what waits for a worker that is not there."""
    live = [worker for worker in present_workers(harness.ledger.database) if worker.live]
    said = []
    for queue in queues.queues():
        if queue.waiting and not any(worker.plays(queue.roles) for worker in live):
            roles = " and ".join(f"`{role}`" for role in queue.roles) or "any role"
            runs = "1 run waits" if queue.waiting == 1 else f"{queue.waiting} runs wait"
            said.append(f"no worker that is there plays {roles}; {runs}")
    return said
