"""What a manifest of a project offers to be judged by."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Offered:
    """What a manifest offers; or what it pretends to offer, and why that is nothing.

    `additional` are commands of which nobody can tell what they prove: they have to hold, but
    prove nothing by themselves. `rests_on` are the files that decide what its commands mean,
    whether they are there or not.
    """

    commands: tuple[str, ...] = ()
    additional: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()  # suffixes it is about; none: whatever nobody else is

    def is_about(self, kinds: Collection[str]) -> bool:
        """Whether it speaks about one of these kinds of file."""
        return not self.kinds.isdisjoint(kinds)
