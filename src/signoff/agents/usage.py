"""What an agent says it used: counted against the budget, and attributed to a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signoff.agents.reports import read_small_file

USAGE_VARIABLE = "SIGNOFF_USAGE_FILE"
LARGEST_FILE = 100_000
LONGEST_MODEL = 200
MOST_TOKENS = 10**15  # more than that is no report, and sums must stay numbers
MOST_USD = 1e12


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
        data = json.loads(read_small_file(path, LARGEST_FILE))
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
