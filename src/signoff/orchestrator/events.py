"""What a run tells whoever watches: data, never printed text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from signoff.domain.ledger import Entry

if TYPE_CHECKING:
    from signoff.gate.state import State


@dataclass(frozen=True)
class Appended:
    """The ledger has a new entry."""

    entry: Entry


@dataclass(frozen=True)
class Printed:
    """An agent or a contract printed something; untrusted bytes."""

    chunk: bytes


@dataclass(frozen=True)
class Doing:
    """What the harness is busy with, for a person who waits."""

    step: str | None
    what: str


@dataclass(frozen=True)
class Driving:
    """The run is driven from here on: where it stands, what earlier drivers did included.

    The fold goes on with every entry before that is told; whoever watches only reads it.
    """

    state: State


Event = Appended | Printed | Doing | Driving


class Reporter(Protocol):
    """Whoever shows progress."""

    def tell(self, event: Event) -> None:
        """Take note of one event; must not raise."""
