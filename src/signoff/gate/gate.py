"""The gate: may this plan be called done, and if not, exactly what is missing.

Every door asks it: the driver, the final sweep, hooks, the built-in loop, MCP, audits. Where no
driver dispatches, an open gate is provisional: the agent may still be alive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from signoff.domain.digests import digest_of
from signoff.domain.escalation import Outcome
from signoff.domain.plan import Author
from signoff.domain.session import SessionStanding
from signoff.gate.missing import (
    ENDED_BY_PERSON,
    VERIFICATION,
    Missing,
    given_up,
    missing_of_plan,
    missing_of_subjects,
)
from signoff.gate.state import State
from signoff.gate.subjects import Content, Standing, StepState, ended_unproved, standing_of


class Gate(StrEnum):
    """The answer for the whole plan."""

    OPEN = "open"
    OPEN_WITH_WAIVERS = "open with waivers"
    SHUT = "shut"


@dataclass(frozen=True)
class GateReport:
    """The gate's whole answer about one plan on one content."""

    gate: Gate
    steps: tuple[Standing, ...] = ()
    postconditions: tuple[Standing, ...] = ()
    missing: tuple[Missing, ...] = ()
    author: Author = Author.PERSON
    planned: bool = True  # without a plan nothing was claimed and nothing is proved

    @property
    def open(self) -> bool:
        """Whether nothing is missing."""
        return self.gate is not Gate.SHUT

    @property
    def self_set(self) -> bool:
        """Whether the agent chose what is checked."""
        return self.planned and self.author is not Author.PERSON

    @property
    def subjects(self) -> tuple[Standing, ...]:
        """The steps, then the postconditions."""
        return (*self.steps, *self.postconditions)

    def ids(self, *states: StepState) -> tuple[str, ...]:
        """The subjects that stand like this."""
        return tuple(s.id for s in self.subjects if s.state in states)

    @property
    def proved(self) -> tuple[str, ...]:
        """What is done, on this content."""
        return tuple(s.id for s in self.subjects if s.proved)

    @property
    def stale(self) -> tuple[str, ...]:
        """What was proved on content that is not there any more."""
        done = (s for s in self.subjects if s.state is StepState.DONE)
        return tuple(s.id for s in done if s.stale)

    @property
    def waived(self) -> tuple[str, ...]:
        """What a person let go, and what the policy let go; never called proved."""
        return self.ids(StepState.WAIVED, StepState.LET_GO)

    @property
    def for_person(self) -> tuple[str, ...]:
        """What only a person can say; it holds the agent up no more, and nothing is done by it."""
        return self.ids(StepState.FOR_PERSON)

    @property
    def waits_for_people(self) -> bool:
        """Whether nothing that the agent could do would open it."""
        over = any(m.waiting and m.subject == VERIFICATION for m in self.missing)
        return over or (not self.open and all(m.waiting for m in self.missing))

    @property
    def missing_digest(self) -> str:
        """The same for the same things missing, however the agent words or toggles its claims."""
        return digest_of(sorted(m.subject for m in self.missing))


def evaluate(
    state: State, content: Content | str | None, *, require_plan: bool = False
) -> GateReport:
    """Ask the gate. Without a digest nothing can be told stale, so nothing counts as current."""
    if not isinstance(content, Content):
        content = Content(content or "")
    steps = tuple(standing_of(state, step, content) for step in state.schedule.steps)
    conditions = (*state.schedule.plan.postconditions, *state.beside)
    posts = tuple(standing_of(state, post, content) for post in conditions)
    missing = [
        *missing_of_subjects(state, state.schedule.steps, steps),
        *missing_of_subjects(state, conditions, posts),
        *missing_of_plan(state, steps, posts, require_plan=require_plan),
    ]
    if missing and not state.driven:
        missing += given_up(state)
    if state.aborted and not state.driven:
        steps, posts, missing = (), (), [ENDED_BY_PERSON]
    if ended_unproved(state):
        missing = [replace(m, next=_next_run(state)) for m in missing]
    planned = state.provable and bool(state.schedule.steps)
    report = GateReport(Gate.SHUT, steps, posts, tuple(missing), state.author, planned)
    if missing:
        return report
    return replace(report, gate=Gate.OPEN_WITH_WAIVERS if report.waived else Gate.OPEN)


def session_standing(state: State, gate: GateReport) -> SessionStanding:
    """Where a session stands."""
    session = state.session
    if state.aborted:
        return SessionStanding.ENDED
    if session.signed is not None and gate.for_person:
        return SessionStanding.WAITING
    if session.signed is not None:
        plain = not session.signed.self_set or session.signed.accepted
        return SessionStanding.DONE if plain else SessionStanding.KEPT_SELF_SET
    if session.ended:
        return SessionStanding(session.ended)
    if session.accepted and gate.open:
        return SessionStanding.AWAITING_SIGN_OFF if gate.planned else SessionStanding.UNPLANNED
    return SessionStanding.WORKING


def _next_run(state: State) -> str:
    return "signoff approve" if state.outcome is Outcome.REVISED else "signoff run"
