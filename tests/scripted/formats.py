"""What the four wire formats have in common: how one is described, and pieces of an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from signoff.testing.conversation import ScriptedRequest
from signoff.testing.script import Failure, Turn

Body = dict[str, Any]


class Api(StrEnum):
    """The ways to ask a scripted model: four wire formats, and a call in the same process."""

    CHAT = "chat"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    IN_PROCESS = "in-process"


class Event(NamedTuple):
    """One server-sent event; `closing` ones come after everything that was said."""

    data: Body | str
    name: str = ""
    closing: bool = False


@dataclass(frozen=True)
class Reply:
    """A turn about to be sent: to which request, under which id, and when."""

    turn: Turn
    conversation: ScriptedRequest
    id: str
    created_s: int

    @property
    def model(self) -> str:
        """The model as the request named it."""
        return self.conversation.model


@dataclass(frozen=True)
class WireFormat:
    """One wire format: how to know, read and speak it."""

    path: re.Pattern[str]
    read: Callable[[Mapping[str, Any], str], ScriptedRequest]
    whole: Callable[[Reply], Body]
    events: Callable[[Reply], Iterable[Event]]
    problem: Callable[[Failure], Body]


def halves(text: str) -> Iterator[str]:
    """Arguments as streams bring them: in pieces that are no JSON by themselves."""
    middle = (len(text) + 1) // 2
    yield from (piece for piece in (text[:middle], text[middle:]) if piece)


def plain_text(content: object) -> str:
    """The text of a message's content: a string, or a list of blocks of which some are text."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [b if isinstance(b, str) else b.get("text") for b in blocks]
    return "\n".join(text for text in texts if isinstance(text, str) and text)
