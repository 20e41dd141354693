"""Honest exits: an agent may answer that it is blocked instead of inventing a result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from signoff.agents.reports import read_small_file

ANSWER_VARIABLE = "SIGNOFF_ANSWER_FILE"
LARGEST_FILE = 100_000
LONGEST_REASON = 4_000


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
        text = read_small_file(path, LARGEST_FILE).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return None
    if not text:
        return None
    said, reason = _from_json(text) or _from_text(text)
    return Answer(said, reason[:LONGEST_REASON])


def _from_json(text: str) -> tuple[AnswerKind, str] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    reason = data.get("reason", "")
    return _kind(str(data.get("answer", ""))), reason if isinstance(reason, str) else ""


def _from_text(text: str) -> tuple[AnswerKind, str]:
    head, colon, rest = text.partition(":")
    if not colon:
        head, _, rest = text.partition("\n")
    known = _named(head)
    return (known, rest.strip()) if known is not None else (AnswerKind.NEEDS_INPUT, text)


def _kind(word: str) -> AnswerKind:
    return _named(word) or AnswerKind.NEEDS_INPUT


def _named(word: str) -> AnswerKind | None:
    plain = " ".join(word.replace("_", " ").replace("-", " ").lower().split())
    return next((kind for kind in AnswerKind if kind == plain), None)
