"""`run`: drive an approved plan until it is over or must wait; the same call resumes it."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from signoff import __version__
from signoff.agents.command import CommandAgent
from signoff.domain.escalation import Outcome
from signoff.domain.facts import SessionWork, read_fact
from signoff.domain.findings import Finding
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Plan, PlanStatus
from signoff.domain.verdict import Result
from signoff.errors import NotApproved, SignoffError
from signoff.orchestrator.drive import Drive
from signoff.orchestrator.events import Appended, Output, Reporter
from signoff.orchestrator.mission import Mission
from signoff.settings.loading import REPOSITORY_FILE, Settings, settings_from_pin
from signoff.storage.leases import Lease
from signoff.storage.records import Fence, Holder
from signoff.testing.crash import CrashPoint, reach
from signoff.usecases.approve import approve_unasked, propose
from signoff.usecases.audit import AuditReport, audit_plan
from signoff.usecases.ground.history import (
    PlanHistory,
    fold_run,
    intact_history,
    older_pins,
    pinned_plan,
    read_history,
    read_pins,
    require_proved,
    waits_for_person,
)
from signoff.usecases.ground.questions import Item, open_items
from signoff.usecases.ground.roles import check_roles, role_words
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.upgrading import not_approved
from signoff.usecases.ground.workbench import (
    attempt_reports,
    driven,
    open_judge,
    open_pinned_workspace,
    open_workspace,
    pin_watch,
    redactor_of,
    required_enclosure,
    tell_unopened,
    workspace_lock,
)
from signoff.usecases.ground.worker import find_worker
from signoff.usecases.ready import refuse_unready
from signoff.usecases.running.drift import look_at_content
from signoff.usecases.running.marks import projection_of
from signoff.usecases.running.outputs import refuse_own_output
from signoff.usecases.running.rehoming import (
    is_reconfigured,
    pins_for,
    refuse_foreign_worktree,
    require_protected_as_approved,
)
from signoff.usecases.status import Content, StatusReport, status_of
from signoff.verification.bench import Bench
from signoff.verification.enclosure import Enclosure
from signoff.verification.guards import Guards
from signoff.verification.pins import Pins
from signoff.workspace.ignore import read_ignore_rules


class Engine(Protocol):
    """Whatever makes a drive durable."""

    def drive(self, run: str, drive: Callable[[], Outcome | None]) -> Outcome | None:
        """Drive the run; None when it waits for a person."""


@dataclass(frozen=True)
class RunOptions:
    """What the person asked for."""

    yes: bool = False
    roles: Mapping[str, str] | None = None
    cancelled: Callable[[], bool] = lambda: False
    worker: str | None = None
    anyway: bool = False  # although plans it depends on are not signed off and merged
    output: tuple[Path, ...] = ()  # files that the caller writes into while the run goes on
    session: SessionWork | None = None  # did the steps already: they are judged, given to nobody
    warn: Callable[[tuple[Finding, ...]], None] = lambda _: None  # of what nobody was shown
    tell: Callable[[str], None] = lambda _: None  # what the person should know before it begins


@dataclass(frozen=True)
class RunReport:
    """How it stands after driving; `outcome` is None while the run waits for a person."""

    outcome: Outcome | None
    status: StatusReport
    inbox: tuple[Item, ...]
    nothing_to_do: bool = False
    no_receipt: str = ""  # why a sign-off has no receipt yet
    unheeded: str = ""  # what was asked for on the command line and changes nothing now
    unmarked: str = ""  # why the plan file does not show how the run stands
    audit: AuditReport | None = None  # of a plan that was signed off already, on other content


def run_plan(
    site: Site,
    place: PlanPlace,
    options: RunOptions,
    reporter: Reporter,
    engine: Callable[[], Engine],
) -> RunReport:
    """Drive the plan; one that is signed off is not driven, but judged again on other content."""
    report = _run(site, place, options, reporter, engine)
    looked = report.status.content
    if not report.nothing_to_do or (looked is not None and looked.differs is False):
        return report
    options.tell("this content is not what was signed off: every contract is judged again")
    audit = audit_plan(site, place)
    outcome = Outcome.DONE if audit.contracts is Result.KEPT else Outcome.FAILED
    return replace(report, outcome=outcome, audit=audit)


def _run(
    site: Site,
    place: PlanPlace,
    options: RunOptions,
    reporter: Reporter,
    engine: Callable[[], Engine],
) -> RunReport:
    """Take the plan and its workspace, then drive; whoever else holds them is named."""
    site.home.keep_apart(place.workspace)
    refuse_foreign_worktree(site, place)
    # Before we hold the plan ourselves; a run that was begun goes on whatever it depends on.
    if not options.anyway and not read_history(site.ledger, place.record.id).running:
        refuse_unready(site, place, "run")
    site.home.keep_reserve()
    worker = find_worker(site.environ, options.worker)
    holder = worker.driver(site, str(place.path))
    with driven(site, place, holder, worker) as lease:
        options = replace(options, cancelled=_stopped(options.cancelled, lease))
        history = intact_history(site.ledger, place.record.id, place.path)
        if not history.running:
            settled = _already_over(site, place, history)
            if settled is not None:
                return settled
            entry = _require_approval(site, place, history, options)
        else:
            history = _upgraded_run(site, place, history, options)
            assert history.run is not None
            entry = history.run
        pins = read_pins(site.ledger, entry)
        plan = pinned_plan(pins)
        pins = pins_for(site, place, pins, running=history.running)
        if history.running and waits_for_person(history, plan, pins):
            _mark(site, place, history, plan, PlanStatus.IN_PROGRESS)
            waiting = _report(site, place, None)
            return replace(waiting, unheeded=_unheeded(options, waiting.status))
        if not history.running:
            require_protected_as_approved(site, place, plan, pins)
        pinned = open_pinned_workspace(site, place, pins, plan)
        refuse_own_output(options.output, pinned, place.workspace)
        settings = settings_from_pin(pins.settings).with_roles(options.roles or {})
        options = replace(options, session=_session_of(history, options))
        if options.session is None:
            check_roles(plan, settings, pins.search_path, place.workspace)
        enclosure = required_enclosure(site, place, pins.search_path, settings)
        tell_unopened(enclosure, place.workspace, options.tell)
        run, fence = _begin(
            site, place, history, entry, holder, options, reporter, pins, plan, lease
        )
        mission = _mission(
            site, place, pins, plan, settings, options, reporter, enclosure, run, fence
        )
        mission = replace(mission, ousted=lease.lost)
        reach(CrashPoint.RUN_STARTED)
        outcome = engine().drive(run, Drive(mission).drive)
    report = replace(_report(site, place, outcome), unmarked=mission.projection.unwritten)
    if outcome is not Outcome.DONE:
        return report
    # Signed off a moment ago, on a snapshot taken after everything was judged.
    return replace(report, status=replace(report.status, content=Content(differs=False)))


def _stopped(cancelled: Callable[[], bool], lease: Lease) -> Callable[[], bool]:
    """A driver that lost its lease stops like one that a person stopped."""
    return lambda: cancelled() or lease.lost()


def _session_of(history: PlanHistory, options: RunOptions) -> SessionWork | None:
    """Whose work the run signs; one that is resumed goes on with it, unless roles are named."""
    if options.session is not None or options.roles or not history.running:
        return options.session
    kinds = (Kind.RUN_STARTED, Kind.RUN_RESUMED)
    said = [e.data.get("session") for e in history.entries if e.kind in kinds]
    return read_fact(SessionWork, said[-1]) if said[-1] else None


def _already_over(site: Site, place: PlanPlace, history: PlanHistory) -> RunReport | None:
    """A plan that is signed off is not run again unless it is approved again."""
    if history.finished is None:
        return None
    if history.status(place.parse().plan.plan_digest) is not PlanStatus.DONE:
        return None
    assert history.run is not None
    pins = read_pins(site.ledger, history.run)
    plan = pinned_plan(pins)
    require_proved(history, fold_run(history, plan), place.path)
    _mark(site, place, history, plan, PlanStatus.DONE)
    report = _report(site, place, Outcome.DONE)
    status = look_at_content(site, report.status)
    return replace(report, status=status, nothing_to_do=True)


def _unheeded(options: RunOptions, status: StatusReport) -> str:
    """Said of a run that waits: it goes on as it was approved, or not at all."""
    given = ["--role"] if options.roles else []
    if options.yes and status.edited:
        given.insert(0, "--yes")
    if not given:
        return ""
    verb = "change" if len(given) > 1 else "changes"
    return (
        f"{' and '.join(given)} {verb} nothing while run `{status.run}` waits for an answer:"
        " it goes by what was approved"
    )


def _mark(
    site: Site, place: PlanPlace, history: PlanHistory, plan: Plan, status: PlanStatus
) -> None:
    """The last driver may have died between an entry and its mark in the plan file."""
    projection_of(site, place).show(fold_run(history, plan), status, now=True)


def _require_approval(
    site: Site, place: PlanPlace, history: PlanHistory, options: RunOptions
) -> Entry:
    digest = place.parse().plan.plan_digest
    status = history.status(digest)
    approval = history.approval
    stands = approval is not None and status in (PlanStatus.APPROVED, PlanStatus.FAILED)
    older = older_pins(site.ledger, history, digest) is not None
    if approval is not None and stands and not is_reconfigured(site, place, approval) and not older:
        return approval
    rules = read_ignore_rules(place.workspace)
    workspace = open_workspace(site, place, rules, place.parse().plan)
    refuse_own_output(options.output, workspace, place.workspace)
    given = site.settings.with_roles(options.roles or {})
    proposal = propose(replace(site, settings=given), place)
    if options.yes or site.settings.auto_approve:
        return approve_unasked(site, proposal, options.yes, options.tell, options.warn)
    given_roles = role_words(options.roles or {})
    if proposal.upgrade is not None:
        raise not_approved(place, proposal.upgrade, given_roles)
    why = "was not approved" if history.approval is None else "changed since it was approved"
    if stands:
        why = f"was approved with another `{REPOSITORY_FILE}` than there is now"
    raise NotApproved(
        f"plan `{place.name}` {why}", f"signoff approve {shlex.quote(str(place.path))}{given_roles}"
    )


def _upgraded_run(
    site: Site, place: PlanPlace, history: PlanHistory, options: RunOptions
) -> PlanHistory:
    """An open run goes on by today's pins; those of an older version need a person's word first."""
    if older_pins(site.ledger, history, "") is None:
        return history
    proposal = propose(site, place)
    assert proposal.upgrade is not None, "its pins are of an older version"
    if not options.yes and not site.settings.auto_approve:
        raise not_approved(place, proposal.upgrade)
    approve_unasked(site, proposal, options.yes, options.tell, options.warn)
    return intact_history(site.ledger, place.record.id, place.path)


def _begin(
    site: Site,
    place: PlanPlace,
    history: PlanHistory,
    entry: Entry,
    holder: Holder,
    options: RunOptions,
    reporter: Reporter,
    pins: Pins,
    plan: Plan,
    lease: Lease,
) -> tuple[str, Fence]:
    """A new run, or the unfinished one taken over with a higher fence."""
    plan_id = place.record.id
    # Roles named on the command line are the person's word over the pinned ones; it is recorded.
    said = {
        "roles": dict(options.roles or {}),
        **({} if options.session is None else {"session": asdict(options.session)}),
        "runner": f"signoff {__version__}",
        **{name: fact for name, fact in holder.facts().items() if name != "home"},
    }
    if history.running and history.run_id is not None:
        run = history.run_id
        fence = site.ledger.take_over(run, holder)
        draft = Draft(Kind.RUN_RESUMED, {"fence": fence.token, **said}, run=run)
    else:
        run = secrets.token_hex(4)
        fence = site.ledger.begin_run(plan_id, run, holder)
        data = {
            "pins": site.ledger.put_blob(pins.to_bytes()),
            "plan_digest": entry.data["plan_digest"],
            "workspace": str(place.workspace),
            "resumes": history.run_id,
            "counted": pins.counted,
            **said,
        }
        draft = Draft(Kind.RUN_STARTED, data, run=run)
    with site.ledger.database.transaction():
        lease.begin_run(run, plan.touches)
        entries = site.ledger.append_within(plan_id, [draft], fence=fence)
    for appended in entries:
        reporter.tell(Appended(appended))
    return run, fence


def _mission(
    site: Site,
    place: PlanPlace,
    pins: Pins,
    plan: Plan,
    settings: Settings,
    options: RunOptions,
    reporter: Reporter,
    enclosure: Enclosure,
    run: str,
    fence: Fence,
) -> Mission:
    workspace = open_pinned_workspace(site, place, pins, plan)
    workspace.put_forward()
    redactor = redactor_of(site, plan, settings)
    bench = Bench(
        pins.search_path,
        site.environ,
        options.cancelled,
        on_output=lambda chunk: reporter.tell(Output(chunk)),
        mark=workspace_lock(place),
        enclosure=enclosure,
    )
    return Mission(
        plan_id=place.record.id,
        run=run,
        plan=plan,
        plan_path=place.path,
        pins=pins,
        settings=settings,
        root=place.workspace,
        exchange=attempt_reports(site, run),
        ledger=site.ledger,
        fence=fence,
        workspace=workspace,
        judge=open_judge(site, place, pins, workspace, bench, redactor),
        guards=Guards.of_plan(pins, workspace, plan),
        agent=CommandAgent(site.environ, pins.search_path, workspace_lock(place), enclosure),
        agent_isolation=enclosure.of_agents,
        projection=projection_of(site, place),
        watch=pin_watch(place, pins),
        reporter=reporter,
        read_topic=place.vault.read_topic,
        cancelled=options.cancelled,
        session=options.session,
        make_room=site.home.drop_reserve,
    )


def _report(site: Site, place: PlanPlace, outcome: Outcome | None) -> RunReport:
    return RunReport(
        outcome,
        status_of(site, place),
        open_items(site.ledger, place.record.id),
        no_receipt=_sign_receipt(site, place) if outcome is Outcome.DONE else "",
    )


def _sign_receipt(site: Site, place: PlanPlace) -> str:
    """Why there is no receipt; the sign-off stands without, and the next look makes it."""
    # What signs takes longer to load than everything before the first step.
    from signoff.usecases.receipt import make_receipts  # noqa: PLC0415

    try:
        make_receipts(site, place)
    except SignoffError as error:
        return error.message
    return ""
