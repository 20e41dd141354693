"""`run`: drive an approved plan until it is over or must wait; the same call resumes it.

run_plan → driven → approved_to_run → open_work → _begin → Drive.drive → report
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from signoff import __version__
from signoff.agents.command import CommandAgent
from signoff.agents.pooled import pooled
from signoff.agents.presets import with_presets
from signoff.agents.troubles import check_role
from signoff.domain.facts import SessionWork, read_fact
from signoff.domain.findings import Finding
from signoff.domain.ledger import GENESIS, Draft, Entry, Kind, Outcome
from signoff.domain.plan import PlanStatus
from signoff.domain.verdict import Result
from signoff.errors import NotApproved, SignoffError, UnknownRole
from signoff.orchestrator.drive import Drive
from signoff.orchestrator.events import Appended, Printed, Reporter
from signoff.orchestrator.openrun import OpenRun, OpinionAsker
from signoff.settings.loading import REPOSITORY_FILE
from signoff.settings.policy import HeldBeforeRule
from signoff.settings.roles import HUMAN_ROLE
from signoff.storage.leases import LEASE_S, Lease
from signoff.storage.records import Fence, Holder
from signoff.testing.crash import CrashPoint, reach
from signoff.usecases.approve import approve_unasked, propose
from signoff.usecases.audit import AuditReport, audit_plan, look_at_content
from signoff.usecases.gc import keep_quota
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import (
    ApprovedPlan,
    PlanHistory,
    approved_by,
    approved_with,
    fold_run,
    intact_history,
    must_wait,
    older_pins,
    read_history,
    read_pins,
    require_proved,
    role_words,
)
from signoff.usecases.lanes import lanes_of, strength_rooms
from signoff.usecases.marks import projection_of
from signoff.usecases.openwork import (
    OpenWork,
    WorkerRun,
    attempt_reports,
    driven,
    open_work,
    pin_watch,
    required_enclosure,
    unopened,
)
from signoff.usecases.person import find_worker
from signoff.usecases.pinning import (
    is_reconfigured,
    not_approved,
    pins_for,
    refuse_foreign_worktree,
    refuse_other_place,
    require_protected_as_approved,
    tried_first,
)
from signoff.usecases.questions import InboxItem, open_items
from signoff.usecases.status import ContentStatus, StatusReport, status_of
from signoff.usecases.workspaces import (
    approved_workspace,
    open_workspace,
    refuse_own_output,
    workspace_lock,
)
from signoff.workspace.ignore import read_ignore_rules


class DurableEngine(Protocol):
    """Makes a drive durable."""

    def drive(self, run: str, drive: Callable[[], Outcome | None]) -> Outcome | None:
        """Drive the run; None when it waits for a person."""


class RunOptions(Struct, frozen=True):
    """The person's wishes, the reporter of the run, and the engine that makes it durable."""

    reporter: Reporter
    engine: Callable[[], DurableEngine]
    yes: bool = False
    roles: Mapping[str, str] | None = None
    cancelled: Callable[[], bool] = lambda: False
    worker: str | None = None
    wait: bool = False  # stay while a usage limit parks the run
    jobs: int | None = None  # attempts at the same time; None: as the user's settings say
    anyway: bool = False  # although plans it depends on are not signed off and merged
    output: tuple[Path, ...] = ()  # files that the caller writes into while the run goes on
    session: SessionWork | None = None  # did the steps already: they are judged, given to nobody
    warn: Callable[[tuple[Finding, ...]], None] = lambda _: None  # of what nobody was shown
    tell: Callable[[str], None] = lambda _: None  # what the person should know before it begins
    on_worker: WorkerRun | None = None  # None: on the machine, and in the workspace, of the person


class RunReport(Struct, frozen=True):
    """State after driving; `outcome` is None while the run waits for a person."""

    outcome: Outcome | None
    status: StatusReport
    inbox: tuple[InboxItem, ...]
    nothing_to_do: bool = False
    no_receipt: str = ""  # why a sign-off has no receipt yet
    unheeded: str = ""  # what was asked for on the command line and changes nothing now
    unmarked: str = ""  # why the plan file does not show how the run stands
    audit: AuditReport | None = None  # of a plan that was signed off already, on other content


def run_plan(harness: Harness, place: PlanLocation, options: RunOptions) -> RunReport:
    """Drive the plan; one that is signed off is not driven, but judged again on other content."""
    report = _run(harness, place, options)
    looked = report.status.content
    if not report.nothing_to_do or (looked is not None and looked.differs is False):
        return report
    options.tell("this content is not what was signed off: every contract is judged again")
    audit = audit_plan(harness, place)
    outcome = Outcome.DONE if audit.contracts is Result.KEPT else Outcome.FAILED
    return replace(report, outcome=outcome, audit=audit)


def _run(harness: Harness, place: PlanLocation, options: RunOptions) -> RunReport:
    """Take the plan and its workspace, then drive; whoever else holds them is named."""
    harness.home.keep_apart(place.workspace)
    refuse_foreign_worktree(harness, place)
    # Before we hold the plan ourselves; a run that was begun goes on whatever it depends on.
    if place.depends_on and not options.anyway:
        from signoff.usecases.ready import refuse_unready  # noqa: PLC0415 - looks at every plan

        if not read_history(harness.ledger, place.id).running:
            refuse_unready(harness, place, "run")
    harness.home.keep_reserve()
    worker, remote = find_worker(harness.environ, options.worker), options.on_worker
    with driven(harness, place, worker, remote.lease_s if remote else LEASE_S) as (lease, holder):
        history = intact_history(harness.ledger, place.id, place.path)
        refuse_other_place(place, history, on_worker=remote is not None)
        if history.finished is not None and history.status(place.digest()) is PlanStatus.DONE:
            return _already_over(harness, place, history)
        approved = approved_to_run(harness, place, history, options)
        begun, until = approved.history.running, math.inf if options.wait else time.time()
        if begun and must_wait(approved.history, approved.plan, approved.pins, until):
            return _waiting(harness, approved, options)
        if not begun:
            require_protected_as_approved(harness, approved)
        # A driver that lost its lease stops like one that a person stopped.
        cancelled, session = options.cancelled, options.session
        if begun and session is None and not options.roles:
            # Whose work the run signs: one that is resumed goes on with it.
            kinds = (Kind.RUN_STARTED, Kind.RUN_RESUMED)
            said = [e.data.get("session") for e in approved.history.entries if e.kind in kinds]
            session = read_fact(SessionWork, said[-1]) if said[-1] else None
        options = replace(options, session=session, cancelled=lambda: cancelled() or lease.lost())
        work = _open(harness, approved, options)
        run, fence = _begin(harness, approved, holder, options, lease)
        opened = _open_run(harness, work, options, run, fence, lease)
        reach(CrashPoint.RUN_STARTED)
        drive = Drive(opened)
        try:
            if not begun:
                drive.look_ahead()
            outcome = options.engine().drive(run, drive.drive)
        finally:
            drive.lanes.close()
            if harness.ledger.run_is_over(place.id, run):
                work.judge.rooms.give_back()
                if opened.lanes is not None:
                    opened.lanes.give_back()
                keep_quota(harness, options.tell)
    report = replace(report_run(harness, place, outcome), unmarked=opened.projection.unwritten)
    # Signed off a moment ago, on a snapshot taken after everything was judged.
    content = ContentStatus(differs=False) if outcome is Outcome.DONE else report.status.content
    return replace(report, status=replace(report.status, content=content))


def _already_over(harness: Harness, place: PlanLocation, history: PlanHistory) -> RunReport:
    """A plan that is signed off is not run again unless it is approved again."""
    assert history.run is not None
    approved = approved_by(harness.ledger, place, history, history.run)
    require_proved(history, approved.state, place.path)
    _mark(harness, approved, PlanStatus.DONE)
    report = report_run(harness, place, Outcome.DONE)
    return replace(report, status=look_at_content(harness, report.status), nothing_to_do=True)


def _waiting(harness: Harness, approved: ApprovedPlan, options: RunOptions) -> RunReport:
    """Report a run that waits: options given now change nothing, it goes on as approved."""
    _mark(harness, approved, PlanStatus.IN_PROGRESS)
    report = report_run(harness, approved.place, None)
    given = ["--yes"] if options.yes and report.status.edited else []
    given += ["--role"] if options.roles else []
    if not given:
        return report
    unheeded = (
        f"{' and '.join(given)} change{'' if len(given) > 1 else 's'} nothing while run"
        f" `{report.status.run}` waits for an answer: it goes by what was approved"
    )
    return replace(report, unheeded=unheeded)


def _mark(harness: Harness, approved: ApprovedPlan, status: PlanStatus) -> None:
    """The last driver may have died between an entry and its mark in the plan file."""
    projection_of(harness, approved.place).show(approved.state, status, now=True)


def approved_to_run(
    harness: Harness, place: PlanLocation, history: PlanHistory, options: RunOptions
) -> ApprovedPlan:
    """The approval that the run obeys: an open run its own pins, a new one the newest approval."""
    if history.running:
        if older_pins(harness.ledger, history, "") is not None:
            # It goes on by today's pins; those of an older version need a person's word first.
            proposal = propose(harness, place)
            assert proposal.upgrade is not None, "its pins are of an older version"
            if not options.yes and not harness.settings.auto_approve:
                raise not_approved(place, proposal.upgrade)
            approve_unasked(harness, proposal, options.yes, options.tell, options.warn)
            history = intact_history(harness.ledger, place.id, place.path)
        assert history.run is not None
        entry = history.run
    else:
        entry = _require_approval(harness, place, history, options)
        history = read_history(harness.ledger, place.id)
    if options.on_worker is not None:
        pins = options.on_worker.prepare(harness, place, history)
    else:
        pins = pins_for(harness, place, read_pins(harness.ledger, entry), running=history.running)
    approved = approved_with(place, history, entry, pins)
    given = approved.settings.with_roles(options.roles or {})
    return replace(approved, settings=with_presets(given))


def _require_approval(
    harness: Harness, place: PlanLocation, history: PlanHistory, options: RunOptions
) -> Entry:
    digest, approval = place.digest(), history.approval
    approved = history.status(digest) in (PlanStatus.APPROVED, PlanStatus.FAILED)
    older = older_pins(harness.ledger, history, digest) is not None
    as_configured = approval is not None and not is_reconfigured(harness, place, approval)
    if approval is not None and approved and as_configured and not older:
        return approval
    rules = read_ignore_rules(place.workspace)
    refuse_own_output(options.output, open_workspace(harness, place, rules, place.parse().plan))
    given = with_presets(harness.settings.with_roles(options.roles or {}))
    proposal = propose(replace(harness, settings=given), place)
    if options.yes or harness.settings.auto_approve:
        return approve_unasked(harness, proposal, options.yes, options.tell, options.warn)
    given_roles = role_words(options.roles or {})
    if proposal.upgrade is not None:
        raise not_approved(place, proposal.upgrade, given_roles)
    why = "was not approved" if approval is None else "changed since it was approved"
    if approved:
        why = f"was approved with another `{REPOSITORY_FILE}` than there is now"
    raise NotApproved(f"plan `{place.name}` {why}", f"signoff approve {place.quoted}{given_roles}")


def _open(harness: Harness, approved: ApprovedPlan, options: RunOptions) -> OpenWork:
    """Workspace, sandbox and judge, where nothing stands in the way of a run."""
    place, pins = approved.place, approved.pins
    refuse_own_output(options.output, approved_workspace(harness, approved))
    if options.session is None:
        roles = approved.settings.roles
        for target in approved.plan.roles:
            if target not in roles and target != HUMAN_ROLE:
                raise UnknownRole(
                    f"nobody is configured for role `{target}`",
                    f"add [roles.{target}] to signoff.toml, or --role {target}='COMMAND'",
                )
            if target != HUMAN_ROLE:
                check_role(roles[target], pins.search_path, place.workspace, harness.environ)
    enclosure = required_enclosure(harness, place, pins.search_path, approved.settings)
    if (missing := unopened(enclosure, place.workspace)) is not None:
        options.tell(f"{missing.said} ({missing.advice})")
    tell = options.reporter.tell
    return open_work(
        harness, approved, enclosure, options.cancelled, lambda chunk: tell(Printed(chunk))
    )


def _begin(
    harness: Harness, approved: ApprovedPlan, holder: Holder, options: RunOptions, lease: Lease
) -> tuple[str, Fence]:
    """A new run, or the unfinished one taken over with a higher fence."""
    place, history, ledger = approved.place, approved.history, harness.ledger
    # Roles named on the command line are the person's word over the pinned ones; it is recorded.
    said = {
        **({"on": "workers"} if options.on_worker else {}),
        "roles": dict(options.roles or {}),
        **({} if options.session is None else {"session": to_builtins(options.session)}),
        "runner": f"signoff {__version__}",
        **{name: fact for name, fact in holder.facts().items() if name != "home"},
    }
    if history.running and history.run_id is not None:
        run = history.run_id
        fence = ledger.take_over(run, holder)
        draft = Draft(Kind.RUN_RESUMED, {"fence": fence.token, **said}, run=run)
    else:
        run = secrets.token_hex(4)
        fence = ledger.begin_run(place.id, run, holder)
        data = {
            "pins": ledger.put_blob(approved.pins.to_bytes()),
            "plan_digest": approved.entry.data["plan_digest"],
            "workspace": str(place.workspace),
            "resumes": history.run_id,
            "counted": approved.pins.counted,
            "tried": tried_first(approved.plan, approved.pins),
            "asks_held_before": approved.settings.policy.held_before is HeldBeforeRule.ASK,
            "approved_content": approved.pins.snapshot,
            **said,
            **(options.on_worker.as_approved(approved.entry) if options.on_worker else {}),
        }
        draft = Draft(Kind.RUN_STARTED, data, run=run)
    with ledger.database.transaction():
        lease.begin_run(run, approved.plan.touches)
        entries = ledger.append_within(place.id, [draft], fence=fence)
    for entry in entries:
        options.reporter.tell(Appended(entry))
    return run, fence


def _open_run(
    harness: Harness, work: OpenWork, options: RunOptions, run: str, fence: Fence, lease: Lease
) -> OpenRun:
    approved, environ, settings = work.approved, harness.environ, harness.settings
    place, pins, known = approved.place, approved.pins, approved.history.entries
    remote, mark = options.on_worker, workspace_lock(place)
    agent = CommandAgent(environ, pins.search_path, mark, work.enclosure, settings.prices)
    return OpenRun(
        plan_id=place.id,
        run=run,
        plan=approved.plan,
        plan_path=place.path,
        pins=pins,
        settings=approved.settings,
        state=fold_run(approved.history, approved.plan, run),
        last_hash=known[-1].hash if known else GENESIS,
        root=place.workspace,
        exchange=attempt_reports(harness, run),
        ledger=harness.ledger,
        fence=fence,
        workspace=work.workspace,
        judge=work.judge,
        guards=work.guards,
        agent=pooled(agent, harness.home.locks, environ, options.jobs or 1, place.path),
        opinions=_asker(harness, agent, place),
        wait=options.wait,
        lanes=None if options.session else lanes_of(harness, work, options.jobs, options.tell),
        rooms=strength_rooms(harness, work, options.jobs or settings.jobs),
        agent_isolation=work.enclosure.of_agents,
        projection=projection_of(harness, place),
        watch=pin_watch(place, pins),
        reporter=options.reporter,
        read_topic=place.vault.read_topic,
        cancelled=options.cancelled,
        session=options.session,
        ousted=lease.lost,
        make_room=harness.home.drop_reserve,
        endorse=remote.endorse(work.workspace, run) if remote else lambda drafts: drafts,
    )


def _asker(harness: Harness, agent: CommandAgent, place: PlanLocation) -> OpinionAsker | None:
    """The user's model or client for opinions; None where they name none."""
    settings = harness.settings
    if settings.judge is None:
        return None
    from signoff.agents.opinions import open_asker  # noqa: PLC0415 - few have a model for this

    return open_asker(settings.judge, agent, harness.environ, settings.prices, place.workspace)


def report_run(harness: Harness, place: PlanLocation, outcome: Outcome | None) -> RunReport:
    """Report how the plan stands now, with a receipt where it was signed off."""
    status, no_receipt = status_of(harness, place), ""
    if outcome is Outcome.DONE:
        # What signs takes longer to load than everything before the first step.
        from signoff.usecases.receipt import make_receipts  # noqa: PLC0415

        try:
            make_receipts(harness, place)
        except SignoffError as error:
            no_receipt = error.message  # the sign-off stands without, and the next look makes it
    return RunReport(outcome, status, open_items(harness.ledger, place.id), no_receipt=no_receipt)
