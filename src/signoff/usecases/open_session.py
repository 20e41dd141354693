"""Sessions opened and signed, each judged under what was pinned as it began."""

from __future__ import annotations

import shlex
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.agents.session import PlanSession, SessionReport, sign_session
from signoff.agents.sessions.chain import is_cancelled
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Budget, Contract, Plan
from signoff.domain.session import session_id_of
from signoff.domain.verdict import Phase, Verdict
from signoff.errors import NoSuchRun, UsageError
from signoff.planfile.parse import parse
from signoff.settings.loading import SessionPolicy
from signoff.storage.records import Holder
from signoff.usecases.harness import Harness, PlanLocation, session_place
from signoff.usecases.history import read_history, read_pins
from signoff.usecases.openwork import (
    enclosure_of,
    open_judge,
    open_pinned_workspace,
    redactor_of,
    taken,
    workspace_lock,
)
from signoff.verification.check_runner import CheckRunner
from signoff.verification.evidence import Case
from signoff.verification.guards import Guards
from signoff.verification.judge import Judge
from signoff.verification.pins import Pins
from signoff.verification.protection import Guard
from signoff.workspace.workspace import Workspace

_NO_PLAN = Plan(title="", steps=())


class PinnedJudge(Struct, frozen=True):
    """Judges a session's contracts on its workspace, under what was pinned as it began."""

    inner: Judge
    workspace: Workspace
    guards: Guards
    plan: Plan | None

    def judge(self, subject: str, contract: Contract, *, provisional: bool) -> Verdict:
        guard = Guard()
        for part in self.plan.subjects if self.plan is not None else ():
            # What a person's plan protects; an agent that chose the check could choose another.
            if part.id == subject and part.contract == contract:
                guard = self.guards.of(part, {})
        case = Case(subject, contract, Phase.ATTEMPT, guard, provisional=provisional)
        return replace(self.inner.judge(case), provisional=provisional)

    def content(self) -> str:
        """The digest of the content as it is now; the agent may still be writing."""
        seen = self.workspace.digest_now(quiet=False)
        self.workspace.remove_caches()
        return seen.digest


def open_session(
    harness: Harness,
    workspace: Path,
    *,
    author: str,
    session_id: str | None = None,
    bound: PlanLocation | None = None,
    policy: SessionPolicy | None = None,
    budget: Budget | None = None,
    resume: bool = False,
) -> PlanSession:
    """Begin a session in a workspace, or take one up; bound to a plan it works on that plan.

    What was pinned as it began stays in force: an agent that edits the plan file, the ignore rules
    or the configuration meanwhile changes nothing about how it is judged.
    """
    workspace = workspace.resolve()
    rules = policy if policy is not None else harness.settings.agent
    rules = replace(rules, forbid_waivers=harness.settings.policy.forbid_waivers)
    began = _beginning(harness, session_id)
    if began is not None and began.data["workspace"] != str(workspace):
        elsewhere = str(began.data["workspace"])
        raise UsageError(
            f"session `{session_id}` works in `{elsewhere}`, not in `{workspace}`",
            f"cd {shlex.quote(elsewhere)}",
        )
    blob = str(began.data["pins"]) if began is not None else ""
    place = bound if bound is not None else session_place(workspace, session_id or "")
    pins = read_pins(harness.ledger, began) if began is not None and blob else None
    if pins is None or (bound is not None and pins.outdated):
        # Outdated: a person approved again since, or will have to.
        pins = _first_pins(harness, place, bound)
    plan = parse(pins.plan_text).plan if pins.plan_text else None
    return PlanSession.start(
        harness.ledger,
        workspace,
        policy=rules,
        judge=_judge(harness, place, pins, plan),
        author=author,
        session_id=session_id,
        plan=plan,
        plan_id=bound.id if bound is not None else "",
        budget=budget,
        resume=resume,
        pins=blob or harness.ledger.put_blob(pins.to_bytes()),
    )


def sign(
    harness: Harness, session_id: str, *, by: str, bound: PlanLocation | None = None
) -> SessionReport:
    """Sign a session with the agent gone: whatever still works in the workspace is ended first."""
    began = _beginning(harness, session_id)
    if began is None:
        raise NoSuchRun(f"no session has the id `{session_id}`", "signoff sessions")
    workspace = Path(began.data["workspace"])
    place = bound if bound is not None else session_place(workspace, session_id_of(session_id))
    with taken(harness, place, Holder.current(str(workspace))):
        session = open_session(harness, workspace, author=by, session_id=session_id, bound=bound)
        return sign_session(session, by=by)


def _beginning(harness: Harness, session_id: str | None) -> Entry | None:
    if session_id is None:
        return None
    entries = harness.ledger.entries(session_id_of(session_id))
    return next((e for e in entries if e.kind is Kind.SESSION_STARTED), None)


def _first_pins(harness: Harness, place: PlanLocation, bound: PlanLocation | None) -> Pins:
    """Pins as approved, where the plan is; else of everything as it is now."""
    plan, text = _NO_PLAN, ""
    if bound is not None:
        text = bound.read()
        plan = parse(text).plan
        approval = read_history(harness.ledger, bound.id).approval
        if approval is not None and approval.data["plan_digest"] == plan.plan_digest:
            return read_pins(harness.ledger, approval)
    from signoff.usecases.pinning import take_pins  # noqa: PLC0415 - not for a plan that is approved

    return take_pins(harness, place, plan, text)


def _judge(harness: Harness, place: PlanLocation, pins: Pins, plan: Plan | None) -> PinnedJudge:
    known = plan if plan is not None else _NO_PLAN
    workspace = open_pinned_workspace(harness, place, pins, known)
    runner = CheckRunner(
        pins.search_path,
        harness.environ,
        mark=workspace_lock(place),
        enclosure=enclosure_of(harness, place, pins.search_path),
        cancelled=is_cancelled,
    )
    redactor = redactor_of(harness, known, harness.settings)
    inner = open_judge(harness, place, pins, workspace, runner, redactor)
    guards = Guards.of_plan(pins, workspace, known, harness.home.installed_in(place.workspace))
    return PinnedJudge(inner, workspace, guards, plan)
