"""What a stream shows, line by line: bytes decoded, colours and carriage returns taken off."""

from __future__ import annotations

import re

from signoff.domain.text import decode_output

# Within one line: an escape that is never closed must not swallow the runner's own last line.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\\]^_])")
_GAP = re.compile(r"\[\.\.\. [0-9]+ bytes not kept \.\.\.\]")


def lines_of(data: bytes) -> tuple[str, ...]:
    """The lines as a terminal would show them, without colours."""
    text = _ESCAPES.sub("", decode_output(data))
    return tuple(line.rstrip("\r").rpartition("\r")[2].rstrip() for line in text.split("\n"))


def has_gap(lines: tuple[str, ...]) -> bool:
    """Whether the middle of the stream was not kept."""
    return any(_GAP.fullmatch(line) for line in lines)


def tally(parts: list[str]) -> dict[str, int] | None:
    """`["4 passed", "1 skipped"]` as numbers by word; None for any other shape."""
    found: dict[str, int] = {}
    for part in parts:
        match = _PART.fullmatch(part.strip())
        if match is None or match[2] in found:
            return None
        found[match[2]] = int(match[1])
    return found


_PART = re.compile(r"([0-9]{1,9}) ([a-z]+(?: [a-z]+)?)")
