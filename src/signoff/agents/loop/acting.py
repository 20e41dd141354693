"""The calls of one answer, made by the tool-batch runtime; each recorded with what it touched."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from signoff.agents.loop.batching import Batching, named_by, open_batches
from signoff.agents.tools.context import ToolContext, Trace
from signoff.agents.tools.definition import Tool, ToolOutcome
from signoff.domain.digests import digest_bytes
from signoff.domain.session import PLAN_TOOL_NAMES, Reference, ReferenceKind, ToolCall
from signoff.domain.text import escape_line
from signoff.toolbatch.calls import Call, Nature, Outcome, Result, propose
from signoff.toolbatch.events import Event, Steered, ToolCalled, ToolResulted
from signoff.toolbatch.executing import NOT_FINISHED
from signoff.toolbatch.pipeline import BatchResult

MOST_CALLS = 50  # in one answer; what is more is refused, not lost
_SHORT_DIGEST = 16
_MOST_CITED = 5
_STARTS_PROCESSES = frozenset({"grep"})  # looks that must not run beside each other
_MAY_CHANGE = frozenset({Nature.MUTATE, Nature.SHELL, Nature.OTHER})
_DECLINED = "the user said no to this call. Go on without it, or ask what they want instead"


class Records(Protocol):
    """What the loop tells a session about calls."""

    def record_call(self, call: ToolCall) -> str:
        """Keep it; the id by which evidence can cite it."""

    def note_mutation(self, paths: Sequence[str], call_id: str = "") -> str:
        """Compare changed files with the step in progress; text for the model, or nothing."""

    def note_scratchpad(self, key: str, text: str) -> None:
        """Remember a note, so that evidence can cite it."""


OnCall = Callable[[str, str], None]
OnResult = Callable[[str, ToolOutcome], None]
OnSteered = Callable[[str], None]
Confirm = Callable[[str, str], bool]  # name and arguments of a call → whether it may be made


def _nothing(_text: str) -> None:
    """Nobody is told."""


@dataclass
class Actor:
    """Performs calls for a model; counts them, and goes on counting in a resumed session."""

    tools: Mapping[str, Tool]
    context: ToolContext
    session: Records | None
    on_call: OnCall
    on_result: OnResult
    calls: int = 0
    failed: int = 0
    task: str = ""
    batching: Batching = field(default_factory=Batching)
    on_steered: OnSteered = _nothing
    confirm: Confirm | None = None  # asked before every call that may change something

    def __post_init__(self) -> None:
        self._alone = threading.Lock()
        self._notes = dict(self.context.notebook.scratchpad)
        self.runner = open_batches(
            self.task,
            self.tools,
            self.context,
            self.batching,
            self._execute,
            self._record,
            (self._hear,),
        )

    def perform(self, calls: Sequence[ToolCallPart], results: list[ToolReturnPart]) -> BatchResult:
        """Make every call and add its result; the list is right even when this is interrupted."""
        few, outcomes = calls[:MOST_CALLS], list[Outcome]()
        # What a tool was about to be told is what the model is told of it, interrupted or not.
        self._notes = dict(self.context.notebook.scratchpad)
        try:
            return self.runner.run([self._proposed(call) for call in few], outcomes)
        finally:
            texts = [outcome.text for outcome in outcomes]
            texts += [NOT_FINISHED] * (len(few) - len(texts))
            results += [_result(call, text) for call, text in zip(few, texts, strict=True)]
            too_many = f"error: one answer may make {MOST_CALLS} calls; make this one again"
            results += [_result(call, too_many) for call in calls[MOST_CALLS:]]

    def _proposed(self, call: ToolCallPart) -> Call:
        return propose(
            call.tool_call_id,
            escape_line(call.tool_name),
            call.args or {},
            root=self.context.workspace,
            shapes=self.runner.looker.shapes,
            named=partial(named_by, self.context.files),
        )

    def _execute(self, call: Call) -> Result:
        """One call of a tool; looks come from several threads."""
        if not self._confirmed(call):
            return Result(_DECLINED, ok=False, declined=True)
        if call.tool in _STARTS_PROCESSES:
            with self._alone:
                return _as_result(self._outcome(call))
        return _as_result(self._outcome(call))

    def _confirmed(self, call: Call) -> bool:
        if self.confirm is None or call.shape.nature not in _MAY_CHANGE:
            return True
        return self.confirm(call.tool, _json(call.arguments))

    def _outcome(self, call: Call) -> ToolOutcome:
        tool = self.tools.get(call.tool)
        if tool is None:
            known = ", ".join(f"`{known}`" for known in self.tools)
            text = f"error: there is no tool `{call.tool}`; there are: {known}"
            return ToolOutcome(text, ok=False)
        return tool.call(call.arguments, self.context)

    def _record(self, call: Call, result: Result) -> Result:
        """In the session, in the order of the calls; the model is told how to cite it."""
        self.calls += 1
        if self.session is None or call.tool in PLAN_TOOL_NAMES:
            return result
        seen = ToolCall(
            id=f"c{self.calls}",
            name=call.tool,
            ok=result.ok,
            reads=dict(result.reads),
            writes=dict(result.writes),
            output_sha256=digest_bytes(result.text.encode()),
            touched=(*result.writes, *result.touched),
            content=result.content,
            at=datetime.now(UTC).isoformat(),
        )
        id = self.session.record_call(seen)
        for key, text in self.context.notebook.scratchpad.items():
            if self._notes.get(key) != text:
                self.session.note_scratchpad(key, text)
        self._notes = dict(self.context.notebook.scratchpad)
        strayed = self.session.note_mutation(tuple(result.writes), id) if result.writes else ""
        cited = _citation(id, result) if seen.ok and seen.can_prove else ""
        text = "\n".join(filter(None, (result.text, strayed, cited)))
        return replace(result, text=text)

    def _hear(self, event: Event) -> None:
        if isinstance(event, ToolCalled):
            self.on_call(event.call.tool, _json(event.call.arguments))
        elif isinstance(event, ToolResulted):
            outcome, result = event.outcome, event.outcome.result
            self.calls += result is None  # nothing was made, so nothing was recorded
            self.failed += not outcome.ok
            trace = Trace() if result is None else Trace(dict(result.reads), dict(result.writes))
            self.on_result(outcome.call.tool, ToolOutcome(outcome.text, outcome.ok, trace))
        elif isinstance(event, Steered):
            self.on_steered(f"{event.rule}: {event.text}")


def _as_result(outcome: ToolOutcome) -> Result:
    trace = outcome.trace
    return Result(
        outcome.text,
        outcome.ok,
        trace.reads,
        trace.writes,
        trace.content,
        touched=trace.touched,
        exit_code=trace.exit_code,
    )


def _citation(id: str, result: Result) -> str:
    """How evidence can point at this call; models are not told the ids of their calls otherwise."""
    files = [(p, d) for p, d in {**result.reads, **result.writes}.items() if d]
    named = [
        str(Reference(ReferenceKind.FILE, path, digest[:_SHORT_DIGEST]))
        for path, digest in files[:_MOST_CITED]
    ]
    return f"[evidence: {', '.join((f'tool:{id}', *named))}]"


def _result(call: ToolCallPart, text: str) -> ToolReturnPart:
    """Failures are text as well: marked as failed, some providers get them wrapped in JSON."""
    return ToolReturnPart(call.tool_name, text, call.tool_call_id)


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=str)
