"""The sessions below a session: a step is handed to one, or taken up again; what all cost."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signoff.agents.sessions.budgets import budget_left, offered_share
from signoff.agents.sessions.delegating import refuse_family
from signoff.agents.sessions.desk import Desk
from signoff.agents.sessions.opening import first_facts, open_desk
from signoff.domain.facts import SessionStarted
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Budget, Cost
from signoff.domain.session import SESSION_PREFIX, normal
from signoff.domain.text import escape_line

if TYPE_CHECKING:
    from signoff.agents.session import PlanSession


@dataclass(frozen=True)
class Delegation:
    """A child session, or why there is none; `text` is for the model either way."""

    text: str
    session: PlanSession | None = None
    resumed: bool = False  # it was begun before, and goes on with what it knew


@dataclass(frozen=True)
class Asked:
    """What an agent asks for when it hands a step on."""

    step_number: Any
    objective: Any
    tokens: int | None = None
    usd: float | None = None
    author: str = ""


@dataclass(frozen=True)
class _Child:
    desk: Desk
    session: PlanSession

    @property
    def is_shut(self) -> bool:
        """A child counts when its answer was accepted and its own gate is still open."""
        state = self.desk.look()
        return not (state.session.accepted or state.session.signed) or not self.desk.gate().open


class Family:
    """The children of one session; `adopt` makes a session of a child's desk."""

    def __init__(self, desk: Desk, adopt: Callable[[Desk], PlanSession]):
        self._desk = desk
        self._adopt = adopt
        self._known: dict[str, _Child] = {}

    def members(self) -> tuple[PlanSession, ...]:
        """The sessions that steps were handed to."""
        return tuple(child.session for child in self._children())

    def shut(self) -> frozenset[str]:
        """Those that keep their step from being done."""
        return frozenset(child.desk.id for child in self._children() if child.is_shut)

    def unfinished(self) -> tuple[tuple[PlanSession, str], ...]:
        """Those that were begun and did not finish, each with the step it was given."""
        children = self._children()
        shares = self._desk.state.session.shares
        return tuple((c.session, shares[c.desk.id].step) for c in children if c.is_shut)

    def spent(self) -> Cost:
        """What the session and all below it used."""
        used = self._desk.look().spent
        for child in self.members():
            used += child.spent()
        return used

    def left(self) -> Budget:
        """What is left of the budget once every child has its share."""
        members = self.members()
        below = {child.id: child.spent() for child in members}
        over = frozenset(child.id for child in members if child.is_over)
        return budget_left(self._desk.state, below, over)

    def delegate(self, asked: Asked) -> Delegation:
        """Hand a step on; one whose child was stopped goes to that child again."""
        state = self._desk.look()
        steps = state.plan.steps if state.plan is not None else ()
        number, objective = asked.step_number, asked.objective
        if type(number) is not int or not 1 <= number <= len(steps):
            return Delegation(f"error: step_number must be a number from 1 to {len(steps)}")
        if not isinstance(objective, str) or not objective.strip():
            return Delegation("error: say in `objective` what the child session is for")
        step = steps[number - 1].id
        unfinished = self._unfinished_of(step)
        if unfinished is not None:
            return self._take_up(unfinished, step, objective, asked.author)
        refused = refuse_family(state, objective)
        share = offered_share(self.left(), asked.tokens, asked.usd)
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
        child = self._begin(child_id, step, objective, share, asked.author)
        return Delegation(f"step {number} is delegated to `{child_id}`", child)

    def _unfinished_of(self, step: str) -> _Child | None:
        """The step's child that is not finished: it goes on, as no other could open its gate."""
        children = reversed(self._children())
        shares = self._desk.state.session.shares
        return next((c for c in children if shares[c.desk.id].step == step and c.is_shut), None)

    def _children(self) -> tuple[_Child, ...]:
        for child_id in self._desk.look().session.shares:
            if child_id not in self._known:
                self._know(self._open(child_id))
        return tuple(self._known.values())

    def _know(self, desk: Desk) -> PlanSession:
        self._known[desk.id] = _Child(desk, self._adopt(desk))
        return self._known[desk.id].session

    def _take_up(self, child: _Child, step: str, objective: str, author: str) -> Delegation:
        state, child_id = child.desk.look(), child.desk.id
        if state.session.ended or state.aborted:
            return Delegation(f"refused: `{child_id}` waits for a person first (signoff inbox)")
        session = child.session
        if state.session.started is None:
            # The crash came between our entry and its first one.
            share = self._desk.state.session.shares[child_id].budget
            session = self._begin(child_id, step, objective, share, author)
        else:
            resumed = {**state.session.started.to_data(), "resumed": True}
            child.desk.append(Draft(Kind.SESSION_STARTED, resumed))
        return Delegation(f"`{child_id}` is taken up again", session, resumed=True)

    def _open(self, child_id: str) -> Desk:
        desk = self._desk
        opened = open_desk(desk.ledger, child_id, desk.workspace, desk.policy, desk.judge, None)
        opened.adjudicator = desk.adjudicator
        return opened

    def _begin(
        self, child_id: str, step: str, objective: str, share: Budget, author: str
    ) -> PlanSession:
        desk, state = self._desk, self._desk.state
        opened = self._open(child_id)
        title = state.plan.title if state.plan is not None else ""
        begun = state.session.started or SessionStarted()
        facts = first_facts(desk.workspace, None, share, begun.pins)
        facts |= {
            "author": author or begun.author,
            "resumed": False,
            "parent": desk.id,
            "parent_step": step,
            "depth": begun.depth + 1,
            "aims": [*begun.aims, normal(title), normal(objective)],
            "objective": escape_line(objective),
        }
        opened.append(Draft(Kind.SESSION_STARTED, facts))
        return self._know(opened)
