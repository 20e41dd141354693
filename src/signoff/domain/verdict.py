"""A verdict: what judging a contract on one snapshot said."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Result(StrEnum):
    """Unknown is never kept."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Why a verdict is what it is; a stored word."""

    HELD = "held"
    EXPECTATION = "expectation"
    TAMPERED = "tampered"
    HELD_BEFORE = "held-before"
    TIMED_OUT = "timed-out"
    SIGNALLED = "signalled"
    NOT_EXECUTABLE = "not-executable"
    NOT_FOUND = "not-found"
    MOVED = "moved-while-judged"
    SANDBOX_MISSING = "sandbox-missing"
    INFRASTRUCTURE = "infrastructure"


class Phase(StrEnum):
    """When a contract was judged: before the first attempt, after one, at the end, or by audit."""

    BEFORE = "before"
    ATTEMPT = "attempt"
    SWEEP = "sweep"
    AUDIT = "audit"


class Isolation(StrEnum):
    """What stood between the contract and the rest of the machine."""

    NONE = "none"


@dataclass(frozen=True)
class Verdict:
    """Bound to one contract, one snapshot and one evidence key."""

    subject: str
    phase: Phase
    result: Result
    reason: Reason
    message: str
    key: str
    snapshot: str
    environment: str = ""
    isolation: Isolation = Isolation.NONE
    exit_code: int | None = None
    duration_s: float = 0.0
    output_tail: str = ""
    stdout_sha256: str = ""
    stderr_sha256: str = ""
    provisional: bool = False
    reused_from: int | None = None
    tampered: tuple[str, ...] = ()
    environment_changed: bool = False
    leftovers_killed: int = 0

    @property
    def kept(self) -> bool:
        """The only answer that can back a `done`."""
        return self.result is Result.KEPT
