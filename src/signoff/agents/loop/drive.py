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
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace
from pydantic_ai.messages import ToolReturnPart

from signoff.agents.loop.acting import Actor, LoopSetup, asking_confidence
from signoff.agents.loop.asking import Asker, ContextFull, ModelGaveUp, ModelReply
from signoff.agents.loop.interrupting import Interrupts
from signoff.agents.loop.limits import End, Ended, LoopLimits, LoopReport, Meter, Used
from signoff.agents.loop.prompts import CUT_OFF, EMPTY_ANSWER, PLAIN_PROMPT, RESUMED
from signoff.agents.loop.transcript import Conversation, Past
from signoff.domain.session import Decision
from signoff.toolbatch.calls import ResultKind
from signoff.toolbatch.opening import take_up
from signoff.toolbatch.pipeline import BatchEnding

_MOVE_NOTHING = frozenset({ResultKind.BLOCKED, ResultKind.DUPLICATE})


class AgentLoop:
    """One period of work on one session; `run` returns however it ends."""

    def __init__(self, setup: LoopSetup, runner: asyncio.Runner | None = None):
        self._setup = setup
        self._runner = runner or asyncio.Runner()
        self._own_runner = runner is None
        self._interrupts = Interrupts.in_force()
        past, reporter = setup.past or Past(), setup.reporter
        self._talk = Conversation(setup.transcript, past, self._interrupts.calmly)
        self._meter = Meter(setup.limits, past.used)
        if past.notebook is not None:
            setup.context.notebook.load(past.notebook)
        run = partial(self._interrupts.run, self._runner)
        self._asker = Asker(setup.model, run, setup.limits, reporter.said, reporter.noted)
        # A command ends with the time of the session, and with an interrupt that got lost.
        interrupts, meter = self._interrupts, self._meter
        stopped = lambda: interrupts.noted or meter.left_s <= 0  # noqa: E731 - asked all the time
        shell = replace(setup.context.shell, cancelled=stopped)
        bounded = replace(setup.context, shell=shell)
        self._actor = Actor(setup, bounded, calls=past.calls, failed=past.failed_calls)
        self._batches = self._actor.runner
        if setup.session is not None:
            self._batches.state.open_steps = setup.session.open_steps
        self._tried: list[tuple[str, Mapping[str, Any]]] = []
        self._fruitless = 0
        self._answer = ""  # the last final answer
        self._refused = 0
        self._early = 0  # final answers that came before what the task names was there
        self._charged: list[Used] = []

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
        """Turns and time that are left, for a child that runs inside one of our calls."""
        limits = self._setup.limits
        turns = None if limits.turns is None else max(0, limits.turns - self._meter.used.turns)
        wall_s = None if limits.wall_s is None else max(0.0, self._meter.left_s)
        return replace(limits, turns=turns, wall_s=wall_s)

    def charge(self, used: Used) -> None:
        """Count the usage of a child or a second model here too, and keep it with the call."""
        self._meter.used += used
        self._setup.on_used(self._meter.used)
        self._charged.append(used)

    def _until_its_end(self) -> End:
        interrupted = End(Ended.INTERRUPTED, "interrupted; the session can be resumed")
        try:
            self._begin()
            while True:
                self._turn()
        except KeyboardInterrupt:
            return interrupted
        except End as end:
            # A command that was stopped by Ctrl-C can look like one that ran out of time.
            decided = end.ended in (Ended.ANSWERED, Ended.ESCALATED)
            return interrupted if self._interrupts.noted and not decided else end

    def _begin(self) -> None:
        setup = self._setup
        if setup.past is None:
            setup.transcript.begin(
                setup.session_name, setup.task, setup.model.model_name, setup.context.workspace
            )
            self._talk.tell(setup.task)
            return
        setup.reporter.noted("resumed")
        cut_off = not self._talk.waits_for_model
        take_up(self._batches, setup.words, interrupted=cut_off)
        if setup.followup or cut_off:
            plan = self._plan_text()
            self._talk.tell("\n\n".join(filter(None, (setup.followup or RESUMED, plan))))

    def _turn(self) -> None:
        self._interrupts.check()
        limits = self._setup.limits
        exhausted = self._meter.exhausted()
        if exhausted is not None:
            raise End(Ended.LIMIT, exhausted)
        if self._fruitless >= limits.fruitless:
            raise End(Ended.STUCK, f"{self._fruitless} turns in a row did nothing")
        if self._talk.is_full(limits.context_tokens):
            self._compact()
        reply = self._asked()
        self._talk.keep(reply)
        self._count(reply.used + Used(turns=1))
        self._interrupts.check()
        if reply.message.tool_calls:
            self._act(reply)
        elif reply.message.finish_reason == "length":
            self._fruitless += 1
            self._talk.tell(CUT_OFF)
        elif not reply.text.strip():
            # A failure with a way on, and not for ever.
            self._fruitless += 1
            batch = self._batches.answer("")
            if batch.ending is BatchEnding.HALT:
                raise End(Ended.STUCK, batch.response)
            said = (o.text for o in batch.results if o.text)
            self._talk.tell("\n".join((EMPTY_ANSWER, *said)))
        else:
            self._talk.tell(self._finish(reply.text))

    def _asked(self) -> ModelReply:
        """An answer, if need be after a compaction; two in a row are one too many."""
        setup = self._setup
        tools = asking_confidence(setup.tools) if setup.confidence else setup.tools
        compacted = False
        while True:
            messages, left_s = self._talk.messages, self._meter.left_s
            try:
                return self._asker.ask(messages, setup.system_prompt, tools, left_s)
            except ModelGaveUp as error:
                ended = Ended.LIMIT if self._meter.left_s <= 0 else Ended.MODEL_FAILED
                raise End(ended, str(error)) from error
            except ContextFull as error:
                if compacted:
                    said = f"too long even when compacted: {error}"
                    raise End(Ended.MODEL_FAILED, said) from error
            self._compact()
            compacted = True

    def _count(self, used: Used) -> None:
        self._meter.used += used
        self._setup.on_used(self._meter.used)
        if self._setup.session is not None:
            model = self._setup.model.model_name
            self._setup.session.record_usage(used.tokens, used.usd or 0.0, model)

    def _act(self, reply: ModelReply) -> None:
        """Make the calls; what they gave is told and kept even when this is interrupted."""
        before, failed_before = self._actor.calls, self._actor.failed
        results: list[ToolReturnPart] = []
        said = ""
        try:
            batch = self._actor.perform(reply.message.tool_calls, results)
            said = batch.steering.text if batch.steering is not None else ""
        finally:
            self._talk.tell_results(
                results,
                said,
                calls=self._actor.calls - before,
                failed_calls=self._actor.failed - failed_before,
                notebook=self._setup.context.notebook.to_data(),
                **(sum(self._charged, Used()).to_data() if self._charged else {}),
            )
            self._charged.clear()
        if batch.ending is BatchEnding.HALT:
            raise End(Ended.STUCK, batch.response)
        # Nothing moved: nothing was made, or the same was tried again and failed again.
        tried = [(o.call.tool, o.call.arguments) for o in batch.results]
        again = tried == self._tried and not any(o.ok for o in batch.results)
        self._tried = tried
        idle = again or all(o.is_error or o.kind in _MOVE_NOTHING for o in batch.results)
        self._fruitless = self._fruitless + 1 if idle else 0

    def _finish(self, text: str) -> str:
        """The reply to the model's final answer; End when it is the last one."""
        self._answer = text
        session = self._setup.session
        early = self._batches.answer(text).steering
        # A plan that somebody wrote has a gate that says what is missing itself.
        planned = session is not None and session.has_own_plan
        if early is not None and not planned and self._early < self._batches.state.limits.repeats:
            self._early += 1
            return early.text
        if session is None:
            raise End(Ended.ANSWERED, "answered; there is no plan, so nothing was proved")
        if self._setup.parts.steering:
            self._batches.judge()
        found = session.try_finish(text)
        if found.decision is Decision.ACCEPTED:
            raise End(Ended.ANSWERED, found.text)
        self._refused += 1
        if found.decision is Decision.ESCALATED:
            raise End(Ended.ESCALATED, found.text)
        self._setup.reporter.noted(f"final answer refused: {found.text}")
        return found.text

    def _compact(self) -> None:
        room, used = self._setup.limits.context_tokens, Used()
        self._setup.reporter.noted("the context is full: compacting the conversation")
        # A model that cannot summarise can still go on from the end of the record.
        summary = self._talk.bare_record(room)
        try:
            asked = self._talk.summary_request(room)
            reply = self._asker.ask([asked], PLAIN_PROMPT, (), self._meter.left_s)
        except (ModelGaveUp, ContextFull):
            pass
        else:
            summary, used = reply.text.strip() or summary, reply.used
            self._count(used)
        self._talk.begin_anew(self._setup.task, summary, self._plan_text(), room, used)
        self._batches.state.forget()

    def _plan_text(self) -> str:
        session = self._setup.session
        return session.plan_show() if session is not None and session.has_plan else ""

    def _ended(self, end: End) -> LoopReport:
        self._setup.transcript.end(end.ended, end.reason)
        return LoopReport(
            **to_builtins(self._meter.used),
            session=self._setup.session_name,
            ended=end.ended,
            reason=end.reason,
            answer=self._answer,
            calls=self._actor.calls,
            failed_calls=self._actor.failed,
            refused=self._refused,
            retries=self._asker.retries,
            compactions=self._talk.compactions,
            transcript=self._setup.transcript.path,
        )
