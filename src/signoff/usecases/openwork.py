"""An approved plan opened for work: locks and lease, workspace, sandbox, judge and guards.

ApprovedPlan → with driven(…) or taken(…): open_work → OpenWork
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import Draft, Entry
from signoff.domain.plan import Contract, Plan
from signoff.domain.redaction import Redactor
from signoff.domain.text import storable_path
from signoff.domain.verdict import Isolation, Phase, Verdict
from signoff.errors import SandboxMissing, SignoffError
from signoff.places import user_file
from signoff.process.leftovers import WORKSPACE_VARIABLE, kill_marked
from signoff.process.sandboxes import best_isolation, probe_sandbox, reachable_sockets
from signoff.settings.loading import REPOSITORY_FILE, Settings, settings_from_pin
from signoff.storage.active import VAULT_FOLDER
from signoff.storage.home import hold
from signoff.storage.leases import LEASE_S, Lease, LeaseRequest, leased
from signoff.storage.records import Holder
from signoff.usecases.harness import Harness, PlanLocation, redactor_of
from signoff.usecases.history import (
    ApprovedPlan,
    PlanHistory,
    pinned_plan,
    read_history,
    read_pins,
)
from signoff.usecases.workspaces import approved_workspace, plan_lock, workspace_key, workspace_lock
from signoff.verification.check_runner import CheckRunner
from signoff.verification.enclosure import Enclosure, wanted_isolation
from signoff.verification.evidence import Case, NoEvidence
from signoff.verification.guards import Guards, PinWatch
from signoff.verification.heldout import HeldOutChecks
from signoff.verification.judge import Judge
from signoff.verification.obstacles import Obstacles
from signoff.verification.pins import Pins
from signoff.verification.protection import Guard
from signoff.verification.rooms import Rooms
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.workspace import Workspace

if TYPE_CHECKING:
    from signoff.usecases.person import Worker


@contextmanager
def taken(harness: Harness, place: PlanLocation, holder: Holder) -> Iterator[None]:
    """Hold the workspace; whatever still works there belongs to a driver that died, and ends.

    A driver that lives would hold the lock.
    """
    with hold(
        harness.home.locks, workspace_lock(place), holder, f"the workspace `{place.workspace}`"
    ):
        kill_marked(WORKSPACE_VARIABLE, workspace_lock(place))
        yield


@contextmanager
def driven(
    harness: Harness, place: PlanLocation, worker: Worker, lease_s: float = LEASE_S
) -> Iterator[tuple[Lease, Holder]]:
    """One driver per plan and one plan per workspace: here by locks, everywhere by a lease.

    The locks die with their process; the lease is asked for under them, so that a driver of this
    home whose lock is free counts as dead at once.
    """
    holder = worker.driver(harness, str(place.path))
    in_vault = place.path.parent.name == VAULT_FOLDER
    touches: tuple[str, ...] = ()
    with suppress(SignoffError):
        # As the file says now; the run goes by what was pinned, and says so when it begins.
        touches = place.parse().plan.touches
    request = LeaseRequest(
        plan=place.id,
        name=place.name,
        workspace=place.workspace,
        workspace_key=workspace_key(place.workspace),
        # Among which plans it is handed out: a repository's, or those of a vault without.
        repository=place.record.repository or (str(place.path.parent) if in_vault else None),
        touches=touches,
        holder=holder,
    )
    locks, workspace = harness.home.locks, workspace_lock(place)
    with (
        hold(locks, plan_lock(place), holder, f"plan `{place.name}`"),
        hold(locks, workspace, holder, f"the workspace `{place.workspace}`"),
        leased(harness.ledger, request, worker.owns, lease_s) as lease,
    ):
        # Not before: with other locks, whoever has the lease may live.
        kill_marked(WORKSPACE_VARIABLE, workspace)
        yield lease, holder


class WorkerRun(Protocol):
    """Duties of a worker beside driving: it makes the workspace, sends content, signs verdicts."""

    @property
    def lease_s(self) -> float:
        """Seconds that others wait for a sign of life."""

    def as_approved(self, entry: Entry) -> dict[str, str]:
        """Say of a run's beginning what was approved, in place of what is in the checkout."""

    def prepare(self, harness: Harness, place: PlanLocation, history: PlanHistory) -> Pins:
        """Make the workspace as the ledger says it is; the approved pins, taken there."""

    def endorse(self, workspace: Workspace, run: str) -> Callable[..., tuple[Draft, ...]]:
        """Return the function that entries go through before they are written."""


def attempt_reports(harness: Harness, run: str) -> Path:
    """Folder in which agents of a run leave their reports; no agent sees those of another run."""
    return harness.home.attempts / run


def enclosure_of(harness: Harness, place: PlanLocation, search_path: str) -> Enclosure:
    """Enclosure for the processes of a run on this machine, as the user chose it."""
    chosen = harness.settings.sandbox
    user = Path(harness.environ.get("HOME", "/"))
    cache = user / ".cache"
    with suppress(OSError):
        cache.mkdir(mode=0o700, exist_ok=True)  # shown empty in a sandbox, so it must be there
    readable, writable = opened_places(harness.settings, user, place.workspace)
    isolation = best_isolation(wanted_isolation(harness.settings))
    if isolation is not Isolation.NONE:
        support = probe_sandbox(isolation)
        if not support.available:
            why = support.detail
            raise SandboxMissing(f"`{isolation}` is chosen and does not work here: {why}")
    # Landlock cannot hide them: `doctor` and `approve` name them then. What the user opened, and
    # what belongs to the work, stays as it is.
    boxed = isolation.has_own_view
    given = (place.workspace, *readable, *writable)
    sockets = [Path(p) for p in reachable_sockets(harness.environ)] if boxed else []
    sockets = [path for path in sockets if not any(path.is_relative_to(g) for g in given)]
    return Enclosure(
        isolation=isolation,
        hidden=(harness.home.path, user_file(harness.environ), *sockets),
        untouchable=(place.vault.path, place.path, place.workspace / ".git"),
        scratch=(cache,),
        search_path=search_path,
        readable=readable,
        writable=writable,
        agents=chosen.agents,
    )


def required_enclosure(
    harness: Harness, place: PlanLocation, search_path: str, settings: Settings
) -> Enclosure:
    """Enclosure of a run; refused where a required sandbox is missing or has a way out."""
    enclosure = enclosure_of(harness, place, search_path)
    if not settings.policy.require_sandbox:
        return enclosure
    if not enclosure.sealed:
        raise SandboxMissing("the policy requires a sandbox, and this run would have none")
    # Few policies require a sandbox, and hooks judge too.
    from signoff.usecases.person import advice, in_words, open_sockets  # noqa: PLC0415

    sockets = open_sockets(harness.settings, harness.environ)
    if sockets:
        raise SandboxMissing(f"the policy requires a sandbox: {in_words(sockets)}", advice())
    return enclosure


def opened_places(
    settings: Settings, user: Path, workspace: Path
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    chosen = settings.sandbox
    return _paths(chosen.readable, user, workspace), _paths(chosen.writable, user, workspace)


class Unopened(NamedTuple):
    """Places that the user opened and that are not there, and what to do."""

    said: str
    advice: str


def unopened(enclosure: Enclosure, workspace: Path) -> Unopened | None:
    """Places that the user opened and that are missing; None when all are there."""
    missing = [storable_path(str(path)) for path in enclosure.missing(workspace)]
    if not missing:
        return None
    return Unopened(
        f"not there, so left out of the sandbox: {', '.join(f'`{path}`' for path in missing)}",
        f"mkdir -p {shlex.join(missing)}, or change [sandbox] in your own configuration",
    )


def _paths(named: tuple[str, ...], user: Path, workspace: Path) -> tuple[Path, ...]:
    """Resolve paths: `~` is the user's home; a relative one lies in the workspace."""
    homes = (str(user) + p[1:] if p == "~" or p.startswith("~/") else p for p in named)
    # Without `..`: a mount is made at the path as it is written, not at where it leads.
    return tuple(Path(os.path.normpath(workspace / path)) for path in homes)


def held_out_checks(harness: Harness) -> HeldOutChecks:
    """The user's held-out checks, in the home folder that no agent sees."""
    return HeldOutChecks(harness.home.heldout)


class OpenWork(Struct, frozen=True):
    """An approved plan whose contracts can be run: where, in which sandbox, under which guards."""

    approved: ApprovedPlan
    workspace: Workspace
    judge: Judge
    guards: Guards

    @property
    def enclosure(self) -> Enclosure:
        return self.judge.runner.enclosure


def open_work(
    harness: Harness,
    approved: ApprovedPlan,
    enclosure: Enclosure | None = None,
    cancelled: Callable[[], bool] | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> OpenWork:
    """Open the approved plan's workspace, for whoever holds it."""
    place, pins, plan = approved.place, approved.pins, approved.plan
    workspace = approved_workspace(harness, approved)
    workspace.put_forward()
    redactor = redactor_of(harness, plan, approved.settings)
    enclosure = enclosure or enclosure_of(harness, place, pins.search_path)
    opened = _guarded(
        harness, place, pins, plan, workspace, redactor, enclosure, cancelled, on_output
    )
    return OpenWork(approved, workspace, *opened)


def _guarded(
    harness: Harness,
    place: PlanLocation,
    pins: Pins,
    plan: Plan,
    workspace: Workspace,
    redactor: Redactor,
    enclosure: Enclosure,
    cancelled: Callable[[], bool] | None,
    on_output: Callable[[bytes], None] | None = None,
) -> tuple[Judge, Guards]:
    """A judge of the workspace in this enclosure, and the guards of the plan."""
    lock, installed = workspace_lock(place), harness.home.installed_in(place.workspace)
    runner = CheckRunner(
        pins.search_path, harness.environ, cancelled, on_output, mark=lock, enclosure=enclosure
    )
    judge = open_judge(harness, place, pins, workspace, runner, redactor)
    return judge, Guards.of_plan(pins, workspace, plan, installed)


class PinnedJudge(Struct, frozen=True):
    """Judges contracts of a session under what was pinned as it began."""

    inner: Judge
    guards: Guards
    plan: Plan

    def judge(self, subject: str, contract: Contract, *, provisional: bool) -> Verdict:
        guard = Guard()
        for part in self.plan.subjects:
            # What a person's plan protects; an agent that chose the check could choose another.
            if part.id == subject and part.contract == contract:
                guard = self.guards.of(part, {})
        case = Case(subject, contract, Phase.ATTEMPT, guard, provisional=provisional)
        return replace(self.inner.judge(case), provisional=provisional)


def open_session_judge(
    harness: Harness,
    place: PlanLocation,
    pins: Pins,
    plan: Plan,
    workspace: Workspace,
    redactor: Redactor,
    cancelled: Callable[[], bool],
) -> PinnedJudge:
    """A judge of a session's workspace; guards are those of its plan, if a person made it."""
    enclosure = enclosure_of(harness, place, pins.search_path)
    opened = _guarded(harness, place, pins, plan, workspace, redactor, enclosure, cancelled)
    return PinnedJudge(*opened, plan)


def open_judge(
    harness: Harness,
    place: PlanLocation,
    pins: Pins,
    workspace: Workspace,
    runner: CheckRunner,
    redactor: Redactor,
) -> Judge:
    """A judge of this workspace: with a clean room where the sandbox can show one."""
    settings = settings_from_pin(pins.settings)
    policy, setup = settings.policy, settings.setup
    enclosure = runner.enclosure
    room = CleanRoom(workspace, harness.home.rooms / workspace_key(place.workspace))
    boxed = enclosure.isolation.has_own_view
    kept = harness.home.setups / workspace_key(place.workspace)
    setups = None
    if setup is not None and boxed:
        from signoff.verification.setup import SetUps, SetUpsInUse  # noqa: PLC0415 - few have one

        setups = SetUps(setup, runner, workspace, kept, redactor, SetUpsInUse())
    return Judge(
        workspace,
        place.workspace,
        pins,
        NoEvidence(),
        runner,
        rooms=Rooms(
            place.workspace,
            room if boxed else None,
            why_not="" if boxed else "no clean room: it needs a sandbox with its own view",
            by_default=harness.settings.sandbox.clean_room,
            setups=setups,
        ),
        obstacles=Obstacles(
            pins, place.workspace, enclosure, held_out_checks(harness), policy.require_sandbox
        ),
        judgings=policy.judgings,
        redactor=redactor,
        blobs=harness.ledger,
    )


def learn_secrets(harness: Harness, plan_id: str) -> None:
    """Tell the ledger the secrets of the approved plan, before a person's words are kept."""
    entry = read_history(harness.ledger, plan_id).in_force
    if entry is not None:
        pins = read_pins(harness.ledger, entry)
        redactor_of(harness, pinned_plan(pins), settings_from_pin(pins.settings))


def pin_watch(place: PlanLocation, pins: Pins) -> PinWatch:
    """Notices when plan file or configuration are not what was pinned."""
    return PinWatch(
        plan_path=place.path,
        plan_digest=pins.plan_digest,
        plan_text=pins.plan_text,
        config_path=place.workspace / REPOSITORY_FILE,
        config_text=pins.config_text,
    )
