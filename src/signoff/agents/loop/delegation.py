"""Sub-agents: a step of a plan handed to a loop of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from signoff.agents.loop.limits import LoopReport
from signoff.agents.plantools import plan_tools
from signoff.agents.session import Delegation, PlanSession
from signoff.agents.tools.context import Notebook, ToolContext, ToolError
from signoff.agents.tools.definition import Tool, tool
from signoff.domain.session import DELEGATE_TOOL, PLAN_TOOL_NAMES
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

    return replace(delegate, delegates=True)


def child_tools(child: PlanSession, tools: Sequence[Tool], play: PlayChild) -> list[Tool]:
    """The same tools, with the plan tools of the child in place of its parent's."""
    kept = [t for t in tools if t.name not in PLAN_TOOL_NAMES]
    return with_delegate(child, [*kept, *plan_tools(child)], play)


def with_delegate(session: PlanSession, tools: Sequence[Tool], play: PlayChild) -> list[Tool]:
    """The tools and the one that delegates; a caller's own of that name stays in its place."""
    taken = any(t.name == DELEGATE_TOOL for t in tools)
    return [*tools] if taken else [*tools, delegate_tool(session, tools, play)]
