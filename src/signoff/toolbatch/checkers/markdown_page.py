"""Markdown to `Page`, read by a CommonMark parser that is kept from reading for ever."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token

from signoff.toolbatch.checkers.finding import Severity
from signoff.toolbatch.checkers.html_page import read_html
from signoff.toolbatch.checkers.page import Page, Reference, Remark, Use
from signoff.toolbatch.checkers.slugs import heading_anchors
from signoff.toolbatch.checkers.texts import Lines, WordCount, count_words

# The parser's time grows with the square of a hostile paragraph; no honest one is this long.
LONGEST_PARAGRAPH = 20_000
READING_S = 10.0

_EMBEDDED = re.compile(r"data:[\w/+.-]{1,60};base64,[A-Za-z0-9+/=]+")
_FRONTMATTER = re.compile(
    r"\A---[ \t]*\n(?:(?!---[ \t]*$|\.\.\.[ \t]*$).*\n)*(?:---|\.\.\.)[ \t]*$", re.M
)
_UNDEFINED = re.compile(r"!?\[([^\[\]\n]{1,200})\]\[([^\[\]\n]{0,200})\]")
# To CommonMark `[^1]: note` defines a link to `note`.
_FOOTNOTE = re.compile(r"^([ \t>]{0,20})\[(\^[^\[\]\n]{1,200}\]:)", re.MULTILINE)
_OWN_ANCHOR = re.compile(r"\{\s*#([\w.:-]{1,200})[^{}\n]{0,200}\}\s*$")
_PARSER_KEY = "signoff"


def read_markdown(text: str) -> Page:
    """The page that GitHub would make of it."""
    text = _FRONTMATTER.sub(lambda found: "\n" * found.group().count("\n"), text)
    text = _FOOTNOTE.sub(r"\1\\[\2", _EMBEDDED.sub("data:", text))
    reader = _Reader()
    reader.read(text)
    return reader.page()


def _parser() -> MarkdownIt:
    """CommonMark with tables; paragraphs are read one by one, each link says where it stands."""
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    parser.inline.ruler.at("link", _placed(link, "link_open"))
    parser.inline.ruler.at("image", _placed(image, "image"))
    return parser


def _placed(rule: Any, name: str) -> Any:
    def placed(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        found: bool = rule(state, silent)
        if silent:
            return found
        if found:
            for token in state.tokens[before : before + 2]:
                if token.type == name:
                    token.meta["at"] = start
                    break
        else:
            _note_undefined(state, start, "![" if name == "image" else "[")
        return found

    return placed


def _note_undefined(state: StateInline, start: int, sign: str) -> None:
    if not state.src.startswith(sign, start):
        return
    found = _UNDEFINED.match(state.src, start)
    # `rows[i][j]` is an expression, `[^1]` a footnote, `[x][ ]` boxes.
    if found is None or (
        start and (state.src[start - 1].isalnum() or state.src[start - 1] in ")]_!")
    ):
        return
    label = (found.group(2) or found.group(1)).strip()
    if label and not label.startswith("^") and not found.group(1).startswith("^"):
        state.env.setdefault(_PARSER_KEY, []).append((start, label))


class _Reader:
    """Collects what is said block by block."""

    def __init__(self) -> None:
        self._references: list[Reference] = []
        self._remarks: list[Remark] = []
        self._titles: list[str] = []
        self._ids: set[str] = set()
        self._blocks: list[str] = []
        self._sections: list[int] = []
        self._shows = False
        self._parser = _parser()
        self._env: dict[str, Any] = {}

    def read(self, text: str) -> None:
        """The whole document, for as long as that takes no more than it may."""
        line, heading, deadline = 0, "", time.monotonic() + READING_S
        for token in self._parser.parse(text, self._env):
            line = token.map[0] if token.map else line
            if token.type == "heading_open":
                heading = token.tag
            elif token.type == "inline":
                if time.monotonic() > deadline or len(token.content) > LONGEST_PARAGRAPH:
                    self._too_long(line + 1)
                    continue
                self._inline(token, line + 1, heading)
                heading = ""
            elif token.type == "html_block":
                self._html(token.content, line + 1)
            elif token.type in ("fence", "code_block"):
                self._shows = True

    def page(self) -> Page:
        """What was collected."""
        count: WordCount = count_words(self._blocks)
        return Page(
            tuple(self._references),
            heading_anchors(self._titles) | self._ids,
            count.words,
            count.different,
            sum(words > 0 for words in self._sections),
            self._shows or count.words > 0,
            "",
            tuple(self._remarks),
        )

    def _inline(self, token: Token, line: int, heading: str) -> None:
        self._env[_PARSER_KEY] = []
        children: list[Token] = []
        self._parser.inline.parse(token.content, self._parser, self._env, children)
        lines = Lines(token.content)
        for child in children:
            here = line + lines.at(child.meta["at"]) - 1 if "at" in child.meta else line
            if child.type == "link_open":
                self._references.append(Reference(str(child.attrGet("href") or ""), here))
            elif child.type == "image":
                self._shows = True
                target = str(child.attrGet("src") or "")
                self._references.append(Reference(target, here, Use.ASSET))
            elif child.type == "html_inline":
                self._html(child.content, line)
        for start, label in self._env[_PARSER_KEY]:
            self._undefined(label, line + lines.at(start) - 1)
        self._words("".join(_said(children)), heading)

    def _words(self, said: str, heading: str) -> None:
        self._blocks.append(said)
        if heading:
            own = _OWN_ANCHOR.search(said)
            self._ids |= {own[1]} if own else set()
            self._titles.append(said)
            if heading != "h1":
                self._sections.append(0)
        elif self._sections and said.strip():
            self._sections[-1] += 1

    def _html(self, text: str, line: int) -> None:
        inside = read_html(text)
        self._ids |= inside.anchors
        self._shows = self._shows or inside.shows
        for reference in inside.references:
            self._references.append(
                Reference(reference.target, reference.line + line - 1, reference.use)
            )

    def _undefined(self, label: str, line: int) -> None:
        self._remarks.append(
            Remark(
                "undefined-reference",
                line,
                f"there is no definition of `[{label}]`",
                f"add a line `[{label}]: target`, or write the link out",
                Severity.WARNING,
                label,
            )
        )

    def _too_long(self, line: int) -> None:
        self._remarks.append(
            Remark(
                "too-complex",
                line,
                f"a paragraph is too long to read (more than {LONGEST_PARAGRAPH} characters)",
                "break it up",
                Severity.UNKNOWN,
            )
        )


def _said(children: Sequence[Token]) -> Iterator[str]:
    for child in children:
        if child.type in ("text", "code_inline"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield " "
