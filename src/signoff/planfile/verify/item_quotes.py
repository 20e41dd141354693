"""`{item}` inside quotes: it arrives quoted, so quotes around it do harm."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import tree_sitter

from signoff.commands.operands import FILE_READERS, PATTERN_FIRST
from signoff.commands.reading import syntax_of
from signoff.commands.tree import TESTS

_ITEM, _STAND_IN = b"{item}", b"uitemu"
_NAME = re.compile(rb"[\w./:=@%+,$^-]*", re.ASCII)
_PLAIN = re.compile(r"[\w./:=@%+,-]*")
# A quote of either kind becomes several when it is quoted, and one of them ends these.
_IN_DOUBLE = re.compile(r"""[^"'$`\\\x00-\x1f]*""")
_LIKE_DOUBLE = frozenset(("string", "heredoc_body"))
_INSIDE = frozenset(("command_substitution", "process_substitution", "arithmetic_expansion"))
_TAKES_WORDS = FILE_READERS | TESTS | PATTERN_FIRST - {"awk", "gawk", "sed", "jq", "yq", "perl"}
_PROGRAM_FOLLOWS = frozenset(("eval", "-c", "-e", "-p", "--eval", "--command"))


class QuotedItem(NamedTuple):
    """One quoted text with an `{item}`; `line` counts from 0.

    `decides` where it is a name or compared: then the contract goes wrong. It may also be part of a
    program, such as `python3 -c "open({item})"`, or shown to people.
    """

    line: int
    quote: str
    decides: bool
    in_program: bool


@lru_cache(maxsize=1024)
def quoted_items(text: str) -> tuple[QuotedItem, ...]:
    """Where `{item}` stands directly inside quotes; a `$( )` begins afresh, whatever is around."""
    if "{item}" not in text or not ("'" in text or '"' in text):
        return ()
    # Braces mean something to the grammar; letters of the same length do not.
    source = text.encode("utf-8", "surrogatepass").replace(_ITEM, _STAND_IN)
    root = syntax_of(source)
    return tuple(_quoted(source, root, node) for node in _with_items(source, root))


def _with_items(source: bytes, root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Quoted texts that themselves, and not by something expanded in them, hold the stand-in."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.children))
        if node.type in ("string", "raw_string", "ansi_c_string"):
            own = bytearray(source[node.start_byte : node.end_byte])
            for child in node.children:
                if child.type in _INSIDE or child.type == "expansion":
                    start, end = (
                        child.start_byte - node.start_byte,
                        child.end_byte - node.start_byte,
                    )
                    own[start:end] = b" " * (end - start)
            if _STAND_IN in own:
                yield node


def _quoted(source: bytes, root: tree_sitter.Node, node: tree_sitter.Node) -> QuotedItem:
    whole: tree_sitter.Node | None = node
    while whole is not None and whole.type not in ("command", "file_redirect", "test_command"):
        whole = whole.parent
    parts = whole.named_children if whole is not None else ()
    words = [source[c.start_byte : c.end_byte].decode("utf-8", "replace") for c in parts] or [""]
    is_name = _NAME.fullmatch(source[node.start_byte + 1 : node.end_byte - 1]) is not None
    is_word = whole is not None and (whole.type != "command" or words[0] in _TAKES_WORDS)
    shown = words[0] in ("echo", "printf")
    in_program = not (is_word or shown or (is_name and _PROGRAM_FOLLOWS.isdisjoint(words)))
    decides = not (in_program or shown or root.has_error)
    quote = '"' if node.type == "string" else "'"
    return QuotedItem(node.start_point[0], quote, decides, in_program)


def unfit_items(text: str, items: Iterable[str]) -> tuple[str, ...]:
    """Items that would not stay one word of the script: the shell would read what they say.

    Bare, `{item}` is safe whatever the item. Somebody who writes the list must not be able to write
    the contract with it, so inside other quotes only an item without special characters will do.
    """
    fits = _fitting(text)
    return tuple(item for item in items if fits is not None and not fits.fullmatch(item))


@lru_cache(maxsize=1024)
def _fitting(text: str) -> re.Pattern[str] | None:
    """What an item may look like; None when anything will do."""
    source = text.encode("utf-8", "surrogatepass").replace(_ITEM, _STAND_IN)
    root = syntax_of(source)
    kinds = {_place_of(root, found.start()) for found in re.finditer(_STAND_IN, source)}
    if kinds <= {"word"} and not root.has_error:
        return None
    return _IN_DOUBLE if kinds <= {"word", *_LIKE_DOUBLE} and not root.has_error else _PLAIN


def _place_of(root: tree_sitter.Node, start: int) -> str:
    """`word`, or the kind of quotes that the text at this place stands in."""
    node = root.named_descendant_for_byte_range(start, start + len(_STAND_IN))
    place = node.type if node is not None else ""
    while node is not None and node.type not in _INSIDE:
        if node.type in _LIKE_DOUBLE:
            return node.type
        node = node.parent
    return place
