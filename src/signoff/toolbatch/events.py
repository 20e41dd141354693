"""Everything that happens in a batch, as one typed stream; whoever wants to know subscribes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from signoff.gate.task import Item, Round
from signoff.toolbatch.calls import Call, NextAction, Outcome


@dataclass(frozen=True)
class ToolCalled:
    """A call was announced; once, also when it had been streamed."""

    call: Call


@dataclass(frozen=True)
class ToolResulted:
    """A call has an outcome, executed or not."""

    outcome: Outcome


@dataclass(frozen=True)
class TodoUpdated:
    """What is to do, with the labels of the batch that is under way."""

    items: tuple[Item, ...]
    under_way: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecoverySuggested:
    """A failure has a follow-up; `attempt` of `budget` in its episode."""

    category: str
    subject: str
    attempt: int
    budget: int
    text: str
    next_action: NextAction | None


@dataclass(frozen=True)
class Steered:
    """The one message of this turn; a lasting one is repeated until it is followed."""

    rule: str
    text: str
    next_action: NextAction
    lasting: bool = False


@dataclass(frozen=True)
class RoundChanged:
    """A round was judged."""

    round: Round


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


Event = (
    ToolCalled
    | ToolResulted
    | TodoUpdated
    | RecoverySuggested
    | Steered
    | RoundChanged
    | TimelineNoted
    | Responded
)
Subscriber = Callable[[Event], None]


class Stream:
    """Tells every subscriber, in their order."""

    def __init__(self, *subscribers: Subscriber):
        self._subscribers = subscribers

    def emit(self, event: Event) -> None:
        """Tell everybody."""
        for subscriber in self._subscribers:
            subscriber(event)
