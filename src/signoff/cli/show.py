"""How reports become text or JSON: one escape for everything that came from outside."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Literal

from signoff.domain.text import escape, escape_line
from signoff.fastpath import SCHEMA_VERSION

SMALL_USD = 0.1


def say(text: str = "") -> None:
    """A line of the result on stdout."""
    sys.stdout.write(escape(text) + "\n")


def say_line(text: str) -> None:
    """A line of the result with names from outside in it: a file name may hold line breaks."""
    sys.stdout.write(escape_line(text) + "\n")


def note(text: str) -> None:
    """A line about the work on stderr: progress, never a result."""
    print(escape(text), file=sys.stderr)


def say_json(value: Any) -> None:
    """One JSON value on a line of its own; pure ASCII, so that no terminal obeys any of it."""
    sys.stdout.write(json.dumps(value, default=str).replace("\x7f", "\\u007f") + "\n")


def versioned(**body: Any) -> dict[str, Any]:
    """A JSON result with its schema version."""
    return {"schema_version": SCHEMA_VERSION, **body}


def answer_json(**body: Any) -> None:
    """The result of a verb for machines, with its schema version."""
    say_json(versioned(**body))


def picked(report: object, names: str) -> dict[str, Any]:
    """The named attributes, as JSON calls them."""
    return {name: getattr(report, name) for name in names.split()}


def styles() -> Literal["auto"] | None:
    """How text may be made bold or coloured; not at all where NO_COLOR is set."""
    return None if os.environ.get("NO_COLOR") else "auto"


def short(digest: str | None) -> str:
    """A digest as people quote it."""
    return digest[:12] if digest else "-"


def count(number: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def dollars(amount: float) -> str:
    """Money; so little of it that cents would hide it is told more closely."""
    return f"${amount:.4f}" if 0 < amount < SMALL_USD else f"${amount:.2f}"


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s"
