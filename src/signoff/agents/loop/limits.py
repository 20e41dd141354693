"""How far a loop may go, what it has used, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signoff.agents.loop.transcript import Past

CHARACTERS_A_TOKEN = 4  # for answers whose provider did not say what they took


@dataclass(frozen=True)
class LoopLimits:
    """None is no limit. All are asked before each request, so the last one may overshoot."""

    turns: int | None = 200
    tokens: int | None = None
    usd: float | None = None
    wall_s: float | None = None
    context_tokens: int = 150_000  # of the model; the conversation is compacted before it is full
    request_s: float = 600.0  # one answer of the model
    retries: int = 6  # of one request, after failures that pass
    first_wait_s: float = 1.0  # doubled each time
    longest_wait_s: float = 120.0  # asked to wait longer, the loop ends and can be resumed
    fruitless: int = 8  # turns in a row that did nothing: no call worked, nothing was said

    def after(self, past: Past) -> LoopLimits:
        """The same for a loop that counts from what it used before."""
        spent = past.tokens_in + past.tokens_out
        return replace(
            self,
            turns=None if self.turns is None else self.turns + past.turns,
            tokens=None if self.tokens is None else self.tokens + spent,
            usd=None if self.usd is None else self.usd + past.usd,
        )


@dataclass(frozen=True)
class Charge:
    """What was used on behalf of a loop by somebody else."""

    tokens_in: int
    tokens_out: int
    usd: float | None  # None: nobody knows its price
    turns: int = 0


@dataclass
class Meter:
    """What was used, over all sittings of a session; time counts anew in each."""

    limits: LoopLimits
    clock: Callable[[], float] = time.monotonic
    turns: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    priced: bool = True  # whether every answer had a known price
    began: float = field(init=False)

    @classmethod
    def after(cls, past: Past, limits: LoopLimits) -> Meter:
        """One that goes on counting."""
        return cls(
            limits,
            turns=past.turns,
            tokens_in=past.tokens_in,
            tokens_out=past.tokens_out,
            usd=past.usd,
            priced=past.priced,
        )

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def tokens(self) -> int:
        """In and out together, as budgets count them."""
        return self.tokens_in + self.tokens_out

    @property
    def left_s(self) -> float:
        """The time that is left; infinite without a limit."""
        if self.limits.wall_s is None:
            return float("inf")
        return self.limits.wall_s - (self.clock() - self.began)

    def count(self, tokens_in: int, tokens_out: int, usd: float | None) -> None:
        """One answer; the price may be unknown."""
        self.turns += 1
        self.add(tokens_in, tokens_out, usd)

    def add(self, tokens_in: int, tokens_out: int, usd: float | None) -> None:
        """What was used beside the turns: summaries, children."""
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self.usd += usd or 0.0
        self.priced = self.priced and usd is not None

    def exhausted(self) -> str | None:
        """Which limit is reached, in words; None while the loop may go on."""
        limits = self.limits
        if limits.turns is not None and self.turns >= limits.turns:
            return f"the limit of {limits.turns} turns is reached"
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return f"the limit of {limits.tokens} tokens is reached ({self.tokens} used)"
        if limits.usd is not None and not self.priced:
            return "the price of this model is not known, so the limit in USD cannot be kept"
        if limits.usd is not None and self.usd >= limits.usd:
            return f"the limit of ${limits.usd:.2f} is reached (${self.usd:.4f} used)"
        if self.left_s <= 0:
            return f"the limit of {(limits.wall_s or 0) / 60:g} minutes is reached"
        return None


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
