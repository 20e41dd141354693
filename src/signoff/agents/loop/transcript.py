"""The conversation with a model and its durable record: on disk before the next act."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from signoff.agents.loop.asking import Reply
from signoff.agents.loop.limits import Charge
from signoff.errors import TranscriptUnusable
from signoff.storage.files import append_lines
from signoff.toolbatch.pipeline import NOT_FINISHED

SCHEMA_VERSION = 1
Facts = dict[str, float | int | None]


class LineKind(StrEnum):
    """What a line records. Stored words."""

    BEGUN = "begun"
    SAID = "said"  # by the model
    TOLD = "told"  # to the model: the task, results of calls, what is missing
    COMPACTED = "compacted"  # the messages that stand for everything before
    ENDED = "ended"


@dataclass
class Past:
    """What a transcript tells about the sittings before."""

    task: str = ""
    workspace: str = ""
    messages: list[ModelMessage] = field(default_factory=list)
    turns: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    priced: bool = True
    calls: int = 0
    failed_calls: int = 0
    compactions: int = 0
    notebook: Mapping[str, Any] | None = None
    ended: str = ""


@dataclass(frozen=True)
class Transcript:
    """An append-only file; without a path nothing is kept."""

    path: Path | None

    @property
    def is_begun(self) -> bool:
        """Whether there is anything to go on from."""
        return self.path is not None and self.path.is_file()

    def begin(self, session: str, task: str, model: str, workspace: Path) -> None:
        """The first line."""
        self._append(
            LineKind.BEGUN,
            schema_version=SCHEMA_VERSION,
            session=session,
            task=task,
            model=model,
            workspace=str(workspace),
        )

    def add(self, kind: LineKind, messages: Sequence[ModelMessage], **facts: Any) -> None:
        """Messages, and what else must outlast the process."""
        self._append(kind, messages=_dumped(messages), **facts)

    def end(self, ended: str, reason: str) -> None:
        """Why the loop stopped, for whoever reads the file; it may be resumed all the same."""
        self._append(LineKind.ENDED, ended=ended, reason=reason)

    def read(self) -> Past:
        """Everything that was kept, with calls that never gave a result answered as such."""
        past = Past()
        for number, line in self._lines():
            try:
                _apply(past, line)
            except (KeyError, TypeError, ValueError) as error:
                raise TranscriptUnusable(
                    f"line {number} of the transcript `{self.path}` cannot be used: {error}"
                ) from error
        past.messages.extend(_unanswered(past.messages))
        return past

    def _append(self, kind: LineKind, **facts: Any) -> None:
        if self.path is not None:
            append_lines(self.path, json.dumps({"kind": kind, **facts}, ensure_ascii=True))

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        if self.path is None or not self.path.is_file():
            raise TranscriptUnusable(f"no transcript at `{self.path}`")
        for number, text in enumerate(self.path.read_text("utf-8", "replace").split("\n"), 1):
            try:
                line = json.loads(text)
            except ValueError:
                # Torn by a power cut: it was never acknowledged, and the next one closed it.
                continue
            if isinstance(line, dict):
                yield number, line


def _apply(past: Past, line: Mapping[str, Any]) -> None:
    kind = LineKind(line["kind"])
    if kind is LineKind.BEGUN:
        if line["schema_version"] > SCHEMA_VERSION:
            raise ValueError("it was written by a newer signoff")
        past.task, past.workspace = str(line["task"]), str(line["workspace"])
        return
    if kind is LineKind.ENDED:
        past.ended = str(line["ended"])
        return
    messages = ModelMessagesTypeAdapter.validate_python(line["messages"])
    if kind is LineKind.COMPACTED:
        past.messages = list(messages)
        past.compactions += 1
    else:
        past.messages.extend(messages)
    past.turns += (kind is LineKind.SAID) + int(line.get("turns", 0))
    past.tokens_in += int(line.get("tokens_in", 0))
    past.tokens_out += int(line.get("tokens_out", 0))
    if "usd" in line:
        past.usd += line["usd"] or 0.0
        past.priced = past.priced and line["usd"] is not None
    past.calls += int(line.get("calls", 0))
    past.failed_calls += int(line.get("failed_calls", 0))
    past.notebook = line.get("notebook", past.notebook)


def _unanswered(messages: Sequence[ModelMessage]) -> Iterator[ModelRequest]:
    """Every API refuses a call without a result, so calls cut off by a stop are answered."""
    if not messages or not isinstance(messages[-1], ModelResponse):
        return
    calls = [part for part in messages[-1].parts if isinstance(part, ToolCallPart)]
    if calls:
        yield ModelRequest(
            parts=[ToolReturnPart(c.tool_name, NOT_FINISHED, c.tool_call_id) for c in calls]
        )


def _dumped(messages: Sequence[ModelMessage]) -> Any:
    return ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")


class Conversation:
    """Messages in memory and on the transcript; `calmly` keeps a line from being half written."""

    def __init__(
        self, transcript: Transcript, past: Past, calmly: Callable[[], AbstractContextManager[None]]
    ):
        self.messages: list[ModelMessage] = list(past.messages)
        self.compactions = past.compactions
        self.context_tokens = 0  # of the latest answer: how full the model's context is
        self._transcript = transcript
        self._calmly = calmly

    @property
    def waits_for_model(self) -> bool:
        """Whether the last word was said to the model."""
        return isinstance(self.messages[-1], ModelRequest)

    def keep(self, reply: Reply) -> None:
        """On disk before anything is done: the answer was paid for, and its calls may be lost.

        An empty one is paid for too, but most APIs refuse to be sent it again.
        """
        said = [reply.message] if reply.calls or reply.text.strip() else []
        self.messages.extend(said)
        with self._calmly():
            self._transcript.add(LineKind.SAID, said, **cost_of(reply))
        self.context_tokens = reply.tokens_in + reply.tokens_out

    def tell(self, text: str) -> None:
        """Something that is no result."""
        told = ModelRequest(parts=[UserPromptPart(text)])
        self.messages.append(told)
        self._transcript.add(LineKind.TOLD, [told])

    def tell_results(self, results: Sequence[ToolReturnPart], said: str, **facts: Any) -> None:
        """What calls gave, and what is said about them."""
        told = ModelRequest(parts=[*results, *([UserPromptPart(said)] if said else [])])
        self.messages.append(told)
        with self._calmly():
            self._transcript.add(LineKind.TOLD, [told], **facts)

    def begin_anew(self, messages: list[ModelMessage], facts: Facts) -> None:
        """These stand for everything before, from now on."""
        self.messages = messages
        self._transcript.add(LineKind.COMPACTED, messages, **facts)
        self.compactions += 1
        self.context_tokens = 0


def cost_of(reply: Reply) -> Facts:
    """What an answer took, as the transcript has it."""
    return {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "usd": reply.usd}


def charges(charged: Sequence[Charge]) -> Facts:
    """What children and second models took during a call, as the transcript has it."""
    if not charged:
        return {}
    prices = [used.usd for used in charged]
    return {
        "turns": sum(used.turns for used in charged),
        "tokens_in": sum(used.tokens_in for used in charged),
        "tokens_out": sum(used.tokens_out for used in charged),
        "usd": None if None in prices else sum(price or 0.0 for price in prices),
    }
