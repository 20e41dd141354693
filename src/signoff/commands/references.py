"""Files that a contract compares with or loops over: who may change them decides what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from signoff.commands.operands import operands_of
from signoff.commands.tree import TESTS, NodeKind, ShellNode, Word

_COMPARING = frozenset(("diff", "cmp", "comm", "paste", "join"))
_SEVERAL = frozenset(("awk", "gawk", "mawk"))
_VALUES_FROM = frozenset(("--slurpfile", "--rawfile", "--argfile"))
_SUMMING = re.compile(r"(?:md5|sha\d{0,3}|b2)sum|cksum")
_CHECKS = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--check")
_SEARCHING = frozenset(("grep", "egrep", "fgrep", "rg"))
_PATTERNS_FROM = re.compile(r"-[A-Za-z]*f|--file")
_ITEMS_FROM = re.compile(r"-a|--arg-file")
_PRINTING = frozenset(("cat", "sort"))
_REDUCING = _PRINTING | {"tr", "head", "tail", "cut", "wc", "uniq", "sed", "jq"}


@dataclass(frozen=True, slots=True)
class ComparedFiles:
    """Files that say what is right or what is checked; `compares` when with one another."""

    paths: tuple[str, ...]
    line: int
    how: str
    compares: bool


class Named(NamedTuple):
    """The words that name such files, and the words for what is done with them."""

    how: str
    words: tuple[Word, ...]
    compares: bool = False


def of_call(name: str, args: tuple[Word, ...]) -> Named | None:
    """What a plain command is given to go by."""
    printed = _printed_in(args, _REDUCING)
    if name in _COMPARING:
        return Named(name, (*operands_of(name, args), *printed), compares=True)
    if (name in TESTS and len(printed) > 1) or (name in _SEARCHING and printed):
        return Named(name, printed, compares=name in TESTS)
    if name in _SEVERAL and any("FNR" in a.text for a in args):
        return Named(name, tuple(operands_of(name, args)), compares=True)
    if name == "jq" and any(a.text in _VALUES_FROM for a in args):
        values = (args[i + 2] for i, a in enumerate(args[:-2]) if a.text in _VALUES_FROM)
        return Named(name, tuple(values))
    if _SUMMING.fullmatch(name) and any(_CHECKS.fullmatch(a.text) for a in args if not a.quoted):
        return Named(f"{name} -c", tuple(a for a in args if not a.text.startswith("-")))
    return _option(f"{name} -f", args, _PATTERNS_FROM) if name in _SEARCHING else None


def of_node(node: ShellNode) -> Named | None:
    """`xargs -a list`, `for x in $(cat list)`, `while read x; do …; done < list`."""
    if node.name == "xargs":
        return _option("xargs -a", node.words[1:], _ITEMS_FROM)
    if node.kind is not NodeKind.LOOP:
        return None
    if node.text == "for":
        words = _printed_in(node.words)
        return Named("for", words) if words else None
    fed = tuple(r.target for r in node.redirects if r.operator == "<" and r.target is not None)
    return Named("while read", (*fed, *_printed_in(fed))) if fed else None


def piped(source: ShellNode, into: ShellNode) -> Named | None:
    """`cat list | while read x`, `cat list | xargs`."""
    if into.kind is NodeKind.LOOP and into.text == "while":
        return Named("while read", _printed_by(source))
    return Named("xargs", _printed_by(source)) if into.name == "xargs" else None


def _option(how: str, args: tuple[Word, ...], option: re.Pattern[str]) -> Named | None:
    for i, arg in enumerate(args):
        stated, equals, value = arg.text.partition("=")
        if arg.quoted or not option.fullmatch(stated):
            continue
        if equals:
            return Named(how, (Word(value, arg.line, arg.literal),))
        return Named(how, args[i + 1 : i + 2])
    return None


def _printed_in(words: tuple[Word, ...], printing: frozenset[str] = _PRINTING) -> tuple[Word, ...]:
    """The files whose content stands where the words have a `$( )`."""
    return tuple(w for word in words for block in word.inner for w in _printed_by(block, printing))


def _printed_by(node: ShellNode, printing: frozenset[str] = _PRINTING) -> tuple[Word, ...]:
    """The files that `cat a`, `sort a` or `< a` print as they are."""
    if node.kind in (NodeKind.BLOCK, NodeKind.SUBSHELL) and len(node.parts) == 1:
        return _printed_by(node.parts[0], printing)
    if node.kind is not NodeKind.COMMAND or (node.words and node.name not in printing):
        return ()
    fed = [r.target for r in node.redirects if r.operator == "<" and r.target is not None]
    named = operands_of(node.name, node.words[1:]) if node.words else []
    return (*named, *fed)
