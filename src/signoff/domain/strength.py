"""Strength of a contract: how many deliberately wrong versions of a change it rejects."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

DEFAULT_REQUIRED = 80  # per cent, where the policy requires strength and the step says no number


class VersionKind(StrEnum):
    """Ways in which a wrong version is made. Stored words."""

    UNDO = "undo"  # the change, or a part of it, is taken back
    PROBE = "probe"  # a function deceives whoever calls it
    SPECIAL = "special"  # it answers what the visible tests ask, and nothing else
    MUTANT = "mutant"  # a small mistake


class Score(Struct, frozen=True):
    """Wrong versions of one kind: tried, and rejected of those."""

    rejected: int = 0
    tried: int = 0


class Unnoticed(Struct, frozen=True):
    """A wrong version that the contract keeps."""

    kind: VersionKind
    path: str
    line: int
    what: str
    diff: str = ""

    def __str__(self) -> str:
        where = f"`{self.path}:{self.line}` " if self.line else f"`{self.path}` "
        return f"{where if self.path else ''}{self.what}"


class Strength(Struct, frozen=True):
    """Result of judging wrong versions of one change."""

    key: str  # digest of all that it depends on
    kinds: Mapping[VersionKind, Score] = field(default_factory=dict)
    visible: int = 0  # of the rejected, those that the visible contract rejects by itself
    heldout: bool = False  # a held-out check was asked too
    unnoticed: tuple[Unnoticed, ...] = ()
    neither: int = 0  # they could not be loaded, or not be judged
    left_out: int = 0  # more could have been made
    incomplete: str = ""  # why not all of them were judged
    notes: tuple[str, ...] = ()
    duration_s: float = 0.0

    @property
    def tried(self) -> int:
        """Wrong versions that got an answer."""
        return sum(score.tried for score in self.kinds.values())

    @property
    def rejected(self) -> int:
        """Wrong versions that the contract rejects, with its held-out check if it has one."""
        return sum(score.rejected for score in self.kinds.values())

    @property
    def share(self) -> int | None:
        """Per cent rejected, rounded down; None where nothing was tried."""
        return self.rejected * 100 // self.tried if self.tried else None

    def meets(self, per_cent: int) -> bool:
        """True when enough is rejected; what was not measured to its end never is enough."""
        share = self.share
        return not self.incomplete and share is not None and share >= per_cent

    def __str__(self) -> str:
        said = f"rejects {self.rejected} of {self.tried} wrong versions"
        if self.heldout:
            said += f", {self.visible} without the held-out check"
        if not self.tried:
            said = "strength unknown"
        return f"{said}; incomplete: {self.incomplete}" if self.incomplete else said
