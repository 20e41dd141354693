"""A session: one agent at work on one plan, with its claims, its proofs and its gate."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from signoff.agents.sessions.chain import SessionChain, SessionJudge
from signoff.agents.sessions.claims import (
    NO_PLAN,
    check_step,
    create_plan,
    update_step,
    verify_postcondition,
)
from signoff.agents.sessions.evidence import note_strays
from signoff.agents.sessions.finishing import SessionReport, finish, make_report, show_plan, sign
from signoff.domain.digests import digest_of
from signoff.domain.facts import SessionStarted
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Author, Budget, Cost, Plan
from signoff.domain.session import (
    DEEPEST_DELEGATION,
    SESSION_PREFIX,
    ClaimStatus,
    SessionStanding,
    ToolCall,
    normal,
    session_id_of,
)
from signoff.domain.text import escape_line
from signoff.errors import PlanConflict, UsageError
from signoff.gate.gate import session_standing
from signoff.gate.state import State
from signoff.settings.policy import SessionPolicy
from signoff.storage.ledger import Ledger

__all__ = ["Delegation", "PlanSession", "SessionReport", "sign_session"]

LONGEST_NOTE = 4_000


class Delegation(Struct, frozen=True):
    """A child session, or why there is none; `text` is for the model either way."""

    text: str
    session: PlanSession | None = None
    resumed: bool = False  # it was begun before, and goes on with what it knew


class PlanSession(SessionChain):
    """One agent's plan, claims and proofs, on a chain of the ledger of its own.

    Every method first reads what the ledger says now, so several processes (a loop, hooks, an MCP
    server) may each open the same session. Plan tools return text for the model and never raise
    for what the model sends; SignoffError means that the harness itself cannot work.
    """

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
        plan_id: str = "",
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
        named = session_id_of(session_id or secrets.token_hex(16))
        session = cls.open(ledger, named, workspace, policy, judge, plan)
        known, begun = session.state.session, session.state.session.started
        digest = None
        if plan is not None:
            digest = plan.plan_digest or digest_of([subject.digest for subject in plan.subjects])
        if begun is not None and begun.plan_digest != digest:
            # Another plan has a history of its own.
            raise PlanConflict(
                f"session `{named}` works on another plan", "begin a new session for this plan"
            )
        if begun is not None and not (resume and (known.ended or known.signed)):
            return session
        limit = budget if budget is not None else Budget()
        facts = begun or SessionStarted(
            workspace=str(workspace),
            plan_digest=digest,
            plan=plan_id,
            pins=pins,
            tokens=limit.tokens,
            usd=limit.usd,
        )
        session._begin(replace(facts, author=author), resumed=begun is not None)
        return session

    def _begin(self, facts: SessionStarted, *, resumed: bool) -> None:
        self.append(Draft(Kind.SESSION_STARTED, {**facts.to_data(), "resumed": resumed}))

    @property
    def has_plan(self) -> bool:
        return self.look().provable

    @property
    def has_own_plan(self) -> bool:
        state = self.look()
        return state.plan is not None and state.author is not Author.DERIVED

    def open_steps(self) -> int:
        """Number of steps of its own plan that are neither called done by the agent nor let go."""
        if not self.has_own_plan or self.state.plan is None:
            return 0
        records = (self.state.record(step.id) for step in self.state.plan.steps)
        over = (ClaimStatus.DONE, ClaimStatus.BLOCKED)
        return sum(r.claim.status not in over and not r.waived for r in records)

    # Plan tools: text in, text out.

    plan_create = create_plan
    step_update = update_step
    step_check = check_step
    postcondition_verify = verify_postcondition

    def plan_show(self) -> str:
        """The plan with every status, proof and note, and what is missing."""
        return NO_PLAN if self.look().plan is None else show_plan(self.state, self.gate())

    # What the loop, the MCP server and hooks record.

    def record_call(self, call: ToolCall) -> str:
        """Record one tool call, its files named one way; the id by which evidence can cite it."""
        plain = "".join(c if c.isalnum() or c in "_.-" else "_" for c in call.id)[:100] or "call"
        # Clients may repeat ids; each call is cited by one that no other call has.
        known, name, number, cited = self.look().session.calls, self.files.name, 1, plain
        while cited in known:
            number += 1
            cited = f"{plain}.{number}"
        named = replace(
            call,
            id=cited,
            reads={name(p): digest for p, digest in call.reads.items()},
            writes={name(p): digest for p, digest in call.writes.items()},
            touched=tuple(name(p) for p in call.touched),
        )
        # A call that a power cut takes cannot be cited: a proof less, never one too many.
        self.append(Draft(Kind.TOOL_CALLED, named.to_data()), durable=False)
        return cited

    note_mutation = note_strays

    def note_scratchpad(self, key: str, text: str) -> None:
        """Remember the beginning of a note, so that evidence can cite it as `scratchpad:<key>`."""
        self.append(Draft(Kind.NOTE_KEPT, {"key": key, "text": text[:LONGEST_NOTE]}))

    def record_usage(self, tokens: int = 0, usd: float = 0.0, model: str = "") -> None:
        """Count what a turn used; a power cut may take it."""
        data = {"tokens": tokens, "usd": usd, "model": model}
        self.append(Draft(Kind.SESSION_USAGE, data), durable=False)

    # The sessions below, and the budget that they share.

    def delegate(
        self, step_number: Any, objective: Any, *, tokens: int | None = None
    ) -> Delegation:
        """Hand a step to a session of its own; it gets a share of what is left of the budget.

        A step whose child was stopped is handed to that child again: only it can open its gate.
        """
        state = self.look()
        steps = state.plan.steps if state.plan is not None else ()
        if type(step_number) is not int or not 1 <= step_number <= len(steps):
            return Delegation(f"error: step_number must be a number from 1 to {len(steps)}")
        if not isinstance(objective, str) or not objective.strip():
            return Delegation("error: say in `objective` what the child session is for")
        step = steps[step_number - 1].id
        begun = state.session.started or SessionStarted()
        shut = [child for child, given in self.unfinished_children() if given == step]
        share = state.session.shares[shut[-1].id].budget if shut else None
        if share is None:
            offered = _offered_share(self.left(), tokens)
            refused = _why_not_delegated(state, objective)
            if refused or isinstance(offered, str):
                return Delegation(refused or str(offered))
            share = offered
        facts = replace(
            begun,
            plan_digest=None,
            plan="",
            tokens=share.tokens,
            usd=share.usd,
            parent=self.id,
            parent_step=step,
            depth=begun.depth + 1,
            aims=(*begun.aims, normal(state.plan.title if state.plan else ""), normal(objective)),
            objective=escape_line(objective),
        )
        if shut:
            return _taken_up(shut[-1], facts)
        child_id = f"{SESSION_PREFIX}{secrets.token_hex(8)}"
        given = {
            "child": child_id,
            "objective": normal(objective),
            "tokens": share.tokens,
            "usd": share.usd,
        }
        # The parent knows of the child before there is one: a crash leaves the step shut, not open.
        self.append(Draft(Kind.SESSION_DELEGATED, given, step=step))
        child = next(child for child in self.children() if child.id == child_id)
        child._begin(facts, resumed=False)
        return Delegation(f"step {step_number} is delegated to `{child_id}`", child)

    def unfinished_children(self) -> tuple[tuple[PlanSession, str], ...]:
        """Children that were begun and did not finish, each with the step it was given."""
        children = self.children()
        shares = self.state.session.shares
        return tuple((child, shares[child.id].step) for child in children if child.is_shut)

    def spent(self) -> Cost:
        """Usage of this session and all below it."""
        used = self.look().spent
        for child in self.children():
            used += child.spent()
        return used

    def left(self) -> Budget:
        """The budget left once every child has its share; None where no limit is.

        A child that is over gives back what it left; one that used more than its share used it.
        """
        children = self.children()
        used = self.state.spent
        for child in children:
            share, spent = self.state.session.shares[child.id].budget, child.spent()
            given = Budget() if child.is_over else share
            tokens, usd = max(spent.tokens, given.tokens or 0), max(spent.usd, given.usd or 0.0)
            used += Cost(tokens, usd)
        limit = self.state.session.started or SessionStarted()
        return Budget(
            None if limit.tokens is None else max(0, limit.tokens - used.tokens),
            None if limit.usd is None else max(0.0, round(limit.usd - used.usd, 9)),
        )

    @property
    def is_over(self) -> bool:
        """True when it uses nothing any more, unless it is taken up again."""
        state = self.look()
        session = state.session
        return bool(session.accepted or session.ended or state.aborted or session.signed)

    # The end.

    try_finish = finish

    @property
    def standing(self) -> SessionStanding:
        gate = self.gate()
        return session_standing(self.state, gate)

    def report(self) -> SessionReport:
        return make_report(self, self.spent())


def sign_session(session: PlanSession, *, by: str) -> SessionReport:
    """Judge every contract once more and ask the gate; only for when the agent is gone.

    Children are signed first. The report says what came of it: `done`, or kept by checks that the
    agent chose itself, or what is missing.
    """
    for child in session.children():
        sign_session(child, by=by)
    if session.look().provable and not session.state.aborted:
        sign(session, by)
    return session.report()


def _taken_up(child: PlanSession, facts: SessionStarted) -> Delegation:
    """Go on with a child that did not finish, or begin one that a crash kept from beginning."""
    state = child.look()
    if state.session.ended or state.aborted:
        return Delegation(f"refused: `{child.id}` waits for a person first (signoff inbox)")
    child._begin(state.session.started or facts, resumed=state.session.started is not None)
    return Delegation(f"`{child.id}` is taken up again", child, resumed=True)


def _why_not_delegated(state: State, objective: str) -> str:
    """The reason why this may not be delegated; empty when it may."""
    started = state.session.started or SessionStarted()
    aims = {normal(aim) for aim in started.aims}
    aims.add(normal(state.plan.title if state.plan is not None else ""))
    if normal(objective) in aims:
        return (
            f"refused: `{escape_line(objective)[:200]}` is what this session, or one above it,"
            " is for already; delegate a part of it"
        )
    if started.depth >= DEEPEST_DELEGATION:
        return f"refused: sessions go {DEEPEST_DELEGATION} deep at most; do this step yourself"
    return ""


def _offered_share(left: Budget, tokens: int | None) -> Budget | str:
    """The child's share: as asked for, else half of what is left; a text when it cannot be."""
    if tokens is not None and (type(tokens) is not int or tokens < 1):
        return "error: `tokens` must be a number above 0"
    if left.tokens is not None:
        tokens = left.tokens // 2 if tokens is None else tokens
        if not 0 < tokens <= left.tokens:
            return f"refused: {left.tokens} tokens are left of this session's budget"
    if left.usd is not None and left.usd <= 0:
        return f"refused: {left.usd} USD are left of this session's budget"
    return Budget(tokens, None if left.usd is None else round(left.usd / 2, 9))
