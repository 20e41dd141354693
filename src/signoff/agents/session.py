"""A session: one agent at work on one plan, with its claims, its proofs and its gate."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from signoff.agents.sessions.adjudicating import Adjudicator
from signoff.agents.sessions.budgets import budget_left, offered_share
from signoff.agents.sessions.checking import SessionChecks
from signoff.agents.sessions.claiming import (
    NO_PLAN,
    check_step,
    update_step,
    verify_postcondition,
)
from signoff.agents.sessions.delegating import refuse_family, unfinished_of
from signoff.agents.sessions.desk import Desk, SessionJudge
from signoff.agents.sessions.finishing import Finalization, finish, sign
from signoff.agents.sessions.mutating import note_strays
from signoff.agents.sessions.opening import citable_id, first_facts, open_desk, refuse_other_plan
from signoff.agents.sessions.planning import create_plan, derive_plan
from signoff.agents.sessions.reporting import SessionReport, make_report
from signoff.agents.sessions.showing import show_plan
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Budget, Cost, Plan
from signoff.domain.session import (
    SESSION_PREFIX,
    ClaimStatus,
    SessionStanding,
    ToolCall,
    normal,
    session_id_of,
)
from signoff.domain.text import escape_line
from signoff.errors import UsageError
from signoff.gate import SessionGate, SessionMissing, standing_of
from signoff.settings import SessionPolicy
from signoff.storage import Ledger

__all__ = [
    "Delegation",
    "Finalization",
    "PlanSession",
    "SessionGate",
    "SessionJudge",
    "SessionReport",
    "sign_session",
]

LONGEST_NOTE = 4_000


@dataclass(frozen=True)
class Delegation:
    """A child session, or why there is none; `text` is for the model either way."""

    text: str
    session: PlanSession | None = None
    resumed: bool = False  # it was begun before, and goes on with what it knew


class PlanSession:
    """One agent's plan, claims and proofs, on a chain of the ledger of its own.

    Every method first reads what the ledger says now, so several processes (a loop, hooks, an MCP
    server) may each open the same session. Plan tools return text for the model and never raise
    for what the model sends; SignoffError means that the harness itself cannot work.
    """

    def __init__(self, desk: Desk):
        self._desk = desk
        self._children: dict[str, PlanSession] = {}
        desk.shut_children = self._shut_children

    @classmethod
    def start(
        cls,
        ledger: Ledger,
        workspace: Path,
        *,
        policy: SessionPolicy,
        judge: SessionJudge,
        author: str,
        session_id: str | None = None,
        plan: Plan | None = None,
        budget: Budget | None = None,
        pins: str = "",
        resume: bool = False,
    ) -> PlanSession:
        """Begin a session, or open the one with this id (ours, or a client's own).

        With a plan it works on that plan: a person's, so `plan_create` is refused. `pins` names
        the blob that whoever opens sessions keeps beside this one. A session that ended stays
        ended until a person answers, or `resume` takes it up again: opening it is no new start.
        What was signed is not signed any more once it is taken up again.
        """
        if plan is not None and any(step.for_each is not None for step in plan.steps):
            raise UsageError(
                "a plan with `for_each` steps cannot be worked on in a session",
                "signoff run PLAN: the harness reads the list itself",
            )
        given = session_id or secrets.token_hex(16)
        desk = open_desk(ledger, session_id_of(given), workspace, policy, judge, plan)
        session = cls(desk)
        known = bool(desk.state.started)
        refuse_other_plan(desk, plan)
        over = bool(desk.state.ended or desk.state.signed)
        if known and not (resume and over):
            return session
        limit = budget if budget is not None else Budget()
        facts = desk.state.started or first_facts(workspace, plan, limit, pins)
        desk.append(Draft(Kind.SESSION_STARTED, {**facts, "author": author, "resumed": known}))
        return session

    @property
    def id(self) -> str:
        """The session's own id: the name of its chain."""
        return self._desk.id

    @property
    def workspace(self) -> Path:
        """Where the agent works."""
        return self._desk.workspace

    @property
    def policy(self) -> SessionPolicy:
        """The user's rules."""
        return self._desk.policy

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan to prove."""
        return self._desk.look().plan is not None

    @property
    def has_own_plan(self) -> bool:
        """Whether the agent or a person wrote it."""
        state = self._desk.look()
        return state.plan is not None and not state.derived

    def open_steps(self) -> int:
        """How many steps of its own plan the agent has not called done, nor anybody let go."""
        state = self._desk.look()
        if state.plan is None or state.derived:
            return 0
        items = (state.item(step.id) for step in state.plan.steps)
        over = (ClaimStatus.DONE, ClaimStatus.BLOCKED)
        return sum(item.status not in over and not item.waived for item in items)

    def let_rule(self, adjudicator: Adjudicator) -> None:
        """Have a second model rule about blocked steps, where the policy wants one."""
        self._desk.adjudicator = adjudicator
        for child in self.children():
            child.let_rule(adjudicator)

    # Plan tools: text in, text out.

    def plan_create(
        self, objective: Any, steps: Any, postconditions: Any = (), reason: Any = ""
    ) -> str:
        """Write the plan, or write it anew; a rewrite is recorded with what it drops."""
        return create_plan(self._desk, objective, steps, postconditions, reason)

    def derive_plan(
        self, objective: str, steps: Sequence[Any], postconditions: Sequence[Any]
    ) -> None:
        """Have the harness write a plan where neither the agent nor a person wrote one."""
        derive_plan(self._desk, objective, steps, postconditions)

    def plan_show(self) -> str:
        """The plan with every status, proof and note, and what is missing."""
        if self._desk.look().plan is None:
            return NO_PLAN
        return show_plan(self._desk.state, self._desk.gate())

    def step_update(
        self, step_number: Any, status: Any, evidence: Any = "", notes: Any = ""
    ) -> str:
        """Say where a step stands; `done` is a request that a check or evidence decides."""
        return update_step(self._desk, step_number, status, evidence, notes)

    def step_check(self, step_number: Any) -> str:
        """Have a step's check judged now, provisionally."""
        return check_step(self._desk, step_number)

    def postcondition_verify(
        self, postcondition_number: Any, evidence: Any = "", unattainable_because: Any = ""
    ) -> str:
        """Have a postcondition judged or proved, or hand it to a person as unattainable."""
        return verify_postcondition(
            self._desk, postcondition_number, evidence, unattainable_because
        )

    def delegate(
        self,
        step_number: Any,
        objective: Any,
        *,
        tokens: int | None = None,
        usd: float | None = None,
        author: str = "",
    ) -> Delegation:
        """Hand a step to a session of its own; it gets a share of what is left of the budget.

        A step whose child was stopped is handed to that child again: only it can open its gate.
        """
        state = self._desk.look()
        steps = state.plan.steps if state.plan is not None else ()
        if type(step_number) is not int or not 1 <= step_number <= len(steps):
            return Delegation(f"error: step_number must be a number from 1 to {len(steps)}")
        if not isinstance(objective, str) or not objective.strip():
            return Delegation("error: say in `objective` what the child session is for")
        step = steps[step_number - 1].id
        unfinished = unfinished_of(self, step)
        if unfinished is not None:
            return self._take_up(unfinished, step, objective, author)
        refused = refuse_family(state, objective)
        share = offered_share(self.left(), tokens, usd)
        if refused or isinstance(share, str):
            return Delegation(refused or str(share))
        child_id = f"{SESSION_PREFIX}{secrets.token_hex(8)}"
        given = {
            "child": child_id,
            "objective": normal(objective),
            "tokens": share.tokens,
            "usd": share.usd,
        }
        # The parent knows of the child before there is one: a crash leaves the step shut, not open.
        self._desk.append(Draft(Kind.SESSION_DELEGATED, given, step=step))
        child = self._begin_child(child_id, step, objective, share, author)
        return Delegation(f"step {step_number} is delegated to `{child_id}`", child)

    # What the loop, the MCP server and hooks record.

    def record_call(self, call: ToolCall) -> str:
        """Record one tool call; returns the id by which evidence can cite it."""
        state = self._desk.look()
        name = self._desk.files.name
        call_id = citable_id(call.id, state)
        named = replace(
            call,
            id=call_id,
            reads={name(p): digest for p, digest in call.reads.items()},
            writes={name(p): digest for p, digest in call.writes.items()},
            touched=tuple(name(p) for p in call.touched),
        )
        # A call that a power cut takes cannot be cited: a proof less, never one too many.
        self._desk.append(Draft(Kind.TOOL_CALLED, named.to_data()), durable=False)
        return call_id

    def note_mutation(self, paths: Iterable[str], call_id: str = "") -> str:
        """Compare changed files with what the step in progress declares; text, or nothing."""
        return note_strays(self._desk, paths, call_id)

    def note_scratchpad(self, key: str, text: str) -> None:
        """Remember a note, so that evidence can cite it as `scratchpad:<key>`."""
        data = {"key": key, "text": text[:LONGEST_NOTE]}
        self._desk.append(Draft(Kind.NOTE_KEPT, data))

    def record_usage(self, tokens: int = 0, usd: float = 0.0, model: str = "") -> None:
        """Count what a turn used."""
        data = {"tokens": tokens, "usd": usd, "model": model}
        self._desk.append(Draft(Kind.SESSION_USAGE, data), durable=False)

    def spent(self) -> Cost:
        """What this session and all below it used."""
        used = self._desk.look().spent
        for child in self.children():
            used += child.spent()
        return used

    def left(self) -> Budget:
        """What is left of the budget once every child has its share; None where no limit is."""
        self._desk.look()
        below = {c.id: c.spent() for c in self.children()}
        over = frozenset(c.id for c in self.children() if c.is_over)
        return budget_left(self._desk.state, below, over)

    def children(self) -> tuple[PlanSession, ...]:
        """The sessions that steps of this one were handed to."""
        for child_id in self._desk.look().shares:
            if child_id not in self._children:
                self._children[child_id] = PlanSession(self._open_child(child_id))
        return tuple(self._children.values())

    def unfinished_children(self) -> tuple[tuple[PlanSession, str], ...]:
        """Children that were begun and did not finish, each with the step it was given."""
        shut, shares = self._shut_children(), self._desk.state.shares
        return tuple((c, shares[c.id].step) for c in self.children() if c.id in shut)

    @property
    def is_over(self) -> bool:
        """Whether it uses nothing any more, unless it is taken up again."""
        state = self._desk.look()
        return bool(state.accepted or state.ended or state.aborted or state.signed)

    @property
    def checks(self) -> SessionChecks:
        """Judges what is no contract of the plan as if it were one."""
        return SessionChecks(self._desk)

    # The gate.

    def judge_pending(self, limit_s: float | None = None) -> None:
        """Judge, provisionally, every contract without an answer for the content as it is now."""
        self._desk.judge_pending(limit_s)

    def gate(self) -> SessionGate:
        """May the agent call its work finished, and if not, exactly what is missing."""
        return self._desk.gate()

    def try_finish(
        self,
        answer: str,
        *,
        limit_s: float | None = None,
        unmet: Sequence[SessionMissing] = (),
        dropped: Sequence[str] = (),
    ) -> Finalization:
        """A final answer: accepted, refused with what is missing, or handed to a person."""
        return finish(self._desk, answer, limit_s, unmet, dropped)

    @property
    def standing(self) -> SessionStanding:
        """Where the session stands now."""
        gate = self._desk.gate()
        return standing_of(self._desk.state, gate)

    def report(self) -> SessionReport:
        """What was claimed, what is proved, and what it cost."""
        gate = self._desk.gate()
        return make_report(self.id, self._desk.state, gate, self.spent())

    def _sign(self, by: str) -> None:
        for child in self.children():
            child._sign(by)
        if self._desk.look().plan is not None and not self._desk.state.aborted:
            sign(self._desk, by)

    def _shut_children(self) -> frozenset[str]:
        """A child counts when its answer was accepted and its own gate is still open."""
        return frozenset(
            c.id
            for c in self.children()
            if not (c._desk.look().accepted or c._desk.state.signed) or not c.gate().open
        )

    def _take_up(self, child: PlanSession, step: str, objective: str, author: str) -> Delegation:
        state = child._desk.look()
        if state.ended or state.aborted:
            return Delegation(f"refused: `{child.id}` waits for a person first (signoff inbox)")
        if not state.started:
            # The crash came between our entry and its first one.
            share = self._desk.state.shares[child.id].budget
            child = self._begin_child(child.id, step, objective, share, author)
        else:
            resumed = {**state.started, "resumed": True}
            child._desk.append(Draft(Kind.SESSION_STARTED, resumed))
        return Delegation(f"`{child.id}` is taken up again", child, resumed=True)

    def _open_child(self, child_id: str) -> Desk:
        desk = self._desk
        opened = open_desk(desk.ledger, child_id, desk.workspace, desk.policy, desk.judge, None)
        opened.adjudicator = desk.adjudicator
        return opened

    def _begin_child(
        self, child_id: str, step: str, objective: str, share: Budget, author: str
    ) -> PlanSession:
        desk, state = self._desk, self._desk.state
        opened = self._open_child(child_id)
        title = state.plan.title if state.plan is not None else ""
        facts = first_facts(desk.workspace, None, share, state.started.get("pins", ""))
        facts |= {
            "author": author or state.started.get("author", ""),
            "resumed": False,
            "parent": self.id,
            "parent_step": step,
            "depth": state.started.get("depth", 0) + 1,
            "aims": [*state.started.get("aims", ()), normal(title), normal(objective)],
            "objective": escape_line(objective),
        }
        opened.append(Draft(Kind.SESSION_STARTED, facts))
        self._children[child_id] = PlanSession(opened)
        return self._children[child_id]


def sign_session(session: PlanSession, *, by: str) -> SessionReport:
    """Judge every contract once more and ask the gate; only for when the agent is gone.

    Children are signed first. The report says what came of it: `done`, or kept by checks that the
    agent chose itself, or what is missing.
    """
    session._sign(by)
    return session.report()
