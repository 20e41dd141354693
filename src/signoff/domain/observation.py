"""What a process did, as the harness saw it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """How a process came to its end; only EXITED carries a verdict of the command itself."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed-out"
    NOT_EXECUTABLE = "not-executable"
    NOT_FOUND = "not-found"
    CANCELLED = "cancelled"
    NOT_STARTED = "not-started"
    OUTPUT_LIMIT = "output-limit"


@dataclass(frozen=True)
class Output:
    """One stream: all of it counted and hashed, its head and tail kept."""

    size: int
    sha256: str
    head: bytes
    tail: bytes

    @property
    def complete(self) -> bool:
        """Whether head and tail together are the whole stream."""
        return self.size == len(self.head) + len(self.tail)

    @property
    def kept(self) -> bytes:
        """Head and tail, with a line that says how much lies between."""
        if self.complete:
            return self.head + self.tail
        gap = self.size - len(self.head) - len(self.tail)
        return self.head + f"\n[... {gap} bytes not kept ...]\n".encode() + self.tail


@dataclass(frozen=True)
class Observation:
    """One finished process and everything it started, all dead by now."""

    ending: Ending
    exit_code: int | None
    signal: int | None
    duration_s: float
    stdout: Output
    stderr: Output
    leftovers_killed: int = 0
    detail: str = ""
    stdout_matches: tuple[bool, ...] = ()
    stderr_matches: tuple[bool, ...] = ()

    def describe(self) -> str:
        """The ending in a few words."""
        if self.ending is Ending.EXITED:
            return f"exit code {self.exit_code}"
        if self.ending is Ending.SIGNALLED:
            return f"killed by signal {self.signal}"
        text = self.ending.replace("-", " ")
        return f"{text}: {self.detail}" if self.detail else text
