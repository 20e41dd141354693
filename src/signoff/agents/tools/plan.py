"""The plan tools of one session, as tools that stand beside all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.agents.plantools import PLAN_TOOLS, PlanTool
from signoff.agents.session import PlanSession
from signoff.agents.tools.definition import Effect, Tool, as_object
from signoff.agents.tools.files import ToolError

_LOOKING = frozenset({"plan_show"})
_REFUSALS = ("error: ", "refused: ")


def plan_tools(session: PlanSession) -> list[Tool]:
    """plan_create, plan_show, step_update, step_check and postcondition_verify of a session."""
    return [_bound(spec, session) for spec in PLAN_TOOLS]


def _bound(spec: PlanTool, session: PlanSession) -> Tool:
    return Tool(
        name=spec.name,
        description=spec.description,
        parameters=spec.schema,
        effects=frozenset({Effect.READ if spec.name in _LOOKING else Effect.WRITE}),
        function=_calling(spec, session),
        read=as_object,  # the tool itself says what is wrong with the arguments
    )


def _calling(spec: PlanTool, session: PlanSession) -> Callable[..., str]:
    def call(**arguments: Any) -> str:
        said = spec.call(session, arguments)
        if said.startswith(_REFUSALS):
            raise ToolError(said)
        return said

    return call
