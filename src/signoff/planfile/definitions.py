"""Link reference definitions, which are no paragraphs: dashes below one make no heading of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

NextLine = Callable[[], str | None]

_LABEL = re.compile(r"(?:[^\[\]\\]|\\.)*")
_BRACKETED = re.compile(r"<(?:[^<>\\]|\\.)*>")
_BARE = re.compile(r"(?:[^\x00-\x20\x7f()\\]|\\(?![\x00-\x20\x7f])(?:.|$)|\\|[()])+")
_TITLE_END: Final = {
    '"': re.compile(r'(?:[^"\\]|\\.)*'),
    "'": re.compile(r"(?:[^'\\]|\\.)*"),
    "(": re.compile(r"(?:[^()\\]|\\.)*"),
}
_CLOSER: Final = {'"': '"', "'": "'", "(": ")"}
_MAX_PARENTHESES = 32


def definition_lines(line: str, next_line: NextLine) -> int:
    """How many lines the definition takes that starts with `line`; 0 when none starts there.

    `next_line` hands out the lines that would go on with a paragraph, without indentation, then
    None.
    """
    return _Reader(line, next_line).read()


class _Reader:
    """read → _label → _destination → _title, over as many lines as each of them takes."""

    def __init__(self, line: str, next_line: NextLine) -> None:
        self.line = line
        self.at = 1
        self.taken = 1
        self._next_line = next_line

    def read(self) -> int:
        if not self._label() or not self._skip_space() or not self._destination():
            return 0
        after_line, taken, end = self.line, self.taken, self.at
        if self._title():
            return self.taken
        return 0 if after_line[end:].strip(" \t") else taken

    def _advance(self) -> bool:
        following = self._next_line()
        if following is None:
            return False
        self.line, self.at = following, 0
        self.taken += 1
        return True

    def _skip_space(self) -> bool:
        """Move to what comes next, on the next line if need be; False when nothing comes."""
        rest = self.line[self.at :].lstrip(" \t")
        self.at = len(self.line) - len(rest)
        return bool(rest) or self._advance()

    def _through(self, pattern: re.Pattern[str]) -> str:
        """Move behind what matches, over line ends; the character it stops at, "" for none."""
        while True:
            found = pattern.match(self.line, self.at)
            assert found is not None
            self.at = found.end()
            if self.line[self.at :] not in ("", "\\"):
                return self.line[self.at]
            if not self._advance():
                return ""

    def _label(self) -> bool:
        first, start = self.line, self.at
        if self._through(_LABEL) != "]" or self.line[self.at + 1 : self.at + 2] != ":":
            return False
        is_blank = self.taken == 1 and not first[start : self.at].strip()
        self.at += 2
        return not is_blank

    def _destination(self) -> bool:
        if self.line.startswith("<", self.at):
            found = _BRACKETED.match(self.line, self.at)
            self.at = found.end() if found else self.at
            return found is not None
        found = _BARE.match(self.line, self.at)
        end = _balanced_end(self.line, self.at, found.end()) if found else self.at
        is_found, self.at = end > self.at, end
        return is_found

    def _title(self) -> bool:
        before = self.taken, self.at
        if not self._skip_space() or (self.taken, self.at) == before:
            return False
        opener = self.line[self.at]
        if opener not in _CLOSER:
            return False
        self.at += 1
        if self._through(_TITLE_END[opener]) != _CLOSER[opener]:
            return False
        return not self.line[self.at + 1 :].strip(" \t")


def _balanced_end(line: str, start: int, end: int) -> int:
    """Where a destination without brackets ends; `start` when its parentheses do not close."""
    level = 0
    at = start
    while at < end:
        char = line[at]
        if char == "\\":
            at += 1
        elif char == "(":
            level += 1
            if level > _MAX_PARENTHESES:
                return start
        elif char == ")":
            if level == 0:
                break
            level -= 1
        at += 1
    return start if level else min(at, end)
