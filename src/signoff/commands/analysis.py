"""Everything static verification knows about one shell command, analysed once per text.

Generated plans repeat one command with other numbers in its names. Such commands share a shape, so
the shape is analysed once and the numbers are put back into the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.launchers import Invocation, inside, started_by
from signoff.commands.launchers import is_plain as is_plain_word
from signoff.commands.operands import ComparedFiles
from signoff.commands.reading import lower
from signoff.commands.statuses import (
    ANY,
    PRINTERS,
    ShellEvaluation,
    Statuses,
    lost_failures,
    printed_anyway,
)
from signoff.commands.uses import Collector, CommandCall, FileUse, FileWrite, Unseen

MAX_ANALYSED_CHARS = 20_000
_MOST_UNSEEN = 5
_MOST_FOLDERS = 8
# Simple commands of plain and quoted words, with an operator between each two: what most contracts
# are, and nothing of it can be wrong.
_RESERVED = "if|then|elif|else|fi|for|while|until|do|done|case|esac|in|select|function|time|coproc"
_WORD = r"""(?:[A-Za-z0-9_./:,@%^~=+-]|'[^']*+'|"[^"\\`$]*+")++"""
_WORDS = rf"(?:\[(?=[ \t])|(?!(?:{_RESERVED})\b){_WORD})(?:[ \t]++(?:{_WORD}|\](?![^ \t;|&\n])))*+"
_PLAIN_SCRIPT = re.compile(rf"{_WORDS}(?:[ \t]*+(?:&&|\|\|?+|;|\n)[ \t]*+{_WORDS})*+[ \t\n]*+")
_NUMBERED = re.compile(r"(?<![\w./$@{-])[A-Za-z_./][A-Za-z_./-]*[0-9][\w./-]*", re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
_WORD_PLACE = "zq"
_KNOWN_BY_NUMBER = frozenset(("python3", "md5sum", "sha1sum", "sha256sum"))


class ShellFacts(Struct, frozen=True):
    """Lines count from 0 within the command; paths are relative to the workspace."""

    # The text, or one like it, that bash has to read; empty where nothing in it can be wrong.
    unchecked: str = ""
    unseen: tuple[Unseen, ...] = ()
    calls: tuple[CommandCall, ...] = ()
    reads: tuple[FileUse, ...] = ()
    writes: tuple[FileWrite, ...] = ()
    references: tuple[ComparedFiles, ...] = ()
    scripts: tuple[FileUse, ...] = ()
    functions: frozenset[str] = frozenset()
    statuses: Statuses = ANY
    last_line: int = 0
    lost_lines: tuple[int, ...] = ()  # of commands whose failure is hidden
    prints: tuple[str, ...] = ()  # whatever the workspace holds

    @property
    def certain(self) -> bool:
        """True when the analysis could see all of it."""
        return not self.unseen

    @property
    def names(self) -> tuple[str, ...]:
        """Every file the command speaks of."""
        found = [use.path for use in (*self.reads, *self.scripts)]
        found += [write.path for write in self.writes if write.path]
        return tuple(dict.fromkeys(found))


@lru_cache(maxsize=4096)
def analyse(text: str) -> ShellFacts:
    """The facts about a command; never raises, whatever the text."""
    shape, numbers = shape_of(text)
    if not numbers:
        return _analyse(text)
    facts = _analyse(shape)
    return _analyse(text) if facts.unseen else with_numbers(facts, numbers)


@lru_cache(maxsize=4096)
def _analyse(text: str) -> ShellFacts:
    if len(text) > MAX_ANALYSED_CHARS:
        return ShellFacts(unseen=(Unseen(0, f"a command of {len(text)} characters"),))
    block, clear = lower(text)
    seen = Collector()
    seen.visit(block)
    unseen = tuple(dict.fromkeys(seen.unseen))[:_MOST_UNSEEN]
    if not clear and not unseen:
        unseen = (Unseen(0, "all of the shell syntax used here"),)
    may_echo = any(call.name in PRINTERS for call in seen.calls)
    return ShellFacts(
        unchecked="" if is_plain(text) else text,
        unseen=unseen,
        calls=tuple(seen.calls),
        reads=tuple(seen.reads),
        writes=tuple(seen.writes),
        references=tuple(seen.references),
        scripts=tuple(seen.scripts),
        functions=frozenset(seen.functions),
        statuses=ShellEvaluation().final(block) if clear else ANY,
        last_line=block.parts[-1].line if block.parts else 0,
        lost_lines=lost_failures(block) if clear else (),
        prints=printed_anyway(block) if may_echo else (),
    )


def is_readable(text: str) -> bool:
    """True when all syntax of shell text was understood; what it runs may still be hidden."""
    return len(text) <= MAX_ANALYSED_CHARS and lower(text)[1]


def is_plain(text: str) -> bool:
    """True when the text is so simple that bash cannot refuse it."""
    return _PLAIN_SCRIPT.fullmatch(text) is not None


def invocations_of(facts: ShellFacts, folder: str) -> Iterator[Invocation]:
    """Every tool that a shell text runs, launchers included, outermost first.

    After a `cd` a call may run in the folder before or behind it (a subshell ends one), so it
    counts for both.
    """
    folders = [folder]
    for call in facts.calls:
        if call.name in ("cd", "pushd"):
            target = next((a for a in call.args if not a.startswith("-")), "")
            entered = [inside(f, target) for f in folders if target and is_plain_word(target)]
            folders += [f for f in entered if f is not None and f not in folders]
            del folders[_MOST_FOLDERS:]
        for here in folders:
            yield from started_by(call.name, call.args, here)


def shape_of(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The text with numbers that do not matter replaced by places, and those places' numbers."""
    places: dict[str, str] = {}
    if _WORD_PLACE in text or "://" in text or "/dev" in text:
        return text, []

    def place(digits: re.Match[str]) -> str:
        return places.setdefault(digits[0], f"{_WORD_PLACE}{len(places)}qz")

    def without_numbers(path: re.Match[str]) -> str:
        known = path[0].rpartition("/")[2] in _KNOWN_BY_NUMBER
        return path[0] if known else _DIGITS.sub(place, path[0])

    shape = _NUMBERED.sub(without_numbers, text)
    return shape, [(place, number) for number, place in places.items()]


def with_numbers(facts: ShellFacts, pairs: list[tuple[str, str]]) -> ShellFacts:
    """The facts of a shape as the facts of one text of that shape."""

    def fill(text: str) -> str:
        for place, number in pairs:
            text = text.replace(place, number)
        return text

    return replace(
        facts,
        calls=tuple(
            CommandCall(fill(c.name), tuple(map(fill, c.args)), c.line) for c in facts.calls
        ),
        reads=tuple(FileUse(fill(u.path), u.line, u.order) for u in facts.reads),
        writes=tuple(replace(w, path=fill(w.path)) for w in facts.writes),
        references=tuple(replace(r, paths=tuple(map(fill, r.paths))) for r in facts.references),
        scripts=tuple(FileUse(fill(u.path), u.line, u.order) for u in facts.scripts),
        functions=frozenset(map(fill, facts.functions)),
        prints=tuple(map(fill, facts.prints)),
    )
