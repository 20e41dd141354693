"""Files that a contract compares with or loops over: who may change them decides what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from signoff.commands.operands import operands_of
from signoff.commands.tree import Block, Command, Loop, LoopKind, Node, Redirected, Word

_COMPARING = frozenset(("diff", "cmp", "comm", "paste", "join"))
_TESTS = frozenset(("test", "[", "[["))
_SEVERAL = frozenset(("awk", "gawk", "mawk"))
_VALUES_FROM = frozenset(("--slurpfile", "--rawfile", "--argfile"))
_SUMS = frozenset(("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"))
_SUMMING = _SUMS | {"shasum", "b2sum", "cksum"}
_CHECKS = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--check")
_SEARCHING = frozenset(("grep", "egrep", "fgrep", "rg"))
_PATTERNS_FROM = re.compile(r"-[A-Za-z]*f|--file")
_ITEMS_FROM = re.compile(r"-a|--arg-file")
_PRINTING = frozenset(("cat", "sort"))
_REDUCING = _PRINTING | {"tr", "head", "tail", "cut", "wc", "uniq", "sed", "jq"}


@dataclass(frozen=True, slots=True)
class Reference:
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
    printed = tuple(w for a in args for block in a.inner for w in printed_by(block, _REDUCING))
    if name in _COMPARING:
        return Named(name, (*operands_of(name, args), *printed), compares=True)
    if (name in _TESTS and len(printed) > 1) or (name in _SEARCHING and printed):
        return Named(name, printed, compares=name in _TESTS)
    if name in _SEVERAL and any("FNR" in a.text for a in args):
        return Named(name, tuple(operands_of(name, args)), compares=True)
    if name == "jq" and any(a.text in _VALUES_FROM for a in args):
        return Named(
            name, tuple(args[i + 2] for i, a in enumerate(args[:-2]) if a.text in _VALUES_FROM)
        )
    if name in _SUMMING and any(_CHECKS.fullmatch(a.text) for a in args if not a.quoted):
        return Named(f"{name} -c", tuple(a for a in args if not a.text.startswith("-")))
    if name in _SEARCHING:
        return _option(f"{name} -f", args, _PATTERNS_FROM)
    return None


def of_command(command: Command) -> Named | None:
    """What `xargs` reads its items from."""
    is_xargs = bool(command.words) and command.words[0].text == "xargs"
    return _option("xargs -a", command.words[1:], _ITEMS_FROM) if is_xargs else None


def _option(how: str, args: tuple[Word, ...], option: re.Pattern[str]) -> Named | None:
    for i, arg in enumerate(args):
        stated, equals, value = arg.text.partition("=")
        if arg.quoted or not option.fullmatch(stated):
            continue
        if equals:
            return Named(how, (Word(value, arg.line, arg.literal),))
        return Named(how, args[i + 1 : i + 2])
    return None


def of_loop(loop: Loop) -> Named | None:
    """`for x in $(cat list)`."""
    words = tuple(w for word in loop.words for block in word.inner for w in printed_by(block))
    return Named("for", words) if words else None


def fed_by(node: Redirected) -> Named | None:
    """`while read x; do …; done < list`."""
    if not _reads_lines(node):
        return None
    targets = [r.target for r in node.redirects if r.operator == "<" and r.target is not None]
    printed = [w for t in targets for block in t.inner for w in printed_by(block)]
    return Named("while read", (*targets, *printed))


def piped(source: Node, into: Node) -> Named | None:
    """`cat list | while read x`, `cat list | xargs`."""
    if _reads_lines(into):
        return Named("while read", printed_by(source))
    if isinstance(into, Command) and into.words and into.words[0].text == "xargs":
        return Named("xargs", printed_by(source))
    return None


def _reads_lines(node: Node) -> bool:
    inner = node.body if isinstance(node, Redirected) else node
    return isinstance(inner, Loop) and inner.kind is LoopKind.WHILE


def printed_by(node: Node, printing: frozenset[str] = _PRINTING) -> tuple[Word, ...]:
    """The files that `cat a`, `sort a` or `< a` print as they are."""
    if isinstance(node, Block) and len(node.items) == 1:
        return printed_by(node.items[0], printing)
    if not isinstance(node, Command):
        return ()
    if node.words and node.words[0].text not in printing:
        return ()
    fed = [r.target for r in node.redirects if r.operator == "<" and r.target is not None]
    named = operands_of(node.words[0].text, node.words[1:]) if node.words else []
    return (*named, *fed)
