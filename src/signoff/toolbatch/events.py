"""What happens in a batch, as one typed stream; whoever wants to know subscribes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from signoff.toolbatch.calls import Call, CallResult, NextAction


@dataclass(frozen=True)
class ToolCalled:
    """A call is about to be made, or refused."""

    call: Call


@dataclass(frozen=True)
class ToolResulted:
    """A call has a result, executed or not."""

    result: CallResult


@dataclass(frozen=True)
class Steered:
    """The one message of this turn; a lasting one is repeated until it is followed."""

    rule: str
    text: str
    next_action: NextAction
    lasting: bool = False


@dataclass(frozen=True)
class TimelineNoted:
    """One line of what happened and why, for `signoff log`."""

    reason: str
    text: str


@dataclass(frozen=True)
class Responded:
    """The turn ended with this message for the person."""

    text: str
    failed: bool = False


Event = ToolCalled | ToolResulted | Steered | TimelineNoted | Responded
Subscriber = Callable[[Event], None]


class Stream:
    """Tells every subscriber, in their order."""

    def __init__(self, *subscribers: Subscriber):
        self._subscribers = subscribers

    def emit(self, event: Event) -> None:
        """Tell everybody."""
        for subscriber in self._subscribers:
            subscriber(event)
