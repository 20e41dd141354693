"""Strength of a contract: the share of wrong versions of a step's work that it rejects."""

from __future__ import annotations

from enum import StrEnum


class VersionKind(StrEnum):
    """Ways in which a version is wrong (stored words)."""

    UNDO = "undo"  # the change, or one hunk of it, is taken back
    PROBE = "probe"  # a function escapes its check instead of working
    SPECIAL = "special"  # a function answers the inputs of the visible tests only
    MUTANT = "mutant"  # one small thing on a changed line is different
