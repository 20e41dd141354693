"""`{item}` inside quotes: it arrives quoted, so quotes around it do harm; and the line without."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise

import tree_sitter

from signoff.commands.operands import FILE_READERS
from signoff.commands.reading import syntax_of

_ITEM, _STAND_IN = b"{item}", b"uitemu"
_NAME = re.compile(rb"[\w./:=@%+,-]*", re.ASCII)
_PLAIN = re.compile(r"[\w./:=@%+,-]*")
# A quote of either kind becomes several when it is quoted, and one of them ends these.
_IN_DOUBLE = re.compile(r"""[^"'$`\\\x00-\x1f]*""")
_LIKE_DOUBLE = frozenset(("string", "heredoc_body"))
_INSIDE = frozenset(("command_substitution", "process_substitution", "arithmetic_expansion"))
_OWN_QUOTING = frozenset((*_INSIDE, "expansion"))
_TAKES_WORDS = FILE_READERS | {"test", "[", "[[", "grep", "egrep", "fgrep", "zgrep", "rg", "ag"}
_PRINTERS = frozenset(("echo", "printf"))
_PROGRAM_FOLLOWS = frozenset(("eval", "-c", "-e", "-p", "--eval", "--command"))


class Purpose(Enum):
    """What becomes of the quoted text."""

    WORD = auto()  # a name, or compared: the contract goes wrong
    SHOWN = auto()  # printed for people, or not understood
    PROGRAM = auto()  # `python3 -c "open({item})"`: the item's own quotes may be wanted


@dataclass(frozen=True, slots=True)
class QuotedItem:
    """One quoted text with an `{item}`; `line` counts from 0."""

    line: int
    quote: str
    purpose: Purpose
    corrected: str


@lru_cache(maxsize=1024)
def quoted_items(text: str) -> tuple[QuotedItem, ...]:
    """Where `{item}` stands directly inside quotes; a `$( )` begins afresh, whatever is around."""
    if "{item}" not in text or not ("'" in text or '"' in text):
        return ()
    source = text.encode("utf-8", "surrogatepass")
    # Braces mean something to the grammar; letters of the same length do not.
    root = syntax_of(source.replace(_ITEM, _STAND_IN))
    found = {node: places for node in _quoted(root) if (places := _places(source, node))}
    lines = _corrected(source, found)
    return tuple(
        QuotedItem(
            row := node.start_point[0],
            '"' if node.type == "string" else "'",
            Purpose.SHOWN if root.has_error else _purpose(node),
            lines[row].strip() if lines and row == node.end_point[0] else "",
        )
        for node in found
    )


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


def _corrected(source: bytes, found: dict[tree_sitter.Node, list[int]]) -> list[str]:
    """The lines with every `{item}` outside of quotes; none where one quote is inside another."""
    nodes = sorted(found, key=lambda node: node.start_byte)
    if any(after.start_byte < before.end_byte for before, after in pairwise(nodes)):
        return []
    for node in reversed(nodes):
        new = _without_quotes(source, node, found[node])
        source = source[: node.start_byte] + new + source[node.end_byte :]
    return source.decode("utf-8", "replace").split("\n")


def _quoted(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in ("string", "raw_string", "ansi_c_string"):
            yield node
        waiting.extend(reversed(node.children))


def _places(source: bytes, node: tree_sitter.Node) -> list[int]:
    """Where the quoted text itself, and nothing expanded in it, says `{item}`."""
    expanded = [c for c in node.children if c.type in _OWN_QUOTING]
    found = re.finditer(re.escape(_ITEM), source[: node.end_byte])
    return [
        m.start()
        for m in found
        if m.start() >= node.start_byte
        and not any(c.start_byte <= m.start() < c.end_byte for c in expanded)
    ]


def _without_quotes(source: bytes, node: tree_sitter.Node, places: list[int]) -> bytes:
    opening = b"$'" if node.type == "ansi_c_string" else source[node.start_byte :][:1]
    start, made = node.start_byte + len(opening), b""
    for place in (*places, node.end_byte - 1):
        part = source[start:place]
        plain = _NAME.fullmatch(part) is not None
        made += part if plain else opening + part + opening[-1:]
        made += _ITEM if place != node.end_byte - 1 else b""
        start = place + len(_ITEM)
    return made


def _purpose(node: tree_sitter.Node) -> Purpose:
    whole: tree_sitter.Node | None = node
    while whole is not None and whole.type not in ("command", "file_redirect", "test_command"):
        whole = whole.parent
    quoted = (node.text or b"")[1:-1]
    otherwise = Purpose.WORD if _NAME.fullmatch(quoted) else Purpose.PROGRAM
    if whole is None:
        return otherwise
    words = [(c.text or b"").decode("utf-8", "replace") for c in whole.named_children]
    if whole.type != "command" or words[0] in _TAKES_WORDS:
        return Purpose.WORD
    if words[0] in _PRINTERS:
        return Purpose.SHOWN if _is_only_shown(whole) else Purpose.WORD
    return otherwise if _PROGRAM_FOLLOWS.isdisjoint(words) else Purpose.PROGRAM


def _is_only_shown(command: tree_sitter.Node) -> bool:
    """Whether what `echo` prints is read by nobody else."""
    here, above = command, command.parent
    while above is not None:
        if above.type in _INSIDE or (above.type == "pipeline" and above.named_children[-1] != here):
            return False
        if above.type == "redirected_statement" and b">&" not in (above.text or b""):
            return False
        here, above = above, above.parent
    return True
