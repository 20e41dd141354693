"""Opening a session: its desk, the facts it begins with, and ids that name one call each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from signoff.agents.sessions.desk import Desk, SessionJudge
from signoff.domain.digests import digest_of
from signoff.domain.plan import Budget, Plan
from signoff.errors import PlanConflict
from signoff.gate.state import State
from signoff.settings.agent import SessionPolicy
from signoff.storage.ledger import Ledger
from signoff.storage.records import PlanRecord


def open_desk(
    ledger: Ledger,
    session_id: str,
    workspace: Path,
    policy: SessionPolicy,
    judge: SessionJudge,
    plan: Plan | None,
) -> Desk:
    """The desk of a session, known or new, with its state as the ledger has it."""
    state = State(plan, driven=False)
    ledger.register_plan(PlanRecord(session_id, session_id, str(workspace), None))
    desk = Desk(ledger, session_id, workspace, policy, judge, state)
    desk.look()
    return desk


def first_facts(workspace: Path, plan: Plan | None, budget: Budget, pins: str) -> dict[str, Any]:
    """What the entry that begins a session says, for one that nobody delegated."""
    return {
        "workspace": str(workspace),
        "plan_digest": None if plan is None else _digest(plan),
        "pins": pins,
        "tokens": budget.tokens,
        "usd": budget.usd,
        "depth": 0,
        "aims": [],
    }


def _digest(plan: Plan) -> str:
    return plan.plan_digest or digest_of([subject.digest for subject in plan.subjects])


def refuse_other_plan(desk: Desk, plan: Plan | None) -> None:
    """A session keeps to the plan it began with: another one has a history of its own."""
    started = desk.state.session.started
    if started is not None and started.plan_digest != (None if plan is None else _digest(plan)):
        raise PlanConflict(
            f"session `{desk.id}` works on another plan",
            "begin a new session for this plan",
        )


def citable_id(call_id: str, state: State) -> str:
    """Clients may repeat ids; each call is cited by one that no other call has."""
    plain = "".join(c if c.isalnum() or c in "_.-" else "_" for c in call_id)[:100] or "call"
    number, cited = 1, plain
    while cited in state.session.calls:
        number += 1
        cited = f"{plain}.{number}"
    return cited
