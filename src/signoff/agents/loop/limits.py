"""Limits of a loop, its usage, and its ending."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

CHARACTERS_A_TOKEN = 4  # for answers whose provider did not say what they took


class Used(Struct, frozen=True):
    """Usage of models: answers, tokens in both directions, and money."""

    turns: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = 0.0  # None: the price of some of it is not known

    @property
    def tokens(self) -> int:
        """Tokens in and out together, as budgets count them."""
        return self.tokens_in + self.tokens_out

    def __add__(self, other: Used) -> Used:
        return self._with(other, 1)

    def __sub__(self, other: Used) -> Used:
        return self._with(other, -1)

    def _with(self, other: Used, sign: int) -> Used:
        return Used(
            self.turns + sign * other.turns,
            self.tokens_in + sign * other.tokens_in,
            self.tokens_out + sign * other.tokens_out,
            None if self.usd is None or other.usd is None else self.usd + sign * other.usd,
        )

    def to_data(self) -> dict[str, Any]:
        """The transcript's form, in which an answer is a turn by itself."""
        turns = {"turns": self.turns} if self.turns else {}
        cost = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "usd": self.usd}
        return {**turns, **cost}


class LoopLimits(Struct, frozen=True):
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

    def after(self, used: Used) -> LoopLimits:
        """Limits for a loop that counts from what it used before."""
        return replace(
            self,
            turns=None if self.turns is None else self.turns + used.turns,
            tokens=None if self.tokens is None else self.tokens + used.tokens,
            usd=None if self.usd is None else self.usd + (used.usd or 0.0),
        )


class Meter(Struct):
    """Usage over all periods of work of a session; time counts anew in each."""

    limits: LoopLimits
    used: Used
    began: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        if self.limits.wall_s is None:
            return float("inf")
        return self.limits.wall_s - (time.monotonic() - self.began)

    def exhausted(self) -> str | None:
        """The limit that is reached, in words; None while the loop may go on."""
        limits, used = self.limits, self.used
        if limits.turns is not None and used.turns >= limits.turns:
            return f"the limit of {limits.turns} turns is reached"
        if limits.tokens is not None and used.tokens >= limits.tokens:
            return f"the limit of {limits.tokens} tokens is reached ({used.tokens} used)"
        if limits.usd is not None and used.usd is None:
            return "the price of this model is not known, so the limit in USD cannot be kept"
        if limits.usd is not None and (used.usd or 0.0) >= limits.usd:
            return f"the limit of ${limits.usd:.2f} is reached (${used.usd:.4f} used)"
        if self.left_s <= 0:
            return f"the limit of {(limits.wall_s or 0) / 60:g} minutes is reached"
        return None


class Ended(StrEnum):
    """Reasons for which the loop stopped. Stored words; none of them means that work is done."""

    ANSWERED = "answered"  # a final answer that the gate let through
    ESCALATED = "escalated"  # refused too often; a person decides
    LIMIT = "limit"
    STUCK = "stuck"  # turn after turn without a call that worked
    MODEL_FAILED = "model-failed"
    INTERRUPTED = "interrupted"


class End(Exception):
    def __init__(self, ended: Ended, reason: str):
        super().__init__(reason)
        self.ended = ended
        self.reason = reason


class LoopReport(Used, frozen=True, kw_only=True):
    """Acts and usage of the loop; the gate alone says if the work is done."""

    session: str
    ended: Ended
    reason: str
    answer: str  # what the model said last, as a final answer; a claim
    calls: int
    failed_calls: int
    refused: int  # final answers that the gate did not let through
    retries: int
    compactions: int
    transcript: Path | None
