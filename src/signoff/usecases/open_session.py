"""Sessions opened and signed, each judged under what was pinned as it began."""

from __future__ import annotations

import shlex
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from signoff.agents.session import PlanSession, SessionReport, sign_session
from signoff.agents.sessions.chain import is_cancelled
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Budget, Contract, Plan
from signoff.domain.session import session_id_of
from signoff.domain.verdict import Verdict
from signoff.errors import NoSuchRun, UsageError
from signoff.planfile.parse import parse
from signoff.settings.policy import SessionPolicy
from signoff.storage.records import Holder
from signoff.usecases.harness import Harness, PlanLocation, redactor_of, session_place
from signoff.usecases.history import read_history, read_pins
from signoff.usecases.workspaces import open_pinned_workspace
from signoff.verification.pins import Pins

if TYPE_CHECKING:
    from signoff.usecases.openwork import PinnedJudge

_NO_PLAN = Plan(title="", steps=())


class WatchedWorkspace:
    """Answers a session about its workspace; what judges is opened for the first contract.

    Loading that and trying the sandbox takes longer than all the rest of a stop hook, and most
    stops find every verdict still valid.
    """

    def __init__(self, harness: Harness, place: PlanLocation, pins: Pins, plan: Plan):
        self._harness, self._place, self._pins, self._plan = harness, place, pins, plan
        self._redactor = redactor_of(harness, plan, harness.settings)
        self._workspace = open_pinned_workspace(harness, place, pins, plan)

    def judge(self, subject: str, contract: Contract, *, provisional: bool) -> Verdict:
        """Run a contract under what was pinned as the session began."""
        return self._judge.judge(subject, contract, provisional=provisional)

    def content(self) -> str:
        """The digest of the content as it is now; the agent may still be writing."""
        seen = self._workspace.digest_now(quiet=False)
        self._workspace.remove_caches()
        return seen.digest

    @cached_property
    def _judge(self) -> PinnedJudge:
        # The class says why not at the top.
        from signoff.usecases.openwork import open_session_judge  # noqa: PLC0415

        return open_session_judge(
            self._harness,
            self._place,
            self._pins,
            self._plan,
            self._workspace,
            self._redactor,
            is_cancelled,
        )


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
        judge=WatchedWorkspace(harness, place, pins, plan if plan is not None else _NO_PLAN),
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
    from signoff.usecases.openwork import taken  # noqa: PLC0415 - judges; hooks sign nothing

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
