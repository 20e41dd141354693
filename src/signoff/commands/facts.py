"""What is known about a command, and the trick that makes a plan of many similar commands cheap.

Generated plans repeat one command with other numbers in its names. Such commands share a shape, so
the shape is analysed once and the numbers are put back into the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from signoff.commands.endings import Statuses
from signoff.commands.references import Reference
from signoff.commands.uses import Call, FileUse, FileWrite, Unseen
from signoff.commands.weaknesses import Weakness

_NUMBERED = re.compile(r"(?<![\w./$@{-])[A-Za-z_./][A-Za-z_./-]*[0-9][\w./-]*", re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
# How many lines to show, and what a command's output is compared with: any number means the same.
_AMOUNT = re.compile(
    r"(\b(?:head|tail) (?:-n ?|-)|\)\"? -(?:eq|ne|lt|le|gt|ge) )([1-9][0-9]{0,8})(?![\w.])"
)
_WORD_PLACE, _AMOUNT_PLACE = "zq", "90170"
_KNOWN_BY_NUMBER = frozenset(("python3", "md5sum", "sha1sum", "sha256sum"))


@dataclass(frozen=True)
class ShellFacts:
    """Lines count from 0 within the command; paths are relative to the workspace."""

    # The text, or one like it, that bash has to read; empty where nothing in it can be wrong.
    unchecked: str
    unseen: tuple[Unseen, ...]
    calls: tuple[Call, ...]
    reads: tuple[FileUse, ...]
    writes: tuple[FileWrite, ...]
    references: tuple[Reference, ...]
    scripts: tuple[FileUse, ...]
    functions: frozenset[str]
    statuses: Statuses
    certain: bool
    reason: str
    last_line: int
    ignored_lines: tuple[int, ...]
    # Those of them that hold `! …`, which `set -e` does not look at.
    negated_lines: tuple[int, ...]
    skips_line: int | None
    prints: tuple[str, ...]
    empty: bool
    weaknesses: tuple[Weakness, ...]
    # Whether it certainly prints nothing on standard output.
    silent: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Every file the command speaks of."""
        found = [use.path for use in (*self.reads, *self.scripts)]
        found += [write.path for write in self.writes if write.path]
        return tuple(dict.fromkeys(found))


def shape_of(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The text with numbers that do not matter replaced by places, and those places' numbers."""
    places: dict[str, str] = {}
    amounts: list[str] = []
    if _WORD_PLACE in text or _AMOUNT_PLACE in text or "://" in text or "/dev" in text:
        return text, []

    def place(digits: re.Match[str]) -> str:
        return places.setdefault(digits[0], f"{_WORD_PLACE}{len(places)}qz")

    def without_numbers(path: re.Match[str]) -> str:
        known = path[0].rpartition("/")[2] in _KNOWN_BY_NUMBER
        return path[0] if known else _DIGITS.sub(place, path[0])

    def without_amount(found: re.Match[str]) -> str:
        amounts.append(found[2])
        return f"{found[1]}{_amount_place(len(amounts) - 1)}"

    shape = _NUMBERED.sub(without_numbers, text)
    if "|" in shape or ") -" in shape or ')" -' in shape:
        shape = _AMOUNT.sub(without_amount, shape)
    pairs = [(place, number) for number, place in places.items()]
    return shape, pairs + [(_amount_place(i), number) for i, number in enumerate(amounts)]


def _amount_place(number: int) -> str:
    return f"{_AMOUNT_PLACE}{number:04}"


def with_numbers(facts: ShellFacts, pairs: list[tuple[str, str]]) -> ShellFacts:
    """The facts of a shape as the facts of one text of that shape."""

    def fill(text: str) -> str:
        for place, number in pairs:
            text = text.replace(place, number)
        return text

    def used(use: FileUse) -> FileUse:
        return FileUse(fill(use.path), use.line, use.order)

    def called(call: Call) -> Call:
        return Call(fill(call.name), tuple(map(fill, call.args)), call.line)

    def written(write: FileWrite) -> FileWrite:
        return FileWrite(fill(write.path), write.line, write.order, write.how, write.made_up)

    def referred(use: Reference) -> Reference:
        return Reference(tuple(map(fill, use.paths)), use.line, use.how, use.compares)

    return ShellFacts(
        facts.unchecked,
        facts.unseen,
        tuple(map(called, facts.calls)),
        tuple(map(used, facts.reads)),
        facts.writes and tuple(map(written, facts.writes)),
        facts.references and tuple(map(referred, facts.references)),
        facts.scripts and tuple(map(used, facts.scripts)),
        facts.functions and frozenset(map(fill, facts.functions)),
        facts.statuses,
        facts.certain,
        facts.reason and fill(facts.reason),
        facts.last_line,
        facts.ignored_lines,
        facts.negated_lines,
        facts.skips_line,
        facts.prints and tuple(map(fill, facts.prints)),
        facts.empty,
        facts.weaknesses
        and tuple(Weakness(w.kind, w.line, fill(w.what)) for w in facts.weaknesses),
        facts.silent,
    )
