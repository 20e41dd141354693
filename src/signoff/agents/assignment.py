"""What an agent is given and what it hands back: work, what it used, or that it is blocked."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from signoff.domain.observation import Observation
from signoff.settings.loading import Role

# Marks every process of an attempt, and tells our own commands that they run inside one.
ATTEMPT_VARIABLE = "SIGNOFF_ATTEMPT"
ANSWER_VARIABLE = "SIGNOFF_ANSWER_FILE"
USAGE_VARIABLE = "SIGNOFF_USAGE_FILE"
LARGEST_REPORT = 100_000
LONGEST_REASON = 4_000
LONGEST_MODEL = 200
MOST_TOKENS = 10**15  # more than that is no report, and sums must stay numbers
MOST_USD = 1e12


@dataclass(frozen=True)
class Assignment:
    """One attempt at one step."""

    role: Role
    prompt: str
    workspace: Path
    usage_file: Path  # where the agent may report what it used; of this attempt alone
    answer_file: Path  # where it may say that it is blocked; of this attempt alone
    timeout_s: float
    variables: Mapping[str, str]
    cancelled: Callable[[], bool] | None = None
    on_output: Callable[[bytes], None] | None = None
    prompt_file: Path | None = None  # for a prompt that is too long to be an argument


@dataclass(frozen=True)
class AttemptReport:
    """The end of an attempt: what the process did, and what it says of itself."""

    observation: Observation
    usage: Usage | None
    answer: Answer | None = None
    usage_unreadable: bool = False  # it reported something that is no report
    why: str = ""  # it ended as it did, where more is known than that it did


class AnswerKind(StrEnum):
    """What an agent can say of a step it does not finish. Stored words."""

    BLOCKED = "blocked"
    IMPOSSIBLE = "impossible"
    NEEDS_INPUT = "needs input"


@dataclass(frozen=True)
class Answer:
    """Recorded and shown to a person; it never counts as done."""

    kind: AnswerKind
    reason: str


def read_answer(path: Path) -> Answer | None:
    """What the agent wrote: `blocked: why`, or JSON with `answer` and `reason`; None without.

    Text of no known kind is a question: whoever writes to this file wants to be heard.
    """
    try:
        text = _read_small_file(path).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return None
    if not text:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        known, reason = _named(str(data.get("answer", ""))), data.get("reason", "")
        reason = reason if isinstance(reason, str) else ""
    else:
        head, _, rest = text.partition(":" if ":" in text else "\n")
        known = _named(head)
        reason = text if known is None else rest.strip()
    return Answer(known or AnswerKind.NEEDS_INPUT, reason[:LONGEST_REASON])


def _named(word: str) -> AnswerKind | None:
    plain = " ".join(word.replace("_", " ").replace("-", " ").lower().split())
    return next((kind for kind in AnswerKind if kind == plain), None)


@dataclass(frozen=True)
class Usage:
    """One attempt's report; `model` is empty when it names none."""

    tokens: int = 0
    usd: float = 0.0
    model: str = ""

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        return {"tokens": self.tokens, "usd": self.usd, "model": self.model}


def read_usage(path: Path) -> Usage | None:
    """What the agent reported, or None; a malformed report is no report."""
    try:
        data = json.loads(_read_small_file(path))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    tokens, usd, model = data.get("tokens", 0), data.get("usd", 0.0), data.get("model", "")
    # By type, because True is an int, and by range, because NaN compares with nothing.
    numbers = type(tokens) is int and type(usd) in (int, float)
    if not (numbers and 0 <= tokens <= MOST_TOKENS and 0 <= usd <= MOST_USD):
        return None
    return Usage(tokens, float(usd), model[:LONGEST_MODEL] if isinstance(model, str) else "")


def _read_small_file(path: Path) -> bytes:
    """A regular file that is no link; opening a FIFO would wait for a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST_REPORT:
            raise ValueError("not a report of an agent")
        return os.read(descriptor, LARGEST_REPORT)
    finally:
        os.close(descriptor)
