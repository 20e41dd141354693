"""Events of a run for its watchers: data, never printed text."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from signoff.domain.ledger import Entry

if TYPE_CHECKING:
    from signoff.gate.state import State


class Appended(Struct, frozen=True):
    """The ledger has a new entry."""

    entry: Entry


class Printed(Struct, frozen=True):
    """An agent or a contract printed something; untrusted bytes."""

    chunk: bytes


class Doing(Struct, frozen=True):
    """The harness's present activity, for a person who waits."""

    step: str | None
    what: str


class Driving(Struct, frozen=True):
    """The run is driven from here on: where it stands, what earlier drivers did included.

    The fold goes on with every entry before that is told; whoever watches only reads it.
    """

    state: State


Event = Appended | Printed | Doing | Driving


class Reporter(Protocol):
    """Shows progress."""

    def tell(self, event: Event) -> None:
        """Take note of one event; must not raise."""


class QueuedEvents:
    """Takes what other threads tell; the drive's own passes it on."""

    def __init__(self) -> None:
        self._told: SimpleQueue[Event] = SimpleQueue()

    def tell(self, event: Event) -> None:
        """Keep it until the drive looks."""
        self._told.put(event)

    def pass_on(self, reporter: Reporter) -> None:
        """Tell all of it, in order."""
        with suppress(Empty):
            while True:
                reporter.tell(self._told.get_nowait())
