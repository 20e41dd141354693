"""Sub-agents: a step handed to a child session with a loop, a context and a budget of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from signoff.agents.loop.ending import LoopReport
from signoff.agents.session import Delegation, PlanSession
from signoff.agents.tools.context import Notebook, ToolContext
from signoff.agents.tools.definition import Tool, tool
from signoff.agents.tools.files import ToolError
from signoff.agents.tools.plan import plan_tools
from signoff.domain.session import PLAN_TOOL_NAMES
from signoff.domain.text import tail

LONGEST_ANSWER = 8_000

PlayChild = Callable[[Delegation, str, Sequence[Tool], ToolContext], LoopReport]


def delegate_tool(session: PlanSession, tools: Sequence[Tool], play: PlayChild) -> Tool:
    """The tool that hands a step of this session over; its child may hand on in turn."""

    @tool(effects={"read", "write", "network"})
    def delegate(
        context: ToolContext, step_number: int, objective: str, tokens: int | None = None
    ) -> str:
        """Hand a step to a sub-agent that starts without your context and makes its own plan.

        Use it for a part that is large and stands alone. The step cannot be done before the
        sub-agent's own plan is proved; one that was stopped is taken up again by the same call.
        step_number: the step of your plan.
        objective: everything the sub-agent must know, in itself complete.
        tokens: its share of what is left of your budget; left out: half.
        """
        begun = session.delegate(step_number, objective, tokens=tokens)
        if begun.session is None:
            raise ToolError(begun.text)
        child = begun.session
        theirs = child_tools(child, tools, play)
        report = play(begun, objective, theirs, replace(context, notebook=Notebook()))
        gate = child.gate()
        stands = "its plan is proved" if gate.open and gate.planned else "its plan is NOT proved"
        return (
            f"{child.id} ended ({report.ended}): {stands}. {report.reason}\n"
            f"It answered:\n{tail(report.answer, LONGEST_ANSWER) or '(nothing)'}"
        )

    return delegate


def child_tools(child: PlanSession, tools: Sequence[Tool], play: PlayChild) -> list[Tool]:
    """The same tools, with the plan tools of the child in place of its parent's."""
    kept = [t for t in tools if t.name not in PLAN_TOOL_NAMES]
    return [*kept, *plan_tools(child), delegate_tool(child, kept, play)]
