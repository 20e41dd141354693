"""The few words that all pre-flight texts share."""

from __future__ import annotations

from signoff.domain.text import escape_line

_LONGEST = 120


def quoted(text: str) -> str:
    """A name in backticks, on one line and not endless."""
    return f"`{escape_line(text).replace('`', chr(39))[:_LONGEST]}`"


def listed(names: tuple[str, ...], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(quoted(name) for name in names[:most]) + more
