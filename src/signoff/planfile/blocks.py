"""Parts of a document and its frontmatter, the state of a scan, and the cutting of lines."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from signoff.errors import PlanUnreadable

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
    """Kinds of lines; plain numbers, because a plan can have a million lines."""

    TEXT: Final = 0
    BLANK: Final = 1
    HEADING: Final = 2
    FENCE: Final = 3
    HTML: Final = 4
    CODE: Final = 5
    BREAK: Final = 6


class Heading(Struct, frozen=True):
    """One heading; `line` is where its text starts, counted from 0."""

    line: int
    level: int
    text: str
    depth: int
    # Line after the heading: two or more lines on for headings underlined with === or ---.
    end: int

    @property
    def underlined(self) -> bool:
        """True for a setext heading, made by the line below it."""
        return self.end > self.line + 1


class FencedBlock(Struct, frozen=True):
    """One fenced block: lines `start` to `end` (exclusive), content without fence indentation."""

    start: int
    end: int
    info: str
    content: tuple[str, ...]
    depth: int
    closed: bool


class ListItem(Struct, frozen=True):
    """One item of a list that lies in no other list or quote."""

    line: int
    number: int | None
    text: str


class HtmlBlock(Struct, frozen=True):
    """Lines `start` to `end` (exclusive) that CommonMark leaves to HTML."""

    start: int
    end: int
    closed: bool


class BlockScan(Struct, frozen=True):
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


class Container(Struct):
    """A quote or a list item."""

    # 0 for a quote, else the columns that a line must be indented to stay in the list item.
    width: int
    empty: bool = True


class OpenFence(Struct):
    """A fence whose end was not met yet."""

    start: int
    marker: str
    indent: int
    info: str
    content: list[str]


def fence_cut(text: str, column: int, fence: OpenFence) -> int:
    """Columns of a content line that are indentation of the fence and of its containers."""
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


class HtmlKind(Struct, frozen=True):
    """Start and end of one kind of block; `interrupts` if it may end a paragraph."""

    start: str
    # None: the block ends before the next blank line.
    end: str | None
    interrupts: bool = True


_KINDS = (
    HtmlKind(
        r"(?i)<(?:script|pre|textarea|style)(?:\s|>|$)",
        r"(?i)</(?:script|pre|textarea|style)>",
    ),
    HtmlKind(r"<!--", r"-->"),
    HtmlKind(r"<\?", r"\?>"),
    HtmlKind(r"<![A-Za-z]", r">"),
    HtmlKind(r"<!\[CDATA\[", r"\]\]>"),
    HtmlKind(rf"(?i)</?(?:{_BLOCK_TAGS})(?:\s|/?>|$)", None),
    HtmlKind(rf"(?:{_OPEN_TAG}|{_CLOSE_TAG})\s*$", None, interrupts=False),
)


def html_kind(body: str, in_paragraph: bool) -> HtmlKind | None:
    """The kind of HTML block that a line starts, if it starts one."""
    for kind in _KINDS:
        if re.match(kind.start, body) and (kind.interrupts or not in_paragraph):
            return kind
    return None


NULLS = frozenset(("", "~", "null", "Null", "NULL"))
Value = str | tuple[str, ...] | None


class StatusSpan(Struct, frozen=True):
    """Position of the value of `status:` in the document, and its quotes."""

    line: int
    start: int
    end: int
    quote: str = ""


class Key(Struct, frozen=True):
    """One entry of the block; `nested` values are deeper than we read."""

    name: str
    value: Value
    line: int
    nested: bool = False


class Frontmatter(Struct, frozen=True):
    """Lines 0 to `end` (exclusive) of the document."""

    end: int
    keys: tuple[Key, ...] = ()
    status: StatusSpan | None = None
    # Column of the keys, for a status line that has to be added; None where none can be.
    column: int | None = None
    refused: str = ""
    refused_line: int = 0

    def values(self, name: str) -> tuple[str, ...]:
        """A list of strings, whether written as a list or as one comma-separated value."""
        value = next((key.value for key in self.keys if key.name == name), None)
        if value is None:
            return ()
        items = value.split(",") if isinstance(value, str) else value
        return tuple(item.strip() for item in items if item.strip())

    def key(self, name: str) -> Key | None:
        """The first entry with this name."""
        return next((key for key in self.keys if key.name == name), None)


class PlanLimits(Struct, frozen=True):
    """Upper limits of a plan; checked before anything expensive."""

    max_bytes: int = 20_000_000
    max_steps: int = 100_000


DEFAULT_LIMITS = PlanLimits()


def decode(data: bytes, name: str, limits: PlanLimits = DEFAULT_LIMITS) -> str:
    """The text of a plan file, byte order mark and line ends included."""
    check_limit(len(data), limits.max_bytes, "bytes", f"`{name}`")
    nul = data.find(b"\0")
    if nul >= 0:
        raise PlanUnreadable(
            f"`{name}` has a NUL byte at offset {nul} (line {_line_at(data, nul)}): "
            "it is not a text file",
            facts={"offset": nul, "line": _line_at(data, nul)},
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = _line_at(data, error.start)
        raise PlanUnreadable(
            f"`{name}` is not UTF-8: byte 0x{data[error.start]:02x} "
            f"at offset {error.start} (line {line})",
            hint="save the plan as UTF-8",
            facts={"offset": error.start, "line": line},
        ) from None


def check_limit(count: int, most: int, unit: str, what: str = "the plan") -> None:
    """Refuse what is too large to be read at all, or for anybody to oversee."""
    if count > most:
        instead = ", or use `**for_each:**`" if unit == "steps" else ""
        raise PlanUnreadable(
            f"{what} has {count:,} {unit}, the limit is {most:,}",
            hint=f"split the plan into several plans{instead}",
            facts={unit: count, f"max_{unit}": most},
        )


def _line_at(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
