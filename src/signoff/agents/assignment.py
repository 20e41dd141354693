"""An agent's assignment and its report: work, what it used, or that it is blocked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from signoff.domain.verdict import Observation
from signoff.settings.roles import Role
from signoff.workspace.folders import open_regular

ANSWER_VARIABLE = "SIGNOFF_ANSWER_FILE"
USAGE_VARIABLE = "SIGNOFF_USAGE_FILE"
LARGEST_REPORT = 100_000
LONGEST_REASON = 4_000
LONGEST_MODEL = 200
MOST_TOKENS = 10**15  # more than that is no report, and sums must stay numbers
MOST_USD = 1e12


class Assignment(Struct, frozen=True):
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
    meter_file: Path | None = None  # out of the agent's reach: what it used, should we be killed
    tokens_left: int | None = None  # used up, the attempt ends; None: no limit
    usd_left: float | None = None


class AttemptReport(Struct, frozen=True):
    """The end of an attempt: what the process did, and what it says of itself."""

    observation: Observation
    usage: Usage | None
    answer: Answer | None = None
    usage_unreadable: bool = False  # it reported something that is no report
    why: str = ""  # it ended as it did, where more is known than that it did
    obstacle: str = ""  # what its sandbox denied it, with the line that helps
    words: str = ""  # its last ones, where its output is not words by itself
    limit: UsageLimit | None = None  # its model would not serve it any more


class AnswerKind(StrEnum):
    """An agent's answers about a step it does not finish. Stored words."""

    BLOCKED = "blocked"
    IMPOSSIBLE = "impossible"
    NEEDS_INPUT = "needs input"


class Answer(Struct, frozen=True):
    """Recorded and shown to a person; it never counts as done."""

    kind: AnswerKind
    reason: str


def read_answer(path: Path) -> Answer | None:
    """Read the agent's answer: `blocked: why`, or JSON with `answer` and `reason`; None without.

    Text of no known kind is a question: an agent that writes to this file wants to be heard.
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


class Usage(Struct, frozen=True):
    """One attempt's report; None is what nobody told, and `model` is empty when it names none."""

    tokens: int | None = None
    usd: float | None = None
    model: str = ""
    session: str = ""  # of the client, to look at it there

    def to_data(self) -> dict[str, Any]:
        told = {"tokens": self.tokens, "usd": self.usd, "model": self.model}
        return told | ({"session": self.session} if self.session else {})

    def or_more(self, other: Usage | None) -> Usage:
        """Join two reports of the same attempt: the larger number counts."""
        if other is None:
            return self
        tokens = [n for n in (self.tokens, other.tokens) if n is not None]
        usd = [n for n in (self.usd, other.usd) if n is not None]
        return Usage(
            max(tokens, default=None),
            max(usd, default=None),
            self.model or other.model,
            self.session or other.session,
        )


class UsageLimit(Struct, frozen=True):
    """A client was told to come back later; `until` in seconds since 1970, None where untold."""

    said: str
    until: float | None = None


def read_usage(path: Path) -> Usage | None:
    """Read the agent's report of its usage; None without one; a malformed report is no report."""
    data = _read_object(path)
    tokens, usd, model = data.get("tokens"), data.get("usd"), data.get("model", "")
    # By type, because True is an int, and by range, because NaN compares with nothing.
    if tokens is not None and not (type(tokens) is int and 0 <= tokens <= MOST_TOKENS):
        return None
    if usd is not None and not (type(usd) in (int, float) and 0 <= usd <= MOST_USD):
        return None
    if tokens is None and usd is None:
        return None
    dollars = None if usd is None else float(usd)
    return Usage(tokens, dollars, model[:LONGEST_MODEL] if isinstance(model, str) else "")


def read_work_s(path: Path) -> float:
    """Seconds that an attempt had worked when its driver last looked."""
    work_s = _read_object(path).get("work_s")
    return work_s if type(work_s) is float and 0 <= work_s < MOST_USD else 0.0


def read_failure(path: Path) -> str:
    """The reason why no model served the built-in loop any more, as it wrote it down."""
    failed = _read_object(path).get("failed")
    return failed[:LONGEST_REASON] if isinstance(failed, str) else ""


def _read_object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_read_small_file(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _read_small_file(path: Path) -> bytes:
    with open_regular(path) as file:
        data = file.read(LARGEST_REPORT + 1)
    if len(data) > LARGEST_REPORT:
        raise ValueError("not a report of an agent")
    return data


def write_report(path: Path, told: Mapping[str, Any]) -> None:
    """Write it whole: whoever reads meanwhile sees the one before, or this one."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(told))
    draft.replace(path)
