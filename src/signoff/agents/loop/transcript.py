"""The conversation with a model and its durable record: on disk before the next act.

When the context fills, it becomes a summary; plan and evidence live elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from signoff.agents.loop.asking import ModelReply, text_size
from signoff.agents.loop.limits import CHARACTERS_A_TOKEN, Used
from signoff.agents.loop.prompts import AFTER_COMPACTION, SUMMARY_REQUEST
from signoff.domain.text import tail
from signoff.errors import TranscriptUnusable
from signoff.storage.files import append_lines
from signoff.toolbatch.pipeline import NOT_FINISHED

SCHEMA_VERSION = 1
FULL_AT = 0.8  # of the model's context; the rest is for the answer
RECORD_SHARE = 0.4  # of the context, for the record that is summarised
KEPT_SHARE = 0.2  # of the context, for the latest exchange that is kept word by word
LONGEST_PIECE = 1_500


class TranscriptKind(StrEnum):
    """Kinds of lines. Stored words."""

    BEGUN = "begun"
    SAID = "said"  # by the model
    TOLD = "told"  # to the model: the task, results of calls, what is missing
    COMPACTED = "compacted"  # the messages that stand for everything before
    ENDED = "ended"


class Past(Struct):
    """Earlier periods of work, as a transcript tells them."""

    task: str = ""
    workspace: str = ""
    messages: list[ModelMessage] = field(default_factory=list)
    used: Used = field(default_factory=Used)
    calls: int = 0
    failed_calls: int = 0
    compactions: int = 0
    notebook: Mapping[str, Any] | None = None


class Transcript(Struct, frozen=True):
    """An append-only file; without a path nothing is kept."""

    path: Path | None

    @property
    def is_begun(self) -> bool:
        return self.path is not None and self.path.is_file()

    def begin(self, session: str, task: str, model: str, workspace: Path) -> None:
        self._append(
            TranscriptKind.BEGUN,
            schema_version=SCHEMA_VERSION,
            session=session,
            task=task,
            model=model,
            workspace=str(workspace),
        )

    def add(self, kind: TranscriptKind, messages: Sequence[ModelMessage], **facts: Any) -> None:
        """Messages, and what else must outlast the process."""
        dumped = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        self._append(kind, messages=dumped, **facts)

    def end(self, ended: str, reason: str) -> None:
        """Record why the loop stopped, for readers of the file; it may be resumed all the same."""
        self._append(TranscriptKind.ENDED, ended=ended, reason=reason)

    def read(self) -> Past:
        """Everything that was kept, with calls that never gave a result answered as such."""
        if self.path is None or not self.path.is_file():
            raise TranscriptUnusable(f"no transcript at `{self.path}`")
        past = Past()
        for number, text in enumerate(self.path.read_text("utf-8", "replace").split("\n"), 1):
            try:
                line = json.loads(text)
            except ValueError:
                # Torn by a power cut: it was never acknowledged, and the next one closed it.
                continue
            try:
                if isinstance(line, dict):
                    _apply(past, line)
            except (KeyError, TypeError, ValueError) as error:
                raise TranscriptUnusable(
                    f"line {number} of the transcript `{self.path}` cannot be used: {error}"
                ) from error
        last = past.messages[-1] if past.messages else None
        if isinstance(last, ModelResponse) and last.tool_calls:
            # Every API refuses a call without a result, so calls cut off by a stop are answered.
            past.messages.append(
                ModelRequest([result_of(c, NOT_FINISHED) for c in last.tool_calls])
            )
        return past

    def _append(self, kind: TranscriptKind, **facts: Any) -> None:
        if self.path is not None:
            append_lines(self.path, json.dumps({"kind": kind, **facts}, ensure_ascii=True))


def result_of(call: ToolCallPart, text: str) -> ToolReturnPart:
    """Failures are text as well: marked as failed, some providers get them wrapped in JSON."""
    return ToolReturnPart(call.tool_name, text, call.tool_call_id)


def _apply(past: Past, line: Mapping[str, Any]) -> None:
    kind = TranscriptKind(line["kind"])
    if kind is TranscriptKind.BEGUN:
        if line["schema_version"] > SCHEMA_VERSION:
            raise ValueError("it was written by a newer signoff")
        past.task, past.workspace = str(line["task"]), str(line["workspace"])
        return
    if kind is TranscriptKind.ENDED:
        return
    messages = ModelMessagesTypeAdapter.validate_python(line["messages"])
    if kind is TranscriptKind.COMPACTED:
        past.messages = list(messages)
        past.compactions += 1
    else:
        past.messages.extend(messages)
    past.used += Used(
        (kind is TranscriptKind.SAID) + int(line.get("turns", 0)),
        int(line.get("tokens_in", 0)),
        int(line.get("tokens_out", 0)),
        line.get("usd", 0.0),
    )
    past.calls += int(line.get("calls", 0))
    past.failed_calls += int(line.get("failed_calls", 0))
    past.notebook = line.get("notebook", past.notebook)


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
        """True when the last word was said to the model."""
        return isinstance(self.messages[-1], ModelRequest)

    def keep(self, reply: ModelReply) -> None:
        """Write the answer to disk before acting on it: it was paid for, and its calls may be lost.

        An empty one is paid for too, but most APIs refuse to be sent it again.
        """
        said = [reply.message] if reply.message.tool_calls or reply.text.strip() else []
        self.messages.extend(said)
        with self._calmly():
            self._transcript.add(TranscriptKind.SAID, said, **reply.used.to_data())
        self.context_tokens = reply.used.tokens

    def tell(self, text: str) -> None:
        """Something that is no result."""
        told = ModelRequest(parts=[UserPromptPart(text)])
        self.messages.append(told)
        self._transcript.add(TranscriptKind.TOLD, [told])

    def tell_results(self, results: Sequence[ToolReturnPart], said: str, **facts: Any) -> None:
        """Add the results of calls, and the text about them."""
        told = ModelRequest(parts=[*results, *([UserPromptPart(said)] if said else [])])
        self.messages.append(told)
        with self._calmly():
            self._transcript.add(TranscriptKind.TOLD, [told], **facts)

    def begin_anew(self, task: str, summary: str, plan: str, room: int, used: Used) -> None:
        """Task, summary, plan and the latest exchange stand for everything before, from now on."""
        shown = f"\nThe plan as the harness has it:\n{plan}\n" if plan else ""
        text = AFTER_COMPACTION.format(task=task, summary=summary, plan=shown)
        # The last answer and what was told to it; a call is never kept without its result.
        answers = [i for i, m in enumerate(self.messages) if i and isinstance(m, ModelResponse)]
        kept = self.messages[answers[-1] :] if answers else []
        if len(kept) < 2 or text_size(kept) > _characters(room, KEPT_SHARE):
            kept = []
        self.messages = [ModelRequest.user_text_prompt(text), *kept]
        self._transcript.add(TranscriptKind.COMPACTED, self.messages, **used.to_data())
        self.compactions += 1
        self.context_tokens = 0

    def is_full(self, room: int) -> bool:
        """True when the next answer may not fit any more into so many tokens."""
        return self.context_tokens >= FULL_AT * room

    def summary_request(self, room: int) -> ModelRequest:
        """Asks for a summary, with the record as one text.

        Not as a conversation: providers refuse one with calls in it when no tools are offered.
        """
        record = self._record(_characters(room, RECORD_SHARE))
        return ModelRequest.user_text_prompt(SUMMARY_REQUEST.format(record=record))

    def bare_record(self, room: int) -> str:
        """The end of the record itself, in place of a summary that the model did not give."""
        return self._record(_characters(room, KEPT_SHARE))

    def _record(self, longest: int) -> str:
        return tail("\n".join(line for m in self.messages for line in _lines(m)), longest)


def _characters(room: int, share: float) -> int:
    return int(room * share) * CHARACTERS_A_TOKEN


def _lines(message: ModelMessage) -> list[str]:
    found = []
    for part in message.parts:
        match part:
            case UserPromptPart():
                found.append(f"harness: {_cut(str(part.content))}")
            case TextPart():
                found.append(f"agent: {_cut(part.content)}")
            case ToolCallPart():
                found.append(f"agent calls {part.tool_name} {_cut(str(part.args or ''))}")
            case ToolReturnPart():
                found.append(f"{part.tool_name} gave: {_cut(part.model_response_str())}")
    return found


def _cut(text: str) -> str:
    if len(text) <= LONGEST_PIECE:
        return text
    half = LONGEST_PIECE // 2
    return f"{text[:half]} [...] {text[-half:]}"
