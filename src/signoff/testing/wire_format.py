"""What the four wire formats have in common: how one is described, and pieces of an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from signoff.testing.conversation import Api, Call, Conversation
from signoff.testing.script import Failure, Turn

Body = dict[str, Any]


class Event(NamedTuple):
    """One server-sent event; `closing` ones come after everything that was said."""

    data: Body | str
    name: str = ""
    closing: bool = False


@dataclass(frozen=True)
class Reply:
    """A turn about to be sent: to which request, under which id, and when."""

    turn: Turn
    conversation: Conversation
    id: str
    created_s: int

    @property
    def model(self) -> str:
        """The model as the request named it."""
        return self.conversation.model


@dataclass(frozen=True)
class Dialect:
    """One wire format: how to know, read and speak it."""

    api: Api
    path: re.Pattern[str]
    read: Callable[[Mapping[str, Any], str], Conversation]
    whole: Callable[[Reply], Body]
    events: Callable[[Reply], Iterable[Event]]
    problem: Callable[[Failure], Body]


def halves(text: str) -> Iterator[str]:
    """Arguments as streams bring them: in pieces that are no JSON by themselves."""
    middle = (len(text) + 1) // 2
    yield from (piece for piece in (text[:middle], text[middle:]) if piece)


def namespace_of(call: Call, conversation: Conversation) -> str:
    """The group in which the called tool was offered."""
    return next((t.namespace for t in conversation.tools if t.name == call.name), "")
