"""`steering` and `[agent.limits]`: how the runtime of tool calls guides a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from signoff.errors import ConfigInvalid
from signoff.settings.reading import check_keys, read_boolean, read_number

# name → what it is when nobody says, the least and the most that it may be
BATCH_LIMITS: dict[str, tuple[float, float, float]] = {
    "errors": (3, 1, 1000),
    "recoveries": (3, 1, 1000),
    "late_share": (0.6, 0.0, 1.0),
    "late_reads": (4, 0, 1000),
    "audits": (2, 0, 1000),
    "bookkeeping": (1, 0, 1000),
    "repeats": (2, 1, 1000),
    "failed_edits": (2, 1, 1000),
    "looks": (8, 1, 1000),
    "facts": (2, 0, 10),
}


@dataclass(frozen=True)
class BatchPolicy:
    """User only. Without steering, calls are made and kept; nothing is said and nothing stopped."""

    steering: bool = True
    limits: tuple[tuple[str, float], ...] = ()  # those that differ from what is usual
    confidence: float = 0.0  # how sure a model must say it is of a change; 0: it is not asked
    thin_words: int = 0  # that every page must show
    thin_sections: int = 0


def read_batches(table: Mapping[str, Any], where: str) -> BatchPolicy:
    """From the user's `[agent]`."""
    limits = table.get("limits", {})
    if not isinstance(limits, dict):
        raise ConfigInvalid(f"`{where}, agent`: `limits` must be a table")
    check_keys(limits, BATCH_LIMITS, f"{where}, agent.limits")
    for name, value in limits.items():
        usual, least, most = BATCH_LIMITS[name]
        if type(value) not in (type(usual), int) or not least <= value <= most:
            kind = "a whole number" if isinstance(usual, int) else "a number"
            raise ConfigInvalid(
                f"`{where}, agent.limits`: `{name}` must be {kind} from {least:g} to {most:g}"
            )
    return BatchPolicy(
        read_boolean(table, "steering", f"{where}, agent", default=True),
        tuple(limits.items()),
        _confidence(table, where),
        read_number(table, "thin_words", where, default=0, most=100_000, least=0),
        read_number(table, "thin_sections", where, default=0, most=1_000, least=0),
    )


def _confidence(table: Mapping[str, Any], where: str) -> float:
    value = table.get("confidence", 0.0)
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ConfigInvalid(f"`{where}, agent`: `confidence` must be a number from 0 to 1")
    return float(value)
