"""Who works or rules on a loop's behalf: sub-agents, and a second model for blocked steps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import Model

from signoff.agents.loop.asking import Asker, ContextFull, ModelGaveUp, ModelReply
from signoff.agents.loop.interrupting import Interrupts
from signoff.agents.loop.limits import LoopLimits, LoopReport, Used
from signoff.agents.loop.prompts import RULING_PROMPT
from signoff.agents.plantools import plan_tools
from signoff.agents.session import Delegation, PlanSession
from signoff.agents.sessions.chain import Ruling
from signoff.agents.tools.context import Notebook, ToolContext, ToolError
from signoff.agents.tools.definition import Tool, tool
from signoff.domain.session import DELEGATE_TOOL, PLAN_TOOL_NAMES
from signoff.domain.text import tail
from signoff.errors import SignoffError

LONGEST_ANSWER = 8_000
PlayChild = Callable[[Delegation, str, Sequence[Tool], ToolContext], LoopReport]
RULING_LIMITS = LoopLimits(request_s=120.0, retries=2, longest_wait_s=20.0)


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


@dataclass(frozen=True)
class SecondModel:
    """Asked once per claim; whatever goes wrong leaves the decision to a person."""

    name: str
    open: Callable[[], Model]  # when it is first needed: most sessions have nothing blocked
    runner: asyncio.Runner
    tell: Callable[[str], None]
    charge: Callable[[Used], None]

    def __call__(self, question: str) -> Ruling:
        """Ask, and read the answer strictly."""
        self.tell(f"asking `{self.name}` whether the step is blocked")
        try:
            reply = self._ask(question)
        except (ModelGaveUp, ContextFull, SignoffError) as error:
            return Ruling(self.name, None, str(error))
        used = reply.used
        self.charge(used)
        accepted, reason = _read(reply.text)
        return Ruling(self.name, accepted, reason, used.tokens, used.usd or 0.0)

    def _ask(self, question: str) -> ModelReply:
        interrupts = Interrupts.in_force()
        run = partial(interrupts.run, self.runner)
        asker = Asker(self.open(), run, RULING_LIMITS, lambda _: None, self.tell)
        with interrupts.watched():
            return asker.ask([ModelRequest.user_text_prompt(question)], RULING_PROMPT)


def _read(text: str) -> tuple[bool | None, str]:
    """Only exactly what was asked for is an answer."""
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        read = json.loads(bare)
        decision, reason = read["decision"], read["reason"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, "its answer was not the JSON object that was asked for"
    if decision not in ("accept", "refuse") or not isinstance(reason, str) or not reason.strip():
        return None, "its answer named no decision with a reason"
    return decision == "accept", reason.strip()
