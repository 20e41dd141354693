"""How a loop ended, and what its report says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signoff.agents.loop.transcript import Past


class Ended(StrEnum):
    """Why the loop stopped. Stored words; none of them means that the work is done."""

    ANSWERED = "answered"  # a final answer that the gate let through
    ESCALATED = "escalated"  # refused too often; a person decides
    LIMIT = "limit"
    STUCK = "stuck"  # turn after turn without a call that worked
    MODEL_FAILED = "model-failed"
    INTERRUPTED = "interrupted"


class End(Exception):
    """Why there is no further turn."""

    def __init__(self, ended: Ended, reason: str):
        super().__init__(reason)
        self.ended = ended
        self.reason = reason


@dataclass(frozen=True)
class LoopReport:
    """What the loop did; whether the work is done is the gate's to say."""

    session: str
    ended: Ended
    reason: str
    answer: str  # what the model said last, as a final answer; a claim
    turns: int
    tokens_in: int
    tokens_out: int
    usd: float | None  # None when a price is not known
    calls: int
    failed_calls: int
    refused: int  # final answers that the gate did not let through
    retries: int
    compactions: int
    transcript: Path | None

    @property
    def tokens(self) -> int:
        """In and out together."""
        return self.tokens_in + self.tokens_out

    def since(self, past: Past) -> LoopReport:
        """The same with what this sitting used alone; what was before is paid for already."""
        return replace(
            self,
            turns=self.turns - past.turns,
            tokens_in=self.tokens_in - past.tokens_in,
            tokens_out=self.tokens_out - past.tokens_out,
            usd=None if self.usd is None else self.usd - past.usd,
        )
