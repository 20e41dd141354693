"""Work meets its judges: what the runtime can check is judged, and the model hears what came of it.

A task has a plan of its own or gets one derived from its definition of done; beside the plan's gate
a round of the definition must hold. Both end in one list of what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from signoff.agents.sessions.showing import VERIFICATION, show_missing
from signoff.domain.definition import Definition, DefinitionStatus, Round, RoundStatus
from signoff.domain.text import escape, tail
from signoff.gate.rounds import shown
from signoff.gate.session import SessionGate, SessionMissing
from signoff.toolbatch.deriving import plan_of
from signoff.toolbatch.pipeline import BatchRunner
from signoff.toolbatch.todo import how_to_drop

MOST_FINDINGS = 10
LONGEST_FINDING = 800
_ANSWER_NOW = "Give your final answer now."
_HOLDS = frozenset({RoundStatus.KEPT, RoundStatus.SKIPPED})


class Judged(Protocol):
    """What handing over asks of a session."""

    @property
    def has_plan(self) -> bool:
        """Whether there is one."""

    @property
    def has_own_plan(self) -> bool:
        """Whether the agent or a person wrote one."""

    def open_steps(self) -> int:
        """How many steps of its own plan the agent has not called done."""

    def derive_plan(
        self, objective: str, steps: Sequence[Any], postconditions: Sequence[Any]
    ) -> None:
        """Have the harness write a plan where nobody else did."""

    def judge_pending(self, limit_s: float | None = None) -> None:
        """Judge every contract without an answer for the content as it is now."""

    def content(self) -> str:
        """The digest of the workspace as it is now."""

    def gate(self) -> SessionGate:
        """What is missing."""


def hand_over(session: Judged | None, runner: BatchRunner, why: str) -> str:
    """Judge everything that is due; text for the model."""
    if session is None:
        return f"{why.capitalize()}: nothing is left to build. {_ANSWER_NOW}"
    unmet = what_does_not_hold(session, runner, why)
    gate = session.gate()
    if gate.open and not unmet:
        return f"Judged just now, because {why}: everything holds. {_ANSWER_NOW}"
    runner.looker.ease()
    missing = "\n".join(filter(None, (show_missing(gate), *(f"- {m.what}" for m in unmet))))
    return f"Judged just now, because {why}: it is not done. Missing:\n{missing}"


def what_does_not_hold(
    session: Judged, runner: BatchRunner, why: str, *, idle: bool = False
) -> tuple[SessionMissing, ...]:
    """Judge plan and definition; what the definition says is missing beside the plan's gate.

    `idle`: no call was made since the last judging and the content is the same, so what it found
    stands. A call may change more than anybody saw, and a process that one left behind changes
    files without any: then even a kept round is judged anew.
    """
    derive_plan(session, runner)
    session.judge_pending()
    definition = runner.keeper.definition
    done = definition.status is DefinitionStatus.DONE
    if (done and idle) or not is_to_be_judged(definition):
        return ()
    last = definition.round
    still_broken = idle and last is not None and last.status is RoundStatus.BROKEN
    held = last if still_broken else runner.judge(why)
    definition = runner.keeper.definition
    if definition.status is DefinitionStatus.FAILED:
        found = _found(definition.round) if definition.round is not None else ""
        what = f"verification failed too often, so a person has to look. {found}".strip()
        return (SessionMissing(VERIFICATION, what, "stop, and say what you know", waiting=True),)
    if held is None or held.status in _HOLDS:
        return () if session.has_own_plan or not session.has_plan else _undone(definition)
    return (SessionMissing(VERIFICATION, _found(held), "repair what it names"),)


def _undone(definition: Definition) -> tuple[SessionMissing, ...]:
    """What no step of a derived plan says: the list is longer than one, or nothing was done."""
    if definition.status is DefinitionStatus.DONE or not definition.undone:
        return ()
    first = next((item.text for item in definition.pending), "what is not needed")
    hint = f"list as done what is done; {how_to_drop(first)}"
    return (SessionMissing(VERIFICATION, "; ".join(definition.undone[:3]), hint),)


def dropped_of(definition: Definition) -> tuple[str, ...]:
    """What a person asked for and the model gave up, with its reasons."""
    return tuple(f"{drop.what}: {drop.reason}" for drop in definition.dropped if drop.asked)


def derive_plan(session: Judged, runner: BatchRunner) -> None:
    """A task without a plan gets one from its definition of done, and so meets the same gate."""
    definition, court = runner.keeper.definition, runner.court
    if session.has_own_plan or court is None or not is_to_be_judged(definition):
        return
    plan = plan_of(definition, court.checks(definition))
    if plan is not None:
        session.derive_plan(plan.objective, plan.steps, plan.postconditions)


def is_to_be_judged(definition: Definition) -> bool:
    """A question that was only answered leaves nothing behind that could be judged."""
    return bool(definition.artifacts or definition.touched or definition.rounds)


def _found(held: Round) -> str:
    against = [s for s in held.seen if s.status in ("contradicts", "missing")]
    lines = [f"{s.subject}: {s.detail}".rstrip(": ") for s in against[:MOST_FINDINGS]]
    quoted = [f"  | {line}" for text in lines for line in _short(text).split("\n")]
    return "\n".join((f"{shown(held)} is {held.status}:", *quoted))


def _short(text: str) -> str:
    return escape(text if len(text) <= LONGEST_FINDING else tail(text, LONGEST_FINDING))
