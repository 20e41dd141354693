"""The scanner sees the headings and fences that a CommonMark parser sees."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from signoff.planfile.blocks import LineKind, split_lines
from signoff.planfile.scan import MAX_DEPTH, scan

Headings = list[tuple[int, int, int]]
Fences = list[tuple[int, int, str]]

_ORACLE = MarkdownIt("commonmark")


def _by_markdown_it(text: str) -> tuple[Headings, Fences]:
    headings: Headings = []
    fences: Fences = []
    for token in _ORACLE.parse(text):
        if token.type == "heading_open" and token.map:
            headings.append((token.map[0], int(token.tag[1]), token.map[1]))
        if token.type == "fence" and token.map:
            fences.append((token.map[0], token.map[1], token.content))
    return headings, fences


def _by_us(text: str) -> tuple[Headings, Fences]:
    found = scan(split_lines(text))
    headings = [(h.line, h.level, h.end) for h in found.headings]
    fences = [(f.start, f.end, "".join(f"{line}\n" for line in f.content)) for f in found.fences]
    return headings, fences


_FLAT = [
    "# a",
    "## b ##",
    "### 1. x",
    "####### no",
    "#no",
    "#",
    "#\ttab",
    "```",
    "```shell",
    "````",
    "`````x y",
    "~~~",
    "~~~~",
    "~~~ a`b",
    "``` a`b",
    "text",
    "**task:**",
    "---",
    "===",
    "***",
    "** *",
    "_ _ _",
    "***x",
    "<!-- c",
    "-->",
    "<!-- x -->",
    "<div>",
    "</div>",
    "<foo>",
    "</x>",
    "<a b='c'>",
    "<a b=c d>",
    "<pre>",
    "</pre>",
    "<?php",
    "?>",
    "<!DOCTYPE a",
    "<!DOCTYPE a>",
    "<![CDATA[",
    "]]>",
    "",
    "",
    "   ",
    "\t",
    "a\tb",
    "é–",
    "\u2028x",
    "\x0c",
    "\x85",
    "exit_code == 0",
    "**a** b",
    "--",
    "==",
]
_DEFINITIONS = [
    "[a]: b",
    "[a]:",
    "[b]: <c d>",
    "[b]: <c",
    "[c]: /u 'title'",
    "[d]: /u 'ti",
    "tle'",
    "'t'",
    "'t' x",
    '"u',
    'v"',
    "(w",
    "x)",
    "[e",
    "f]: g",
    "[a]: b c",
    '[a]: b "t"x',
    "[\\]]: u",
    "[a\\",
    "[a]: u(",
    "[a]: u(c\\)d)",
    "[a]: b)",
    "[^1]: note",
    "[ ]: u",
    "[a]:\tb\t't'",
    "[a] : b",
    "[x] done",
    "[a](b)",
]
_NESTED = [
    "- item",
    "-",
    "- - x",
    "* y",
    "+",
    "1. one",
    "2. two",
    "1)",
    "10. x",
    "01. x",
    "> q",
    ">",
    "> ```",
    "> # h",
    "> - ```",
    "- ```",
    "- # h",
    "1. ```sh",
    "- **t:** x",
    "-\tfoo",
    "- a\n  ```\n  b\n\n   c\n  ```",
    "1. p\n   ~~~\n     x\n   ~~~",
    "> ~~~\n> y",
    "- [a]: b",
    "> [a]: b",
    "1. [a]: b 't",
    "- [ ] open",
]


def _lines(indents: list[str], pieces: list[str]) -> st.SearchStrategy[str]:
    line = st.builds(str.__add__, st.sampled_from(indents), st.sampled_from(pieces))
    return st.builds(lambda lines: "\n".join(lines) + "\n", st.lists(line, max_size=14))


# Deep indentation and containers are generated apart: markdown-it-py leaves the specification
# where a line of a quote or list is indented by four columns or more (see the cases below).
_flat_documents = _lines(["", "", " ", "  ", "   ", "    ", "\t", " \t", "     "], _FLAT)
_nested_documents = _lines(["", "", " ", "  ", "   "], _FLAT + _NESTED)
# What a definition is mistaken for shows in what follows it: underlines, tags, headings.
_TELLING = ["---", "===", "<a>", "<div>", "<!-- c", "###", "### 2. x", "```"] * 4
_defining_documents = _lines(
    ["", "", "", " ", "   "], _FLAT + _NESTED + 4 * _DEFINITIONS + _TELLING
)


@settings(max_examples=400)
@given(_flat_documents)
@example("````\n```\n# no\n```\n````\n# yes\n")
@example("    ```\n# yes\n")
@example("text\n    ```\n# yes\n")
@example("<foo>\n# hidden\n\n# yes\n")
@example("text\n<foo>\n# yes\n")
@example("Steps\n---\n")
def test_headings_and_fences_are_those_of_commonmark(text: str) -> None:
    assert _by_us(text) == _by_markdown_it(text)


@settings(max_examples=400)
@given(_nested_documents)
@example("- a\n\n  ```\n  # no\n  ```\n# yes\n")
@example("1)\n   \n# yes\n")
@example("x\n>\n<foo>\n# hidden\n")
@example("- a\n```\n# no\n")
def test_headings_and_fences_in_lists_and_quotes_are_those_of_commonmark(text: str) -> None:
    assert _by_us(text) == _by_markdown_it(text)


@settings(max_examples=400)
@given(_defining_documents)
@example("[a]: b\n<a>\n### hidden\n\n# yes\n")
@example("[a]: b\n---\n# yes\n")
@example("[a]: b\n'ti\ntle'\n<a>\n# hidden\n")
@example("[a]: b\n'ti\ntle' x\n===\n")
@example("[a\n===\n]: b\n===\n")
@example("[a\n===\n# yes\n")
@example("[a]:\n-\n")
@example("> [a]: b\n<a>\n# hidden\n")
@example("- [a]: b\n<a>\n# hidden\n")
@example("text\n[a]: b\n<a>\n# yes\n")
def test_headings_and_fences_around_link_definitions_are_those_of_commonmark(text: str) -> None:
    assert _by_us(text) == _by_markdown_it(text)


@settings(max_examples=150)
@given(_flat_documents | _nested_documents | _defining_documents)
def test_line_ends_and_byte_order_mark_change_nothing(text: str) -> None:
    plain = _by_us(text)
    assert _by_us(text.replace("\n", "\r\n")) == plain
    assert _by_us("\ufeff" + text) == plain


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        # A quote's marker may be indented by three columns; this line is lazy text.
        ("> q\n    > # h\n", []),
        # Lazy text of the item, so the tag cannot start a block that would hide the heading.
        ("   - item\n    # a\n<foo>\n# a\n", [(3, 1, 4)]),
        # Any destination defines a link, also one that a renderer would refuse to follow.
        ("[a]: javascript:x\n---\n", []),
    ],
)
def test_where_the_oracle_leaves_the_specification_we_follow_the_specification(
    text: str, headings: Headings
) -> None:
    assert _by_us(text)[0] == headings


def test_a_tab_that_a_quote_cuts_in_two_leaves_spaces() -> None:
    assert _by_us("> ```\n>\tz\n")[1] == [(0, 2, "  z\n")]


def test_a_tab_before_fence_content_gives_up_only_the_fences_own_indentation() -> None:
    assert _by_us("  ```\n\tz\n  ```\n")[1] == [(0, 3, "  z\n")]


def test_lines_are_split_at_newlines_only_and_joined_again_byte_for_byte() -> None:
    text = "\ufeffa\r\nb\x0cc\u2028d\x85e\r\n\n\n"
    assert split_lines(text) == ("\ufeffa\r", "b\x0cc\u2028d\x85e\r", "", "", "")
    assert "\n".join(split_lines(text)) == text


def test_every_line_of_a_fence_is_known_as_such() -> None:
    found = scan(split_lines("a\n\n```\n# x\n\n```\n<!--\n-->\n    \n    code\n"))
    assert list(found.kinds) == [
        LineKind.TEXT,
        LineKind.BLANK,
        *[LineKind.FENCE] * 4,
        *[LineKind.HTML] * 2,
        LineKind.BLANK,
        LineKind.CODE,
        LineKind.BLANK,
    ]


def test_nesting_is_followed_to_a_limit_and_no_further() -> None:
    assert scan(("> " * MAX_DEPTH + "x",)).too_deep is None
    assert scan(("a", "> " * (MAX_DEPTH + 1) + "x")).too_deep == 1


@settings(max_examples=100)
@given(st.text(alphabet="#`~>-*1.) \t\nx<!/", max_size=80))
def test_any_text_is_scanned_and_every_line_gets_a_kind(text: str) -> None:
    lines = split_lines(text)
    found = scan(lines)
    assert len(found.kinds) == len(lines)
    for fence in found.fences:
        assert re.match(r"[ \t>*+.)0-9-]*(```|~~~)", lines[fence.start])
