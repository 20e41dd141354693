"""What a scripted model was sent, in one shape whichever way it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

Data = Mapping[str, Any]


class Api(StrEnum):
    """The ways to ask: four wire formats, and a call in the same process."""

    CHAT = "chat"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    IN_PROCESS = "in-process"


class Speaker(StrEnum):
    """Whose words a message carries."""

    SYSTEM = "system"
    USER = "user"
    MODEL = "model"
    TOOL = "tool"


@dataclass(frozen=True)
class Call:
    """A tool call; arguments as text are what the model wrote, valid JSON or not."""

    name: str
    arguments: Data | str = field(default_factory=dict)
    id: str = ""

    @property
    def arguments_json(self) -> str:
        """The arguments as a model writes them."""
        return self.arguments if isinstance(self.arguments, str) else compact(self.arguments)


@dataclass(frozen=True)
class ToolResult:
    """What the harness says a call gave; `failed` only where the wire format can say it."""

    id: str
    text: str
    name: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Message:
    """Everything one speaker said before the next one did."""

    speaker: Speaker
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A tool that was offered; `namespace` is the group it was offered in, if any."""

    name: str
    description: str = ""
    parameters: Data = field(default_factory=dict)
    namespace: str = ""


@dataclass(frozen=True)
class Conversation:
    """One request: the messages so far, the tools on offer, and `body`, the request as it came."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    api: Api = Api.IN_PROCESS
    model: str = ""
    streamed: bool = False
    body: Data = field(default_factory=dict)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """What tools gave since the model last spoke."""
        news: list[ToolResult] = []
        for message in reversed(self.messages):
            if message.speaker is Speaker.MODEL:
                break
            news[:0] = message.results
        return tuple(news)

    @property
    def system_text(self) -> str:
        """All that the harness told the model about its task and manners."""
        return self._text_of(Speaker.SYSTEM)

    @property
    def last_user_text(self) -> str:
        """The latest words of the user; empty if there are none."""
        spoken = [m.text for m in self.messages if m.speaker is Speaker.USER]
        return spoken[-1] if spoken else ""

    @property
    def model_turns(self) -> int:
        """How often the model has spoken already, by this request's own account."""
        return sum(m.speaker is Speaker.MODEL for m in self.messages)

    @property
    def characters(self) -> int:
        """How long the messages are, for token counts that need not be exact."""
        said = sum(len(m.text) + sum(len(r.text) for r in m.results) for m in self.messages)
        return said + sum(len(c.arguments_json) for m in self.messages for c in m.calls)

    def tool_named(self, name: str) -> Tool | None:
        """The offered tool of that name, or the only one whose name ends so.

        Clients put a prefix of their own before the tools of an MCP server.
        """
        exact = [tool for tool in self.tools if tool.name == name]
        found = exact or [tool for tool in self.tools if tool.name.endswith(name)]
        return found[0] if len(found) == 1 else None

    def to_data(self) -> dict[str, Any]:
        """As JSON, without the body, which says the same once more."""
        return asdict(replace(self, body={}))

    def _text_of(self, speaker: Speaker) -> str:
        return "\n".join(m.text for m in self.messages if m.speaker is speaker and m.text)


def merge(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Adjacent messages of one speaker made one, and every result given the name of its call."""
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].speaker is message.speaker:
            merged[-1] = _joined(merged[-1], message)
        else:
            merged.append(message)
    names = {call.id: call.name for message in merged for call in message.calls}
    return tuple(
        replace(m, results=tuple(replace(r, name=r.name or names.get(r.id, "")) for r in m.results))
        for m in merged
    )


def complaint(messages: Sequence[Message]) -> str | None:
    """What a real model API would refuse this conversation for, or None.

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


def compact(data: object) -> str:
    """JSON as models write it: no spaces, no escapes for letters."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def parsed_arguments(written: object) -> Data | str:
    """Arguments as a mapping; what is no JSON object stays text."""
    if isinstance(written, Mapping):
        return written
    try:
        read = json.loads(written) if isinstance(written, str) else written
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else str(written)


def plain_text(content: object) -> str:
    """The text of a message's content: a string, or a list of blocks of which some are text."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [b if isinstance(b, str) else b.get("text") for b in blocks]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _joined(one: Message, other: Message) -> Message:
    text = "\n".join(text for text in (one.text, other.text) if text)
    return Message(one.speaker, text, one.calls + other.calls, one.results + other.results)
