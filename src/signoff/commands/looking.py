"""Find contracts that run nothing: they ask for a file, count its lines or search a word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache

from signoff.commands.launchers import see_through
from signoff.commands.reading import lower
from signoff.commands.tree import TESTS, Link, NodeKind, ShellNode, Word
from signoff.commands.uses import FILE_TESTS


class Look(IntEnum):
    """Things that a look at files can ask; the greatest is the most that a contract asks."""

    EXISTS = 1
    COUNTS = 2
    SEARCHES = 3


Looks = frozenset[Look] | None
"""The looks of a piece of shell text; None where it runs or compares something, or is unclear."""

_NOTHING: frozenset[Look] = frozenset()
_IS_THERE = frozenset((Look.EXISTS,))
_SEARCHING = frozenset(("grep", "egrep", "fgrep", "zgrep", "rg", "ag"))
_SHOWING = frozenset(
    (
        *("ls", "stat", "file", "du", "find", "cat", "head", "tail", "sort", "uniq", "cut", "tr"),
        *("nl", "tac", "tee", "readlink", "realpath", "basename", "dirname"),
    )
)
_SILENT = frozenset(
    (
        "cd",
        "pushd",
        "popd",
        "echo",
        "printf",
        "true",
        ":",
        "set",
        "mkdir",
        "exit",
        "return",
        "false",
    )
)
_LEAVING = frozenset(("exit", "return", "false"))
_ALL_OF = frozenset((NodeKind.BLOCK, NodeKind.SUBSHELL, NodeKind.PIPELINE, NodeKind.LOOP))
# What must be gone, whole lines, and patterns of a file are content, which is more than a word.
_ASKS_MORE = re.compile(r"-[A-Za-z]*[vLxf][A-Za-z]*|--(?:invert|files-without|line-re|file).*")
_COUNTING = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--count")
_AS_TEXT = frozenset(("=", "==", "!=", "<", ">"))
_COMPARING = _AS_TEXT | {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
_ABSENCE_OR_ORDER = frozenset(("!", "-z", "-nt", "-ot", "-ef", "=~"))
_DOES_MORE = frozenset(("-exec", "-execdir", "-ok", "-delete", "-c", "-C", "--check"))
_WHOLE_LINE = re.compile(r"\^.*\$", re.DOTALL)


@lru_cache(maxsize=4096)
def looks_of(text: str) -> frozenset[Look]:
    """The looks of a text that does nothing else; empty where it does, or cannot be read."""
    block, clear = lower(text)
    return (_looks(block) or _NOTHING) if clear else _NOTHING


def _all(found: Iterable[Looks]) -> Looks:
    together = _NOTHING
    for looks in found:
        if looks is None:
            return None
        together |= looks
    return together


def _looks(node: ShellNode) -> Looks:
    if node.kind is NodeKind.COMMAND:
        return _of_command(node)
    if node.kind is NodeKind.CHAIN:
        linked = zip(node.links, node.parts[1:], strict=True)
        # `grep x f && exit 1` asks that it is gone.
        gone = any(link is Link.AND and part.name in _LEAVING for link, part in linked)
        return None if gone else _all(map(_looks, node.parts))
    if node.kind is NodeKind.DECLARE:
        return _inside(node.words)
    if node.kind is NodeKind.ARITHMETIC:
        return None if "$(" in node.text else _NOTHING
    return _all((_inside(node.words), *map(_looks, node.parts))) if node.kind in _ALL_OF else None


def _inside(words: Iterable[Word]) -> Looks:
    return _all(_looks(block) for word in words for block in word.inner)


def _of_command(command: ShellNode) -> Looks:
    kept, inside = _inside(command.assigned), _inside((*command.assigned, *command.words))
    if inside is None or kept == _IS_THERE:  # a content, to be compared with something
        return None
    if not command.words:
        return inside
    seen = see_through(command)
    if seen.script is not None:
        return _all((inside, _looks(seen.script)))
    if seen.command is None or not seen.command.words:
        return None
    name, words = seen.command.name, seen.command.words[1:]
    own = _of_test(words) if name in TESTS else _of_program(name, tuple(w.text for w in words))
    return _all((inside, own))


def _of_program(name: str, args: tuple[str, ...]) -> Looks:
    if name in _SEARCHING:
        if any(_ASKS_MORE.fullmatch(arg) or _WHOLE_LINE.fullmatch(arg) for arg in args):
            return None
        return frozenset({Look.COUNTS if any(map(_COUNTING.fullmatch, args)) else Look.SEARCHES})
    if name == "wc":
        return frozenset({Look.COUNTS})
    if name in _SHOWING and _DOES_MORE.isdisjoint(args):
        return _IS_THERE
    return _NOTHING if name in _SILENT else None


def _of_test(words: tuple[Word, ...]) -> Looks:
    """`-s f` asks if it is there; a number of lines is a count, what is in it is content."""
    texts = [word.text for word in words]
    if _ABSENCE_OR_ORDER.intersection(texts):
        return None
    if _COMPARING.intersection(texts):
        asked = [_looks(block) for word in words for block in word.inner]
        counts = all(looks is not None and Look.COUNTS in looks for looks in asked)
        # A variable was read before it is compared: there it is seen what it holds.
        known = bool(asked) or not _AS_TEXT.intersection(texts)
        return _NOTHING if counts and known else None
    return _IS_THERE if FILE_TESTS.intersection(texts) else _NOTHING
