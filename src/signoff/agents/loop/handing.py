"""When the runtime hands over: the session judges at once, and the model hears what came of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from signoff.agents.sessions.showing import show_missing
from signoff.domain.definition import Definition, Round, RoundStatus
from signoff.gate import SessionGate
from signoff.toolbatch import BatchRunner
from signoff.toolbatch.planning import plan_of

_ANSWER_NOW = "Give your final answer now."


class Judged(Protocol):
    """What handing over asks of a session."""

    @property
    def has_plan(self) -> bool:
        """Whether there is one."""

    def plan_create(
        self, objective: Any, steps: Any, postconditions: Any = (), reason: Any = ""
    ) -> str:
        """Write a plan."""

    def judge_pending(self, limit_s: float | None = None) -> None:
        """Judge every contract without an answer for the content as it is now."""

    def gate(self) -> SessionGate:
        """What is missing."""


def hand_over(session: Judged | None, runner: BatchRunner, why: str) -> str:
    """Judge everything that is due; text for the model."""
    if session is None:
        return f"{why.capitalize()}: nothing is left to build. {_ANSWER_NOW}"
    adopt_plan(session, runner.keeper.definition)
    held = runner.judge(why)
    session.judge_pending()
    gate = session.gate()
    broken = held is not None and held.status is not RoundStatus.KEPT
    if gate.open and not broken:
        return f"Judged just now, because {why}: everything holds. {_ANSWER_NOW}"
    runner.looker.ease()
    parts = [f"Judged just now, because {why}: it is not done."]
    parts += [_found(held)] if held is not None and broken else []
    parts += [f"Missing:\n{show_missing(gate)}"] if gate.missing else []
    return "\n".join(parts)


def adopt_plan(session: Judged, definition: Definition) -> None:
    """A task without a plan gets one from its definition of done, and so meets the same gate."""
    if session.has_plan or not definition.artifacts:
        return
    # Only what a check can decide: nobody announced the rest as steps that need evidence.
    decided = tuple(item for item in definition.items if item.artifacts)
    session.plan_create(**plan_of(replace(definition, items=decided)))


def _found(held: Round) -> str:
    against = [s for s in held.seen if s.status in ("contradicts", "missing")]
    lines = [f"- {s.subject}: {s.detail}".rstrip(": ") for s in against[:10]]
    return "\n".join((f"Round {held.number} is {held.status}:", *lines))
