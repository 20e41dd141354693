"""Requests to a scripted model, in one shape whichever way it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace  # noqa: TID251
from enum import StrEnum
from typing import Any

Data = Mapping[str, Any]


class Speaker(StrEnum):
    """Speakers of a message."""

    SYSTEM = "system"
    USER = "user"
    MODEL = "model"
    TOOL = "tool"


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call; arguments as text are what the model wrote, valid JSON or not."""

    name: str
    arguments: Data | str = field(default_factory=dict)
    id: str = ""

    @property
    def arguments_json(self) -> str:
        """The arguments as a model writes them: no spaces, no escapes for letters."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class ToolResult:
    """Result of a call, as the harness says; `failed` only where the wire format can say it."""

    id: str
    text: str
    name: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Message:
    """Everything one speaker said before the next one did."""

    speaker: Speaker
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    results: tuple[ToolResult, ...] = ()

    def and_then(self, other: Message) -> Message:
        """Join it with what the same speaker said next."""
        text = "\n".join(filter(None, (self.text, other.text)))
        return Message(self.speaker, text, self.calls + other.calls, self.results + other.results)


@dataclass(frozen=True)
class OfferedTool:
    """A tool that the model may call."""

    name: str
    description: str = ""
    parameters: Data = field(default_factory=dict)


@dataclass(frozen=True)
class ScriptedRequest:
    """One request: the messages so far, the tools on offer, and `body`, what else came with it."""

    messages: tuple[Message, ...]
    tools: tuple[OfferedTool, ...] = ()
    model: str = ""
    streamed: bool = False
    body: Data = field(default_factory=dict)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Results of tools since the model last spoke."""
        news: list[ToolResult] = []
        for message in reversed(self.messages):
            if message.speaker is Speaker.MODEL:
                break
            news[:0] = message.results
        return tuple(news)

    @property
    def system_text(self) -> str:
        """All that the harness told the model about its task and manners."""
        return "\n".join(m.text for m in self.messages if m.speaker is Speaker.SYSTEM and m.text)

    @property
    def last_user_text(self) -> str:
        """The latest words of the user; empty if there are none."""
        spoken = [m.text for m in self.messages if m.speaker is Speaker.USER]
        return spoken[-1] if spoken else ""

    @property
    def model_turns(self) -> int:
        """Number of times the model has spoken already, by this request's own account."""
        return sum(m.speaker is Speaker.MODEL for m in self.messages)

    @property
    def characters(self) -> int:
        """Length of the messages, for token counts that need not be exact."""
        said = sum(len(m.text) + sum(len(r.text) for r in m.results) for m in self.messages)
        return said + sum(len(c.arguments_json) for m in self.messages for c in m.calls)


def merge(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Make adjacent messages of one speaker one, and give every result the name of its call."""
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].speaker is message.speaker:
            merged[-1] = merged[-1].and_then(message)
        else:
            merged.append(message)
    names = {call.id: call.name for message in merged for call in message.calls}
    return tuple(
        replace(m, results=tuple(replace(r, name=r.name or names.get(r.id, "")) for r in m.results))
        for m in merged
    )


def complaint(messages: Sequence[Message]) -> str | None:
    """Say what a real model API would refuse this conversation for, if anything.

    A call without its result, or a result without its call, is how a harness that lost part of a
    conversation shows.
    """
    for before, message in zip((None, *messages), (*messages, None), strict=True):
        asked = [call.id for call in before.calls] if before else []
        given = [result.id for result in message.results] if message else []
        if lost := [id for id in asked if id not in given]:
            return f"no result follows the tool call `{lost[0]}`"
        if stray := [id for id in given if id not in asked]:
            return f"the tool result `{stray[0]}` answers no call of the message before it"
    return None


def parsed_arguments(written: object) -> Data | str:
    """Read arguments as a mapping; what is no JSON object stays text."""
    if isinstance(written, Mapping):
        return written
    try:
        read = json.loads(written) if isinstance(written, str) else written
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else str(written)
