"""A verdict: what judging a contract on one snapshot said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from signoff.domain.plan import JudgeIn


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
    TESTS = "tests"  # fewer tests than demanded or than approved
    HELD_OUT = "held-out"  # a check the agent never sees did not hold
    TOOL_CHANGED = "tool-changed"  # a command is not the one that was approved
    FLAKY = "flaky"  # the same key was judged twice with different answers
    INFLUENCED = "influenced"  # it holds only with files changed that steer the check
    OUTSIDE = "outside-touches"  # a file changed that the plan does not let anybody change


class FailureClass(StrEnum):
    """Whose fault a verdict that is not kept is; each class has a retry budget of its own."""

    BROKEN = "broken"  # the work is not done, or could not be seen to be: the agent tries again
    TAMPERED = "tampered"  # the agent changed the check
    INFRASTRUCTURE = "infrastructure"  # the harness could not judge: it judges again
    FLAKY = "flaky"  # the contract contradicts itself: nobody's retry helps
    INFLUENCED = "influenced"  # a person says whether the plan lacks a line: no attempt is spent


_FAILURE_OF = {
    Reason.TAMPERED: FailureClass.TAMPERED,
    Reason.SANDBOX_MISSING: FailureClass.INFRASTRUCTURE,
    Reason.INFRASTRUCTURE: FailureClass.INFRASTRUCTURE,
    Reason.TOOL_CHANGED: FailureClass.INFRASTRUCTURE,
    Reason.FLAKY: FailureClass.FLAKY,
    Reason.INFLUENCED: FailureClass.INFLUENCED,
    Reason.OUTSIDE: FailureClass.INFLUENCED,
}


def failure_of(reason: Reason) -> FailureClass:
    """The class of a verdict that is not kept."""
    return _FAILURE_OF.get(reason, FailureClass.BROKEN)


class Phase(StrEnum):
    """When a contract was judged; `baseline` is as the run began, to count its tests."""

    BEFORE = "before"
    ATTEMPT = "attempt"
    SWEEP = "sweep"
    AUDIT = "audit"
    BASELINE = "baseline"


class HeldOutKind(StrEnum):
    """How a held-out check meets the product, and so what its answer proves."""

    SEPARATE = "separate"  # it gets what the product printed: the product cannot read the answers
    IN_PROCESS = "in-process"  # it runs the product, which can look around meanwhile


class Isolation(StrEnum):
    """What stood between the contract and the rest of the machine."""

    NONE = "none"
    LANDLOCK = "landlock"
    NAMESPACES = "namespaces"
    BUBBLEWRAP = "bubblewrap"

    @property
    def has_own_view(self) -> bool:
        """Whether the command sees a file system, processes and a network of its own."""
        return self in (Isolation.NAMESPACES, Isolation.BUBBLEWRAP)


def weakest(isolations: Iterable[Isolation]) -> Isolation:
    """What can be said of several verdicts together: no more than of the weakest."""
    order = list(Isolation)
    return min(isolations, key=order.index, default=Isolation.NONE)


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
    judged_in: JudgeIn = JudgeIn.WORKSPACE
    room: str = ""  # how the clean room was made, or why there was none
    counts: dict[str, Any] | None = None
    heldout: Result | None = None
    heldout_kind: HeldOutKind | None = None
    heldout_tail: str = ""  # why a held-out check could not be run: for people, never for agents
    influences: tuple[str, ...] = ()  # changed files that steer the check and did not decide
    unwatched: str = ""  # why it cannot be told what the check read
    read: str = ""  # before anybody worked: what the check read, by the digest of a blob

    @property
    def kept(self) -> bool:
        """The only answer that can back a `done`."""
        return self.result is Result.KEPT
