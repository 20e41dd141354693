"""What the scanner finds in a document: headings, fences, list items, HTML blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple


class LineKind:
    """What a line belongs to; plain numbers, because a plan can have a million lines."""

    TEXT: Final = 0
    BLANK: Final = 1
    HEADING: Final = 2
    FENCE: Final = 3
    HTML: Final = 4
    CODE: Final = 5
    BREAK: Final = 6


class Heading(NamedTuple):
    """One heading; `line` is where its text starts, counted from 0."""

    line: int
    level: int
    text: str
    depth: int
    # Line after the heading: two or more lines on for headings underlined with === or ---.
    end: int

    @property
    def underlined(self) -> bool:
        """Whether it is a setext heading, made by the line below it."""
        return self.end > self.line + 1


class Fence(NamedTuple):
    """One fenced block: lines `start` to `end` (exclusive), content without fence indentation."""

    start: int
    end: int
    info: str
    content: tuple[str, ...]
    depth: int
    closed: bool


class ListItem(NamedTuple):
    """One item of a list that lies in no other list or quote."""

    line: int
    number: int | None
    text: str


class HtmlBlock(NamedTuple):
    """Lines `start` to `end` (exclusive) that CommonMark leaves to HTML."""

    start: int
    end: int
    closed: bool


@dataclass(frozen=True)
class Scan:
    """The block structure of a document, as far as plans need it."""

    # The lines without byte order mark and carriage return.
    lines: tuple[str, ...]
    kinds: bytes
    headings: tuple[Heading, ...]
    fences: tuple[Fence, ...]
    items: tuple[ListItem, ...]
    html: tuple[HtmlBlock, ...]
    too_deep: int | None
