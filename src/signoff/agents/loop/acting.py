"""The calls of one answer, made by the tool-batch runtime; each recorded with what it touched."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model

from signoff.agents.loop.limits import LoopLimits, Used
from signoff.agents.loop.prompts import PLAIN_PROMPT, SYSTEM_PROMPT
from signoff.agents.loop.transcript import Past, Transcript, result_of
from signoff.agents.session import PlanSession
from signoff.agents.tools.context import Files, ToolContext, ToolError
from signoff.agents.tools.definition import Tool
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.domain.digests import digest_bytes
from signoff.domain.session import PLAN_TOOL_NAMES, Reference, ReferenceKind, ToolCall
from signoff.domain.text import escape_line, shown_list
from signoff.errors import UsageError
from signoff.toolbatch.calls import (
    STANDARD_SHAPES,
    Call,
    CallResult,
    Event,
    Nature,
    ResultKind,
    Steered,
    Stream,
    Subscriber,
    TimelineNoted,
    ToolCalled,
    ToolResulted,
    ToolShape,
    propose,
)
from signoff.toolbatch.disk import MOST_NAMES, WorkspaceFolder
from signoff.toolbatch.opening import Parts, open_runner
from signoff.toolbatch.pipeline import NOT_FINISHED, BatchResult

_PLAN, _OTHER = ToolShape(Nature.PLAN), ToolShape(Nature.OTHER)
MOST_CALLS = 50  # in one answer; what is more is refused, not lost
_SHORT_DIGEST = 16
_MOST_CITED = 5
_STARTS_PROCESSES = frozenset({"grep"})  # looks that must not run beside each other
_MAY_CHANGE = frozenset({Nature.MUTATE, Nature.SHELL, Nature.OTHER})
_DECLINED = "the user said no to this call. Go on without it, or ask what they want instead"
CONFIDENCE = "confidence"  # the argument in which a model says how sure it is, from 0 to 1
_UNSAID = "you do not say how sure you are of it"
Confirm = Callable[[str, str], bool]  # name and arguments of a call → whether it may be made


def asking_confidence(tools: Sequence[Tool]) -> list[Tool]:
    """The tools with one argument more where they may change something: how sure the model is."""
    shapes = _shapes_of({tool.name: tool for tool in tools})
    said = {"type": "number", "description": "how sure you are that this is right, from 0 to 1"}
    asked = []
    for tool in tools:
        own = tool.parameters
        more = {
            **own,
            "properties": {**own.get("properties", {}), CONFIDENCE: said},
            "required": [*own.get("required", ()), CONFIDENCE],
        }
        changes = shapes[tool.name].nature in _MAY_CHANGE
        asked.append(replace(tool, parameters=more) if changes else tool)
    return asked


def _shapes_of(tools: Mapping[str, Tool]) -> dict[str, ToolShape]:
    """Shapes of the tools; of one that we did not write, nothing is assumed."""
    standard = {id(tool) for tool in STANDARD_TOOLS}
    ours = {n: STANDARD_SHAPES.get(n, _OTHER) for n, tool in tools.items() if id(tool) in standard}
    return {name: _PLAN if name in PLAN_TOOL_NAMES else _OTHER for name in tools} | ours


class ToolDisk(WorkspaceFolder, frozen=True):
    """The workspace as the tools may see it: what they may not read does not exist here."""

    files: Files

    def read(self, path: str) -> bytes | None:
        """A regular file of reasonable size; None for anything else."""
        try:
            return self.files.read(path).data
        except ToolError:
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted, as far as they may be seen."""
        try:
            top = self.files.to_read(folder or ".")
            with os.scandir(top) as found:
                names = [e.name for e, _ in zip(found, range(MOST_NAMES), strict=False)]
        except (ToolError, OSError):
            return ()
        return tuple(sorted(name for name in names if self.files.is_open(top / name)))

    def exists(self, path: str) -> bool:
        """True when anything is there that may be seen."""
        try:
            return self.files.to_read(path).exists()
        except (ToolError, OSError):
            return False

    def shown(self, path: str) -> str:
        """A path as reports name it, links followed; as the model wrote it where that fails."""
        try:
            return self.files.shown(self.files.to_read(path))
        except ToolError:
            return path


class LoopReporter(Protocol):
    """Receives the events of a loop while they happen."""

    def said(self, chunk: str) -> None:
        """The model said a piece of its answer."""

    def called(self, name: str, arguments: str) -> None:
        """The model calls a tool."""

    def returned(self, name: str, result: CallResult) -> None:
        """The tool gave a result."""

    def noted(self, text: str) -> None:
        """The harness did something: a retry, a refusal, a compaction."""


class Silent(LoopReporter):
    """Tells nobody."""


class LoopSetup(Struct, frozen=True):
    """Everything a loop is made of; without a session there is no plan and no gate."""

    task: str
    model: Model
    tools: Sequence[Tool]
    context: ToolContext
    session: PlanSession | None = None
    name: str = ""  # of the session, where there is none in the ledger
    on_used: Callable[[Used], None] = lambda _: None  # told all that was used, after each answer
    system: str | None = None  # in place of our own system prompt
    limits: LoopLimits = field(default_factory=LoopLimits)
    transcript: Transcript = field(default_factory=lambda: Transcript(None))
    reporter: LoopReporter = field(default_factory=Silent)
    past: Past | None = None  # of a session that is resumed
    followup: str = ""  # what the model is told when it is resumed
    words: str = ""  # of it, what the person says
    parts: Parts = field(default_factory=Parts)  # of the runtime that runs its calls
    confidence: float = 0.0  # below which a call that may change something is not made
    subscribers: tuple[Subscriber, ...] = ()  # told what the runtime does
    confirm: Confirm | None = None  # asked before every call that may change something

    @property
    def system_prompt(self) -> str:
        if self.system is not None:
            return self.system
        return PLAIN_PROMPT if self.session is None else SYSTEM_PROMPT

    @property
    def session_name(self) -> str:
        """Name of the session in reports and the transcript."""
        return self.name if self.session is None else self.session.id


class Actor:
    """Performs calls for a model; counts them, and goes on counting in a resumed session."""

    def __init__(self, setup: LoopSetup, context: ToolContext, calls: int = 0, failed: int = 0):
        self.calls, self.failed = calls, failed
        self._setup, self._context, self._session = setup, context, setup.session
        self._tools = {tool.name: tool for tool in setup.tools}
        if len(self._tools) < len(setup.tools):
            (twice, _), *_ = Counter(tool.name for tool in setup.tools).most_common(1)
            raise UsageError(f"two tools are called `{twice}`", "rename one: @tool(name=…)")
        self._sure: dict[str, Any] = {}  # what the model said of each call
        self._alone = threading.Lock()
        self._notes = dict(context.notebook.scratchpad)
        self._disk = ToolDisk(context.workspace, context.files)
        self.runner = open_runner(
            context.workspace,
            self._execute,
            setup.task,
            stream=Stream(self._hear, *setup.subscribers),
            parts=replace(
                setup.parts,
                tools=self._tools,
                shapes=_shapes_of(self._tools),
                disk=self._disk,
                record=self._record,
                confidence=self._doubt if setup.confidence else None,
            ),
        )

    def perform(self, calls: Sequence[ToolCallPart], results: list[ToolReturnPart]) -> BatchResult:
        """Make every call and add its result; the list is right even when this is interrupted."""
        few, made = calls[:MOST_CALLS], list[CallResult]()
        # What a tool was about to be told is what the model is told of it, interrupted or not.
        self._notes = dict(self._context.notebook.scratchpad)
        try:
            return self.runner.run([self._proposed(call) for call in few], made)
        finally:
            texts = [result.text for result in made]
            texts += [NOT_FINISHED] * (len(few) - len(texts))
            results += [result_of(call, text) for call, text in zip(few, texts, strict=True)]
            too_many = f"error: one answer may make {MOST_CALLS} calls; make this one again"
            results += [result_of(call, too_many) for call in calls[MOST_CALLS:]]

    def _proposed(self, call: ToolCallPart) -> Call:
        proposed = propose(
            call.tool_call_id,
            escape_line(call.tool_name),
            call.args or {},
            root=self._context.workspace,
            shapes=self.runner.state.shapes,
            named=self._disk.shown,
        )
        if not self._setup.confidence or proposed.shape.nature not in _MAY_CHANGE:
            return proposed
        given = dict(proposed.arguments)
        self._sure[proposed.id] = given.pop(CONFIDENCE, None)
        return replace(proposed, arguments=given)

    def _doubt(self, call: Call) -> str | None:
        """The reason why a call is not made: the model is less sure of it than the user wants."""
        wanted = self._setup.confidence
        sure = self._sure.pop(call.id, 1.0)
        if isinstance(sure, int | float) and sure >= wanted:
            return None
        said = f"you are {sure:g} sure of it" if isinstance(sure, int | float) else _UNSAID
        return f"{said}, and {wanted:g} is asked for: look first, then send it with `{CONFIDENCE}`"

    def _execute(self, call: Call) -> CallResult:
        """One call of a tool; looks come from several threads."""
        confirm = self._setup.confirm if call.shape.nature in _MAY_CHANGE else None
        if confirm is not None and not confirm(call.tool, _json(call.arguments)):
            return CallResult(_DECLINED, ok=False, kind=ResultKind.DECLINED)
        tool = self._tools.get(call.tool)
        if tool is None:
            known = shown_list(self._tools, len(self._tools))
            return CallResult(
                f"error: there is no tool `{call.tool}`; there are: {known}", ok=False
            )
        with self._alone if call.tool in _STARTS_PROCESSES else nullcontext():
            return tool.call(call.arguments, self._context)

    def _record(self, call: Call, result: CallResult) -> CallResult:
        """Record the call in the session, in order; the model is told how to cite it."""
        self.calls += 1
        if self._session is None or call.tool in PLAN_TOOL_NAMES:
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
            called_at=datetime.now(UTC).isoformat(),
            says_no=result.says_no,
            delegated=call.tool in self._tools and self._tools[call.tool].delegates,
        )
        id = self._session.record_call(seen)
        for key, text in self._context.notebook.scratchpad.items():
            if self._notes.get(key) != text:
                self._session.note_scratchpad(key, text)
        self._notes = dict(self._context.notebook.scratchpad)
        strayed = self._session.note_mutation(tuple(result.writes), id) if result.writes else ""
        cited = _citation(id, result) if seen.ok and seen.can_prove and not seen.says_no else ""
        text = "\n".join(filter(None, (result.text, strayed, cited)))
        return replace(result, text=text)

    def _hear(self, event: Event) -> None:
        if isinstance(event, ToolCalled):
            self._setup.reporter.called(event.call.tool, _json(event.call.arguments))
        elif isinstance(event, ToolResulted):
            result = event.result
            # Nothing was made, so nothing was recorded.
            self.calls += result.kind in (ResultKind.BLOCKED, ResultKind.DUPLICATE)
            self.failed += not result.ok
            self._setup.reporter.returned(result.call.tool, result)
        elif isinstance(event, Steered):
            self._setup.reporter.noted(f"{event.rule}: {event.text}")
        elif isinstance(event, TimelineNoted) and event.reason == "no_check":
            self._setup.reporter.noted(f"no check: {event.text}")


def _citation(id: str, result: CallResult) -> str:
    """Evidence reference for this call; models are not told the ids of their calls otherwise."""
    files = [(p, d) for p, d in {**result.reads, **result.writes}.items() if d]
    named = [
        str(Reference(ReferenceKind.FILE, path, digest[:_SHORT_DIGEST]))
        for path, digest in files[:_MOST_CITED]
    ]
    return f"[evidence: {', '.join((f'tool:{id}', *named))}]"


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=str)
