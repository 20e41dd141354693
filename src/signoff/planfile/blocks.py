"""What the scanner finds in a document, what it keeps open meanwhile, and how lines are cut."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

BOM = "\ufeff"


def split_lines(text: str) -> tuple[str, ...]:
    r"""Lines without their `\n`; joined with `\n` they are the text again, byte for byte."""
    return tuple(text.split("\n"))


def bare(line: str) -> str:
    """The line without byte order mark and carriage return: what the scanner looks at."""
    return line.removeprefix(BOM).removesuffix("\r")


def without_closing_hashes(title: str) -> str:
    """A heading's text less the hashes that may close it, which need a space before them."""
    title = title.strip(" \t")
    if not title.endswith("#"):
        return title
    opened = title.rstrip("#")
    return opened.rstrip(" \t") if not opened or opened[-1] in " \t" else title


def without_columns(raw: str, columns: int) -> str:
    """The line less its first columns; a tab cut in two leaves its other columns as spaces."""
    if columns == 0:
        return raw
    if "\t" not in raw[:columns]:
        return raw[columns:]
    at = position = 0
    while at < columns and position < len(raw):
        at = at // 4 * 4 + 4 if raw[position] == "\t" else at + 1
        position += 1
    return " " * (at - columns) + raw[position:]


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


class FencedBlock(NamedTuple):
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
class BlockScan:
    """The block structure of a document, as far as plans need it."""

    # The lines without byte order mark and carriage return.
    lines: tuple[str, ...]
    kinds: bytes
    headings: tuple[Heading, ...]
    fences: tuple[FencedBlock, ...]
    items: tuple[ListItem, ...]
    html: tuple[HtmlBlock, ...]
    too_deep: int | None


class Leaf:
    """The open leaf block; the first two let any line start something new."""

    NONE: Final = 0
    PARAGRAPH: Final = 1
    FENCE: Final = 2
    HTML: Final = 3
    CODE: Final = 4


@dataclass
class Container:
    """A quote or a list item."""

    # 0 for a quote, else the columns that a line must be indented to stay in the list item.
    width: int
    empty: bool = True


@dataclass
class OpenFence:
    """A fence whose end was not met yet."""

    start: int
    marker: str
    indent: int
    info: str
    content: list[str]


def fence_cut(text: str, column: int, fence: OpenFence) -> int:
    """How many columns of a content line are indentation of the fence and what it lies in."""
    if not fence.indent:
        return column
    rest = text[column:].expandtabs(4) if not column else text[column:]
    return column + min(fence.indent, len(rest) - len(rest.lstrip(" ")))


# Where CommonMark's seven kinds of HTML blocks start and end: headings inside them are hidden.
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|"
    "head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|"
    "p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_ATTRIBUTE = (
    r"(?:\s+[A-Za-z_:][A-Za-z0-9:._-]*"
    r"(?:\s*=\s*(?:[^\"'=<>`\x00-\x20]+|'[^']*'|\"[^\"]*\"))?)"
)
_OPEN_TAG = rf"<[A-Za-z][A-Za-z0-9-]*{_ATTRIBUTE}*\s*/?>"
_CLOSE_TAG = r"</[A-Za-z][A-Za-z0-9-]*\s*>"


class HtmlKind(NamedTuple):
    """How one kind of block starts, how it ends, and whether it may end a paragraph."""

    start: re.Pattern[str]
    # None: the block ends before the next blank line.
    end: re.Pattern[str] | None
    interrupts: bool = True


_KINDS = (
    HtmlKind(
        re.compile(r"<(?:script|pre|textarea|style)(?:\s|>|$)", re.I),
        re.compile(r"</(?:script|pre|textarea|style)>", re.I),
    ),
    HtmlKind(re.compile(r"<!--"), re.compile(r"-->")),
    HtmlKind(re.compile(r"<\?"), re.compile(r"\?>")),
    HtmlKind(re.compile(r"<![A-Za-z]"), re.compile(r">")),
    HtmlKind(re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    HtmlKind(re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|$)", re.I), None),
    HtmlKind(re.compile(rf"(?:{_OPEN_TAG}|{_CLOSE_TAG})\s*$"), None, interrupts=False),
)


def html_kind(body: str, in_paragraph: bool) -> HtmlKind | None:
    """The kind of HTML block that a line starts, if it starts one."""
    for kind in _KINDS:
        if kind.start.match(body) and (kind.interrupts or not in_paragraph):
            return kind
    return None
