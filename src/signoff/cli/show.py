"""Turn reports into text or JSON: one escape for what came from outside, one painter."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal, TextIO

from signoff.domain.findings import Finding
from signoff.domain.plan import POSTCONDITION_PREFIX
from signoff.domain.text import escape, escape_line
from signoff.fastpath import SCHEMA_VERSION

SMALL_USD = 0.1
_COLOURS = {"green": "\x1b[32m", "red": "\x1b[31m", "magenta": "\x1b[35m", "yellow": "\x1b[33m"}


class Tone(Enum):
    """Meaning of a line: its symbol and colour on terminals. Pipes get the words alone."""

    symbol: str
    style: str

    KEPT = "✓", "green"
    BROKEN = "✗", "red"
    TAMPERED = "‼", "magenta"
    WAITING = "?", "yellow"
    PLAIN = "·", ""

    def __init__(self, symbol: str, style: str):
        self.symbol, self.style = symbol, style


class ColorChoice:
    """Value of `--color`, for this command."""

    mode = "auto"


def paints(stream: TextIO) -> bool:
    """True when colours go to this stream: a terminal, and nobody said no."""
    if ColorChoice.mode != "auto":
        return ColorChoice.mode == "always"
    dumb = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not dumb and is_terminal(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """True when a person looks at it; None is a descriptor that was closed before we began."""
    return stream is not None and stream.isatty()


def painted(text: str, tone: Tone, stream: TextIO) -> str:
    """The text in its colour; it must be escaped by now."""
    return f"{_COLOURS[tone.style]}{text}\x1b[0m" if tone.style and paints(stream) else text


def say(text: str = "") -> None:
    """A line of the result on stdout."""
    sys.stdout.write(escape(text) + "\n")


def say_line(text: str, tone: Tone = Tone.PLAIN) -> None:
    """A line of the result with names from outside in it: a file name may hold line breaks."""
    sys.stdout.write(painted(escape_line(text), tone, sys.stdout) + "\n")


def say_marked(
    text: str, tone: Tone, *, mark: str = "", indent: str = "", whole: bool = True
) -> None:
    """A line with a symbol on a terminal, and with `mark` elsewhere; cut there unless whole."""
    plain = f"{mark} {text}" if mark else text
    if not is_terminal(sys.stdout):
        sys.stdout.write(indent + painted(escape_line(plain), tone, sys.stdout) + "\n")
        return
    shown = escape_line(text)
    if not whole:
        shown = cut(shown, columns(sys.stdout) - len(indent) - len(tone.symbol) - 1)
    sys.stdout.write(f"{indent}{painted(tone.symbol, tone, sys.stdout)} {shown}\n")


def columns(stream: TextIO) -> int:
    """Width of the terminal; without a limit where nobody can tell."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or sys.maxsize
    except (OSError, ValueError):
        return sys.maxsize


def cut(text: str, width: int) -> str:
    """Cut a line to the width, with a sign that there is more."""
    if sum(map(_cells, text)) <= width:
        return text
    used, at = 0, 0
    while used + _cells(text[at]) < width:
        used, at = used + _cells(text[at]), at + 1
    return f"{text[:at]}…"


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


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


def styles(stream: TextIO) -> Literal["auto", "standard"] | None:
    """The terminal for which rich may make text bold or coloured."""
    if not paints(stream):
        return None
    return "standard" if ColorChoice.mode == "always" else "auto"


def short(digest: str | None) -> str:
    """A digest as people quote it."""
    return digest[:12] if digest else "-"


def count(number: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def in_lanes(lanes: Sequence[int]) -> str:
    """`in lane 1`, `in lanes 1, 2`."""
    return f"in {'lane' if len(lanes) == 1 else 'lanes'} {', '.join(map(str, lanes))}"


def dollars(amount: float) -> str:
    """Money; so little of it that cents would hide it is told more closely."""
    return f"${amount:.4f}" if 0 < amount < SMALL_USD else f"${amount:.2f}"


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s"


def finding_line(name: str, finding: Finding) -> str:
    """A finding on one line, for somebody who did not ask for it."""
    hint = f"; hint: {finding.hint}" if finding.hint else ""
    said = f"{finding.severity}: {finding.message} [{finding.code}]{hint}"
    return escape_line(f"{name}:{finding.line}: {said}")


def finding_lines(name: str, finding: Finding) -> list[str]:
    """A finding as it is shown everywhere."""
    lines = [f"{name}:{finding.line}: {finding.severity}: {finding.message} [{finding.code}]"]
    if finding.text.strip():
        lines.append(f"    {finding.text.strip()}")
    if finding.hint:
        lines.append(f"    hint: {finding.hint}")
    return lines


def subject_words(step: str | None) -> str:
    """`step 1`, `postcondition 2`; nothing for the plan as a whole."""
    if step is None:
        return ""
    if step.startswith(POSTCONDITION_PREFIX):
        return f"postcondition {step.removeprefix(POSTCONDITION_PREFIX)}"
    return f"step {step}"
