"""The model loop: ask, act, until the gate lets an answer through or something ends it.

AgentLoop.run
  _turn
    Asker.ask          one answer, streamed and retried; recorded before anything is done
    Actor.perform      its calls, as a batch; results and what is next are told at once
    _finish            no calls: a final answer, and the gate decides
  _compact             when the context fills
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart

from signoff.agents.loop.acting import Actor
from signoff.agents.loop.asking import Asker, ContextFull, ModelGaveUp, Reply
from signoff.agents.loop.compaction import bare_record, compacted, is_full, summary_request
from signoff.agents.loop.ending import Ended, LoopReport
from signoff.agents.loop.handing import dropped_of, hand_over, what_does_not_hold
from signoff.agents.loop.instructions import CUT_OFF, EMPTY_ANSWER, PLAIN_PROMPT, RESUMED
from signoff.agents.loop.interrupting import Interrupts
from signoff.agents.loop.limits import Charge, LoopLimits, Meter
from signoff.agents.loop.setup import LoopSetup
from signoff.agents.loop.transcript import LineKind, Past
from signoff.agents.tools import Tool, ToolContext
from signoff.domain.session import Decision
from signoff.errors import UsageError
from signoff.gate import SessionMissing
from signoff.gate.definition import Abandoned
from signoff.toolbatch import BatchResult, Ending, OutcomeKind
from signoff.toolbatch.resuming import take_up

_MOVE_NOTHING = frozenset({OutcomeKind.BLOCKED, OutcomeKind.DUPLICATE})


class _End(Exception):
    """Why there is no further turn."""

    def __init__(self, ended: Ended, reason: str):
        super().__init__(reason)
        self.ended = ended
        self.reason = reason


class AgentLoop:
    """One sitting of one session; `run` returns however it ends."""

    def __init__(self, setup: LoopSetup, runner: asyncio.Runner | None = None):
        _refuse_inside_a_loop()
        self._setup = setup
        self._runner = runner or asyncio.Runner()
        self._own_runner = runner is None
        self._interrupts = Interrupts()
        past = setup.past or Past()
        self._messages: list[ModelMessage] = list(past.messages)
        self._meter = Meter(
            setup.limits,
            turns=past.turns,
            tokens_in=past.tokens_in,
            tokens_out=past.tokens_out,
            usd=past.usd,
            priced=past.priced,
        )
        if past.notebook is not None:
            setup.context.notebook.load(past.notebook)
        reporter = setup.reporter
        self._asker = Asker(
            setup.model,
            partial(self._interrupts.run, self._runner),
            setup.limits,
            reporter.said,
            reporter.noted,
        )
        self._actor = Actor(
            tools=_by_name(setup.tools),
            context=self._bounded(setup.context),
            session=setup.session,
            on_call=reporter.called,
            on_result=reporter.returned,
            calls=past.calls,
            failed=past.failed_calls,
            task=setup.task,
            batching=setup.batching,
            on_steered=reporter.noted,
            confirm=setup.confirm,
        )
        if setup.session is not None:
            self._actor.runner.looker.open_steps = setup.session.open_steps
        self._tried: list[tuple[str, Mapping[str, Any]]] = []
        self._acted = True  # since the work was last judged, as far as anybody knows
        self._early = 0  # final answers that came before what the task names was there
        self._compactions = past.compactions
        self._refused = self._fruitless = self._context = 0
        self._answer = ""
        self._charged: list[Charge] = []

    def run(self) -> LoopReport:
        """Go on until something ends it; the transcript can be resumed from every end."""
        try:
            with self._interrupts.watched():
                end = self._until_its_end()
                with self._interrupts.calmly():
                    return self._ended(end)
        finally:
            if self._own_runner:
                self._runner.close()

    def limits_left(self) -> LoopLimits:
        """What of turns and time is left, for a child that plays inside one of our calls."""
        limits = self._setup.limits
        turns = None if limits.turns is None else max(0, limits.turns - self._meter.turns)
        wall_s = None if limits.wall_s is None else max(0.0, self._meter.left_s)
        return replace(limits, turns=turns, wall_s=wall_s)

    def charge(self, used: Charge) -> None:
        """What a child or a second model used counts here too, and is kept with the call."""
        self._meter.turns += used.turns
        self._meter.add(used.tokens_in, used.tokens_out, used.usd)
        self._charged.append(used)

    def _until_its_end(self) -> _End:
        interrupted = _End(Ended.INTERRUPTED, "interrupted; the session can be resumed")
        try:
            self._begin()
            while True:
                self._turn()
        except KeyboardInterrupt:
            return interrupted
        except _End as end:
            # A command that was stopped by Ctrl-C can look like one that ran out of time.
            decided = end.ended in (Ended.ANSWERED, Ended.ESCALATED)
            return interrupted if self._interrupts.noted and not decided else end

    def _begin(self) -> None:
        setup = self._setup
        if setup.past is None:
            setup.transcript.begin(
                self._name, setup.task, setup.model.model_name, setup.context.workspace
            )
            self._tell(setup.task)
            return
        setup.reporter.noted("resumed")
        cut_off = not isinstance(self._messages[-1], ModelRequest)
        take_up(self._actor.runner, setup.words, interrupted=cut_off)
        if setup.followup or not isinstance(self._messages[-1], ModelRequest):
            plan = self._plan_text()
            self._tell("\n\n".join(filter(None, (setup.followup or RESUMED, plan))))

    def _turn(self) -> None:
        self._interrupts.check()
        exhausted = self._meter.exhausted()
        if exhausted is not None:
            raise _End(Ended.LIMIT, exhausted)
        if self._fruitless >= self._setup.limits.fruitless:
            raise _End(Ended.STUCK, f"{self._fruitless} turns in a row did nothing")
        if is_full(self._context, self._setup.limits.context_tokens):
            self._compact()
        reply = self._asked()
        self._keep(reply)
        self._interrupts.check()
        if reply.calls:
            self._act(reply)
        elif reply.cut_off or not reply.text.strip():
            self._fruitless += 1
            self._tell(CUT_OFF if reply.cut_off else self._emptied())
        else:
            self._finish(reply)

    def _asked(self) -> Reply:
        """An answer, if need be after a compaction; two in a row are one too many."""
        try:
            return self._ask_with_tools()
        except ContextFull:
            self._compact()
        try:
            return self._ask_with_tools()
        except ContextFull as error:
            raise _End(Ended.MODEL_FAILED, f"too long even when compacted: {error}") from error

    def _ask_with_tools(self) -> Reply:
        setup = self._setup
        try:
            return self._asker.ask(
                self._messages, setup.system_prompt, setup.tools, self._meter.left_s
            )
        except ModelGaveUp as error:
            ended = Ended.LIMIT if self._meter.left_s <= 0 else Ended.MODEL_FAILED
            raise _End(ended, str(error)) from error

    def _keep(self, reply: Reply) -> None:
        """On disk before anything is done: the answer was paid for, and its calls may be lost.

        An empty one is paid for too, but most APIs refuse to be sent it again.
        """
        said = [reply.message] if reply.calls or reply.text.strip() else []
        self._messages.extend(said)
        with self._interrupts.calmly():
            self._setup.transcript.add(LineKind.SAID, said, **_cost(reply))
        self._context = reply.tokens_in + reply.tokens_out
        self._meter.count(reply.tokens_in, reply.tokens_out, reply.usd)
        self._record_usage(reply)

    def _act(self, reply: Reply) -> None:
        before, failed_before = self._actor.calls, self._actor.failed
        results: list[ToolReturnPart] = []
        said = ""
        try:
            batch = self._actor.perform(reply.calls, results)
            executed = [o.call.shape for o in batch.outcomes if o.kind is OutcomeKind.EXECUTED]
            self._acted = self._acted or any(not shape.reads_only for shape in executed)
            said = self._said_of(batch)
        finally:
            made, failed = self._actor.calls - before, self._actor.failed - failed_before
            told = ModelRequest(parts=[*results, *([UserPromptPart(said)] if said else [])])
            self._messages.append(told)
            with self._interrupts.calmly():
                self._setup.transcript.add(
                    LineKind.TOLD,
                    [told],
                    calls=made,
                    failed_calls=failed,
                    notebook=self._setup.context.notebook.to_data(),
                    **_charges(self._charged),
                )
            self._charged.clear()
        if batch.ending is Ending.HALT:
            raise self._given_up(batch.response)
        self._count_fruitless(batch)

    def _count_fruitless(self, batch: BatchResult) -> None:
        """Nothing moved: nothing was made, or the same was tried again and failed again."""
        tried = [(o.call.tool, o.call.arguments) for o in batch.outcomes]
        again = tried == self._tried and not any(o.ok for o in batch.outcomes)
        self._tried = tried
        idle = again or all(o.is_error or o.kind in _MOVE_NOTHING for o in batch.outcomes)
        self._fruitless = self._fruitless + 1 if idle else 0

    def _said_of(self, batch: BatchResult) -> str:
        """What the model is told after the results: the one message, or what judging gave."""
        if batch.ending is Ending.VERIFY:
            self._setup.reporter.noted(f"judging: {batch.response}")
            self._acted = False
            return hand_over(self._setup.session, self._actor.runner, batch.response)
        return batch.steering.text if batch.steering is not None else ""

    def _emptied(self) -> str:
        """An answer without anything: a failure with a way on, and not for ever."""
        batch = self._actor.runner.answer("")
        if batch.ending is Ending.HALT:
            raise self._given_up(batch.response)
        return "\n".join((EMPTY_ANSWER, *(o.text for o in batch.outcomes if o.text)))

    def _given_up(self, why: str) -> _End:
        self._actor.runner.keeper.record(Abandoned(why))
        return _End(Ended.STUCK, why)

    def _comes_early(self, reply: Reply) -> bool:
        """Whether a final answer is answered with what is still missing; some times, not for ever.

        A plan has a gate that says so itself.
        """
        session, runner = self._setup.session, self._actor.runner
        planned = session is not None and session.has_plan
        batch = runner.answer(reply.text)
        if planned or batch.steering is None or self._early >= runner.looker.limits.repeats:
            return False
        self._early += 1
        self._tell(batch.steering.text)
        return True

    def _finish(self, reply: Reply) -> None:
        self._answer = reply.text
        session = self._setup.session
        if self._comes_early(reply):
            return
        if session is None:
            raise _End(Ended.ANSWERED, "answered; there is no plan, so nothing was proved")
        unmet: tuple[SessionMissing, ...] = ()
        if self._setup.batching.steering:
            why = "a final answer was given"
            unmet = what_does_not_hold(session, self._actor.runner, why, idle=not self._acted)
            self._acted = False
        dropped = dropped_of(self._actor.runner.keeper.definition)
        found = session.try_finish(reply.text, unmet=unmet, dropped=dropped)
        if found.decision is Decision.ACCEPTED:
            raise _End(Ended.ANSWERED, found.text)
        self._refused += 1
        if found.decision is Decision.ESCALATED:
            raise _End(Ended.ESCALATED, found.text)
        self._setup.reporter.noted(f"final answer refused: {found.text}")
        self._tell(found.text)

    def _compact(self) -> None:
        context_tokens = self._setup.limits.context_tokens
        self._setup.reporter.noted("the context is full: compacting the conversation")
        asked = summary_request(self._messages, context_tokens)
        facts: dict[str, float | int | None] = {}
        try:
            reply = self._asker.ask([asked], PLAIN_PROMPT, (), self._meter.left_s)
            summary = reply.text.strip() or bare_record(self._messages, context_tokens)
            facts = _cost(reply)
            self._meter.add(reply.tokens_in, reply.tokens_out, reply.usd)
            self._record_usage(reply)
        except (ModelGaveUp, ContextFull):
            # A model that cannot summarise can still go on from the end of the record.
            summary = bare_record(self._messages, context_tokens)
        plan = self._plan_text()
        self._messages = compacted(self._setup.task, summary, plan, self._messages, context_tokens)
        self._setup.transcript.add(LineKind.COMPACTED, self._messages, **facts)
        self._actor.runner.looker.forget()
        self._compactions += 1
        self._context = 0

    def _tell(self, text: str) -> None:
        told = ModelRequest(parts=[UserPromptPart(text)])
        self._messages.append(told)
        self._setup.transcript.add(LineKind.TOLD, [told])

    def _plan_text(self) -> str:
        session = self._setup.session
        return session.plan_show() if session is not None and session.has_plan else ""

    def _record_usage(self, reply: Reply) -> None:
        if self._setup.session is not None:
            tokens = reply.tokens_in + reply.tokens_out
            self._setup.session.record_usage(tokens, reply.usd or 0.0, self._setup.model.model_name)

    def _ended(self, end: _End) -> LoopReport:
        self._setup.transcript.end(end.ended, end.reason)
        meter = self._meter
        return LoopReport(
            session=self._name,
            ended=end.ended,
            reason=end.reason,
            answer=self._answer,
            turns=meter.turns,
            tokens_in=meter.tokens_in,
            tokens_out=meter.tokens_out,
            usd=meter.usd if meter.priced else None,
            calls=self._actor.calls,
            failed_calls=self._actor.failed,
            refused=self._refused,
            retries=self._asker.retries,
            compactions=self._compactions,
            transcript=self._setup.transcript.path,
        )

    @property
    def _name(self) -> str:
        session = self._setup.session
        return self._setup.name if session is None else session.id

    def _bounded(self, context: ToolContext) -> ToolContext:
        """A command ends with the time of the session, and with an interrupt that got lost."""
        interrupts, meter = self._interrupts, self._meter
        shell = replace(context.shell, cancelled=lambda: interrupts.noted or meter.left_s <= 0)
        return replace(context, shell=shell)


def _cost(reply: Reply) -> dict[str, float | int | None]:
    return {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "usd": reply.usd}


def _charges(charged: Sequence[Charge]) -> dict[str, float | int | None]:
    if not charged:
        return {}
    prices = [used.usd for used in charged]
    return {
        "turns": sum(used.turns for used in charged),
        "tokens_in": sum(used.tokens_in for used in charged),
        "tokens_out": sum(used.tokens_out for used in charged),
        "usd": None if None in prices else sum(price or 0.0 for price in prices),
    }


def _by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    named: dict[str, Tool] = {}
    for tool in tools:
        if tool.name in named:
            raise UsageError(f"two tools are called `{tool.name}`", "rename one: @tool(name=…)")
        named[tool.name] = tool
    return named


def _refuse_inside_a_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        "the agent loop cannot run inside a running event loop",
        "call it in a thread: await asyncio.to_thread(run_agent, …)",
    )
