"""What a run tells whoever watches: data, never printed text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from signoff.domain.ledger import Entry


@dataclass(frozen=True)
class Appended:
    """The ledger has a new entry."""

    entry: Entry


@dataclass(frozen=True)
class Output:
    """An agent or a contract printed something; untrusted bytes."""

    chunk: bytes


@dataclass(frozen=True)
class Doing:
    """What the harness is busy with, for a person who waits."""

    step: str | None
    what: str


Event = Appended | Output | Doing


class Reporter(Protocol):
    """Whoever shows progress."""

    def tell(self, event: Event) -> None:
        """Take note of one event; must not raise."""
