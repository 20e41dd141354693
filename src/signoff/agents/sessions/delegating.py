"""Handing a step on: what no child may be for, how deep it goes, and what a resumed agent hears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signoff.domain.facts import SessionStarted
from signoff.domain.session import DEEPEST_DELEGATION, normal
from signoff.domain.text import escape_line
from signoff.gate.state import State

if TYPE_CHECKING:
    from signoff.agents.session import PlanSession


def refuse_family(state: State, objective: str) -> str:
    """Why nobody below may be given this; an empty text when somebody may."""
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


def told_of_unfinished(children: Sequence[tuple[PlanSession, str]]) -> str:
    """For an agent that is resumed: what became of the sub-agents it waited for."""
    return "\n".join(
        f"Step {step} was handed to `{child.id}`, which was stopped before it was finished."
        f" delegate({step}, …) takes it up again, with what is left of its budget."
        for child, step in children
    )
