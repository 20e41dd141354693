"""A line scanner that sees the headings, fences and lists that CommonMark sees, in linear time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from signoff.planfile.blocks import (
    BOM,
    BlockScan,
    Container,
    FencedBlock,
    Heading,
    HtmlBlock,
    HtmlKind,
    Leaf,
    LineKind,
    ListItem,
    OpenFence,
    fence_cut,
    html_kind,
    without_closing_hashes,
    without_columns,
)

# Deeper nesting is treated as text: it bounds the work per line, and no plan needs it.
MAX_DEPTH = 20

# A line that, without any list or quote around it, can only be paragraph text.
_PLAIN = re.compile(r"[^ \t#`~>\-+*0-9<=_\[]|\*\*[^*\s]|\[[^\[\]\\]*(?:\[|\](?!:))")
_ATX = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_FENCE = re.compile(r"(`{3,})([^`]*)$|(~{3,})(.*)$", re.DOTALL)
_SETEXT = re.compile(r"(?:=+|-+) *$")
_BREAK = re.compile(r"(?:(?:\* *){3,}|(?:_ *){3,}|(?:- *){3,})$")
_HEADING = bytes([LineKind.HEADING])
_DEFINITION = re.compile(r"\[[^\[\]]+\]:|\\")
_MARKER = re.compile(r"(?:[*+-]|([0-9]{1,9})[.)])(?= |$)")


def scan(lines: Sequence[str], first: int = 0) -> BlockScan:
    """Scan from line `first` on; what lies before it (frontmatter) counts as blank."""
    return _Scanner(lines, first).run()


def _definition_lines(lines: list[str]) -> int:
    """Number of leading lines that are link reference definitions: dashes below make no heading.

    They are rare in plans, and the library that knows them takes time to load.
    """
    if not _DEFINITION.search("\n".join(lines)):
        return 0
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as said
    from markdown_it.token import Token  # noqa: PLC0415 - as said

    markdown, tokens = MarkdownIt("commonmark"), list[Token]()
    markdown.validateLink = bool  # type: ignore[method-assign, assignment]
    markdown.block.parse("\n".join(lines), markdown, {}, tokens)
    first = tokens[0].map if tokens else None
    return first[0] if first else len(lines)


class _Scanner:
    """run → _line → (_match_containers, _continue_leaf, _open_blocks, _add_text)."""

    def __init__(self, lines: Sequence[str], first: int) -> None:
        self.lines = [line.removesuffix("\r") for line in lines]
        if self.lines and first == 0:
            self.lines[0] = self.lines[0].removeprefix(BOM)
        self.first = first
        self.kinds = bytearray(len(self.lines))
        self.kinds[:first] = bytes([LineKind.BLANK]) * first
        self.stack: list[Container] = []
        self.leaf: int = Leaf.NONE
        self.i = first
        self.paragraph_start = first
        self.fence = OpenFence(0, "", 0, "", [])
        self.html_kind: HtmlKind | None = None
        self.html_start = 0
        self.headings: list[Heading] = []
        self.fences: list[FencedBlock] = []
        self.items: list[ListItem] = []
        self.html: list[HtmlBlock] = []
        self.too_deep: int | None = None

    def run(self) -> BlockScan:
        count, plain = len(self.lines), _PLAIN.match
        while self.i < count:
            line = self.lines[self.i]
            # Most lines: text that can start nothing, in no list or quote.
            if plain(line) and not self.stack and self.leaf < Leaf.FENCE:
                if not self.leaf:
                    self.leaf, self.paragraph_start = Leaf.PARAGRAPH, self.i
            else:
                self._line(line)
            self.i += 1
        # A final "\n" leaves one empty string behind that is no line of the document.
        ends_blank = count > self.first and not self.lines[-1]
        if ends_blank and self.leaf == Leaf.FENCE and self.fence.content:
            self.fence.content.pop()
        self._close_leaf(count - 1 if ends_blank else count)
        return BlockScan(
            tuple(self.lines),
            bytes(self.kinds),
            tuple(self.headings),
            tuple(self.fences),
            tuple(self.items),
            tuple(self.html),
            self.too_deep,
        )

    def _line(self, raw: str) -> None:
        # Tabs count as spaces up to the next multiple of four wherever they shape blocks.
        text = raw.expandtabs(4) if "\t" in raw else raw
        column, matched = self._match_containers(text)
        all_matched = matched == len(self.stack)
        if all_matched and self._continue_leaf(raw, text, column):
            return
        in_paragraph = all_matched and self.leaf == Leaf.PARAGRAPH
        self._open_blocks(text, column, matched, in_paragraph)

    def _match_containers(self, text: str) -> tuple[int, int]:
        """The column at which a line's own content starts, and the number of containers around."""
        column = 0
        for matched, container in enumerate(self.stack):
            rest = text[column:]
            body = rest.lstrip(" ")
            indent = len(rest) - len(body)
            if container.width == 0:
                if indent > 3 or not body.startswith(">"):
                    return column, matched
                column += indent + 1
                column += text[column : column + 1] == " "
            elif indent >= container.width and (body or not container.empty):
                column += container.width
            elif body or container.empty:
                return column, matched
            else:
                column += indent
        return column, len(self.stack)

    def _continue_leaf(self, raw: str, text: str, column: int) -> bool:
        """True when the open leaf block takes the line; closes the leaf when it ends before it."""
        body = text[column:].lstrip(" ")
        indent = len(text) - column - len(body)
        if self.leaf == Leaf.FENCE:
            self._continue_fence(raw, text, column)
            return True
        if self.leaf == Leaf.HTML:
            if not body and self.html_kind is not None and self.html_kind.end is None:
                self._close_leaf(self.i, closed=True)
                return False
            self.kinds[self.i] = LineKind.HTML
            self._end_html_here(body)
            return True
        if self.leaf == Leaf.CODE:
            if indent >= 4 and body:
                self.kinds[self.i] = LineKind.CODE
                return True
            if body:
                self.leaf = Leaf.NONE
        elif not body:
            self.leaf = Leaf.NONE
        return False

    def _continue_fence(self, raw: str, text: str, column: int) -> None:
        fence = self.fence
        self.kinds[self.i] = LineKind.FENCE
        body = text[column:].lstrip(" ")
        indent = len(text) - column - len(body)
        closer = body.rstrip(" ")
        if indent <= 3 and closer.startswith(fence.marker) and not closer.strip(fence.marker[0]):
            self._close_leaf(self.i + 1, closed=True)
        else:
            fence.content.append(without_columns(raw, fence_cut(text, column, fence)))

    def _open_blocks(self, text: str, column: int, matched: int, in_paragraph: bool) -> None:
        """Open what the line starts, one container after the other, then place the rest of it."""
        lazy = matched < len(self.stack) and self.leaf == Leaf.PARAGRAPH
        while True:
            body = text[column:].lstrip(" ")
            indent = len(text) - column - len(body)
            if not body:
                self._close_unmatched(matched)
                self.kinds[self.i] = LineKind.BLANK
                return
            if indent >= 4:
                if not (in_paragraph or lazy):
                    self._start_leaf(Leaf.CODE, matched, LineKind.CODE)
                    return
                break
            if self._start_block(body, indent, matched, in_paragraph, lazy):
                return
            opened = self._container(body, indent, in_paragraph)
            if opened is None:
                break
            self._close_unmatched(matched)
            self._close_leaf(self.i)
            container, width, number = opened
            column += width
            if container.width and not self.stack:
                self.items.append(ListItem(self.i, number, text[column:].strip(" ")))
            self._fill()
            self.stack.append(container)
            matched, in_paragraph, lazy = len(self.stack), False, False
        if not in_paragraph and not lazy:
            self._start_leaf(Leaf.PARAGRAPH, matched, LineKind.TEXT)
            self.paragraph_start = self.i
            if body[0] == "[":
                self._pass_definition(body)

    def _pass_definition(self, body: str) -> None:
        """Go to the last line of the link definitions that start here; the next starts anew."""
        lines = [body]
        for at in range(self.i + 1, len(self.lines)):
            following = self._continuation(self.lines[at])
            if following is None:
                break
            lines.append(following)
        taken = _definition_lines(lines)
        if taken:
            self.leaf = Leaf.NONE
            self.i += taken - 1

    def _continuation(self, raw: str) -> str | None:
        """The text that a line adds to an unfinished definition; None when it starts a block."""
        text = raw.expandtabs(4) if "\t" in raw else raw
        column, _ = self._match_containers(text)
        body = text[column:].lstrip(" ")
        indent = len(text) - column - len(body)
        if not body or indent >= 4:
            return text[column:] if body else None
        ends = (
            _ATX.match(body)
            or _FENCE.match(body)
            or _BREAK.match(body)
            or html_kind(body, in_paragraph=True)
            or self._container(body, indent, in_paragraph=False)
        )
        return None if ends else body

    def _start_block(
        self, body: str, indent: int, matched: int, in_paragraph: bool, lazy: bool
    ) -> bool:
        """Open the leaf block that the line starts, if it starts one."""
        first = body[0]
        if first == "#" and (atx := _ATX.match(body)):
            self._start_leaf(Leaf.NONE, matched, LineKind.HEADING)
            self._add_heading(self.i, len(atx[1]), without_closing_hashes(body[atx.end() :]))
        elif first in "`~" and (opener := _FENCE.match(body)):
            self._start_leaf(Leaf.FENCE, matched, LineKind.FENCE)
            marker = opener[1] or opener[3]
            info = (opener[2] or opener[4] or "").strip(" ")
            self.fence = OpenFence(self.i, marker, indent, info, [])
        elif first == "<" and (kind := html_kind(body, in_paragraph or lazy)):
            self._start_leaf(Leaf.HTML, matched, LineKind.HTML)
            self.html_kind, self.html_start = kind, self.i
            self._end_html_here(body)
        elif in_paragraph and _SETEXT.match(body):
            lines = self.lines[self.paragraph_start : self.i]
            self.kinds[self.paragraph_start : self.i + 1] = _HEADING * (len(lines) + 1)
            self.leaf = Leaf.NONE
            title = " ".join(line.strip(" \t") for line in lines)
            self._add_heading(self.paragraph_start, 1 if first == "=" else 2, title)
        elif first in "*_-" and _BREAK.match(body):
            self._start_leaf(Leaf.NONE, matched, LineKind.BREAK)
        else:
            return False
        return True

    def _container(
        self, body: str, indent: int, in_paragraph: bool
    ) -> tuple[Container, int, int | None] | None:
        """The quote or list item that the line opens: it, its columns on this line, its number."""
        marker = None if body[0] == ">" else _MARKER.match(body)
        if body[0] != ">" and marker is None:
            return None
        if len(self.stack) >= MAX_DEPTH:
            self.too_deep = self.i if self.too_deep is None else self.too_deep
            return None
        if marker is None:
            return Container(0), indent + 1 + (body[1:2] == " "), None
        number = int(marker[1]) if marker[1] else None
        rest = body[marker.end() :]
        spaces = len(rest) - len(rest.lstrip(" "))
        is_blank = spaces == len(rest)
        if in_paragraph and (is_blank or number not in (None, 1)):
            return None
        padding = 1 if is_blank or spaces >= 5 else spaces
        used = min(padding, len(rest))
        return Container(indent + marker.end() + padding), indent + marker.end() + used, number

    def _start_leaf(self, leaf: int, matched: int, kind: int) -> None:
        self._close_unmatched(matched)
        self._close_leaf(self.i)
        self._fill()
        self.leaf = leaf
        self.kinds[self.i] = kind

    def _fill(self) -> None:
        if self.stack:
            self.stack[-1].empty = False

    def _add_heading(self, line: int, level: int, title: str) -> None:
        self.headings.append(Heading(line, level, title, len(self.stack), self.i + 1))

    def _end_html_here(self, body: str) -> None:
        end = self.html_kind.end if self.html_kind else None
        if end is not None and re.search(end, body):
            self._close_leaf(self.i + 1, closed=True)

    def _close_unmatched(self, matched: int) -> None:
        if matched < len(self.stack):
            self._close_leaf(self.i)
            del self.stack[matched:]

    def _close_leaf(self, end: int, closed: bool = False) -> None:
        """Record a fence or HTML block that ends before this line."""
        if self.leaf == Leaf.FENCE:
            fence = self.fence
            content, depth = tuple(fence.content), len(self.stack)
            self.fences.append(FencedBlock(fence.start, end, fence.info, content, depth, closed))
        elif self.leaf == Leaf.HTML:
            ends_at_blank = self.html_kind is not None and self.html_kind.end is None
            self.html.append(HtmlBlock(self.html_start, end, closed or ends_at_blank))
        self.leaf = Leaf.NONE
