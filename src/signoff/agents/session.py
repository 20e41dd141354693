"""A session: one agent at work on one plan, with its claims, its proofs and its gate."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from signoff.agents.sessions.adjudicating import Adjudicator
from signoff.agents.sessions.claiming import (
    NO_PLAN,
    check_step,
    update_step,
    verify_postcondition,
)
from signoff.agents.sessions.desk import Desk, SessionJudge
from signoff.agents.sessions.family import Asked, Delegation, Family
from signoff.agents.sessions.finishing import Finalization, finish, sign, why_broken
from signoff.agents.sessions.mutating import note_strays
from signoff.agents.sessions.opening import first_facts, open_desk, refuse_other_plan
from signoff.agents.sessions.planning import create_plan
from signoff.agents.sessions.recording import record_call, record_note, record_usage
from signoff.agents.sessions.reporting import SessionReport, make_report
from signoff.agents.sessions.showing import show_plan
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Author, Budget, Cost, Plan
from signoff.domain.session import (
    ClaimStatus,
    SessionStanding,
    ToolCall,
    session_id_of,
)
from signoff.domain.verdict import Verdict
from signoff.errors import UsageError
from signoff.gate.gate import GateReport, session_standing
from signoff.settings.agent import SessionPolicy
from signoff.storage.ledger import Ledger

__all__ = [
    "Delegation",
    "Finalization",
    "GateReport",
    "PlanSession",
    "SessionJudge",
    "SessionReport",
    "sign_session",
]


class PlanSession:
    """One agent's plan, claims and proofs, on a chain of the ledger of its own.

    Every method first reads what the ledger says now, so several processes (a loop, hooks, an MCP
    server) may each open the same session. Plan tools return text for the model and never raise
    for what the model sends; SignoffError means that the harness itself cannot work.
    """

    def __init__(self, desk: Desk):
        self._desk = desk
        self._family = Family(desk, PlanSession)
        desk.shut_children = self._family.shut

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
        begun = desk.state.session.started
        refuse_other_plan(desk, plan)
        over = bool(desk.state.session.ended or desk.state.session.signed)
        if begun is not None and not (resume and over):
            return session
        limit = budget if budget is not None else Budget()
        facts = begun.to_data() if begun is not None else first_facts(workspace, plan, limit, pins)
        said = {"author": author, "resumed": begun is not None}
        desk.append(Draft(Kind.SESSION_STARTED, {**facts, **said}))
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
        return self._desk.look().provable

    @property
    def has_own_plan(self) -> bool:
        """Whether the agent or a person wrote it."""
        state = self._desk.look()
        return state.plan is not None and state.author is not Author.DERIVED

    def open_steps(self) -> int:
        """How many steps of its own plan the agent has not called done, nor anybody let go."""
        state = self._desk.look()
        if state.plan is None or state.author is Author.DERIVED:
            return 0
        records = (state.record(step.id) for step in state.plan.steps)
        over = (ClaimStatus.DONE, ClaimStatus.BLOCKED)
        return sum(r.claim.status not in over and not r.waived for r in records)

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
        return self._family.delegate(Asked(step_number, objective, tokens, usd, author))

    # What the loop, the MCP server and hooks record.

    def record_call(self, call: ToolCall) -> str:
        """Record one tool call; returns the id by which evidence can cite it."""
        return record_call(self._desk, call)

    def note_mutation(self, paths: Iterable[str], call_id: str = "") -> str:
        """Compare changed files with what the step in progress declares; text, or nothing."""
        return note_strays(self._desk, paths, call_id)

    def note_scratchpad(self, key: str, text: str) -> None:
        """Remember a note, so that evidence can cite it as `scratchpad:<key>`."""
        record_note(self._desk, key, text)

    def record_usage(self, tokens: int = 0, usd: float = 0.0, model: str = "") -> None:
        """Count what a turn used."""
        record_usage(self._desk, tokens, usd, model)

    def spent(self) -> Cost:
        """What this session and all below it used."""
        return self._family.spent()

    def left(self) -> Budget:
        """What is left of the budget once every child has its share; None where no limit is."""
        return self._family.left()

    def children(self) -> tuple[PlanSession, ...]:
        """The sessions that steps of this one were handed to."""
        return self._family.members()

    def unfinished_children(self) -> tuple[tuple[PlanSession, str], ...]:
        """Children that were begun and did not finish, each with the step it was given."""
        return self._family.unfinished()

    @property
    def is_over(self) -> bool:
        """Whether it uses nothing any more, unless it is taken up again."""
        state = self._desk.look()
        session = state.session
        return bool(session.accepted or session.ended or state.aborted or session.signed)

    @property
    def books(self) -> Desk:
        """The chain itself, for whoever derives a plan from the task."""
        return self._desk

    # The gate.

    def judge_pending(self, limit_s: float | None = None) -> None:
        """Judge, provisionally, every contract without an answer for the content as it is now."""
        self._desk.judge_pending(limit_s)

    def judge_again(self, subject: str) -> Verdict:
        """Judge the contract of a step or postcondition and record nothing: for an audit."""
        contract = self._desk.look().contract(subject)
        assert contract is not None
        return self._desk.judged(subject, contract, provisional=False)

    def content(self) -> str:
        """The digest of the workspace as it is now."""
        return self._desk.content()

    def gate(self) -> GateReport:
        """May the agent call its work finished, and if not, exactly what is missing."""
        return self._desk.gate()

    def try_finish(
        self,
        answer: str,
        *,
        limit_s: float | None = None,
    ) -> Finalization:
        """A final answer: accepted, refused with what is missing, or handed to a person."""
        return finish(self._desk, answer, limit_s)

    def why_broken(self) -> str:
        """What the first check that does not hold printed."""
        return why_broken(self._desk, self._desk.gate())

    @property
    def standing(self) -> SessionStanding:
        """Where the session stands now."""
        gate = self._desk.gate()
        return session_standing(self._desk.state, gate)

    def report(self) -> SessionReport:
        """What was claimed, what is proved, and what it cost."""
        gate = self._desk.gate()
        return make_report(self.id, self._desk.state, gate, self.spent())

    def _sign(self, by: str) -> None:
        for child in self.children():
            child._sign(by)
        if self._desk.look().provable and not self._desk.state.aborted:
            sign(self._desk, by)


def sign_session(session: PlanSession, *, by: str) -> SessionReport:
    """Judge every contract once more and ask the gate; only for when the agent is gone.

    Children are signed first. The report says what came of it: `done`, or kept by checks that the
    agent chose itself, or what is missing.
    """
    session._sign(by)
    return session.report()
