"""What a doctor says about one thing, and how bad it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How one thing is."""

    OK = "ok"
    WARN = "warn"  # works, with less than there could be
    FAIL = "fail"  # signoff cannot work like this


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what to do about it."""

    name: str
    health: Health
    detail: str
    next: str = ""
