"""Requests as the protocol's library can read them: half a character must not leave one unanswered.

A model can write half of a surrogate pair. That is JSON, but no text: the library drops the whole
request, and the client waits for an answer for ever.
"""

from __future__ import annotations

import os
import re
from typing import TextIO

import anyio

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.S,
)
_REPLACEMENT = "\\ufffd"


def mended(line: str) -> str:
    """The same JSON with every half of a character replaced."""
    return _ESCAPE.sub(lambda found: _REPLACEMENT if found["half"] else found[0], line)


class _MendedLines:
    """What the library reads lines from."""

    def __init__(self, file: TextIO):
        self._file = file

    def readline(self) -> str:
        """The next request."""
        return mended(self._file.readline())


def mended_input() -> anyio.AsyncFile[str]:
    """Our standard input; what we start meanwhile reads nothing of it."""
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Not closed by us: a thread may be waiting on it until the very end.
    file = open(wire, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    return anyio.wrap_file(_MendedLines(file))  # type: ignore[arg-type]
