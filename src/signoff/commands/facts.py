"""What is known about a command, and the trick that makes a plan of many similar commands cheap.

Generated plans repeat one command with other numbers in its names. Such commands share a shape, so
the shape is analysed once and the numbers are put back into the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from signoff.commands.references import Reference
from signoff.commands.statuses import ANY, Statuses, Weakness
from signoff.commands.uses import Call, FileUse, FileWrite, Unseen

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
    unchecked: str = ""
    unseen: tuple[Unseen, ...] = ()
    calls: tuple[Call, ...] = ()
    reads: tuple[FileUse, ...] = ()
    writes: tuple[FileWrite, ...] = ()
    references: tuple[Reference, ...] = ()
    scripts: tuple[FileUse, ...] = ()
    functions: frozenset[str] = frozenset()
    statuses: Statuses = ANY
    reason: str = ""  # why there is only one status
    last_line: int = 0
    ignored_lines: tuple[int, ...] = ()
    # Those of them that hold `! …`, which `set -e` does not look at.
    negated_lines: tuple[int, ...] = ()
    skips_line: int | None = None
    prints: tuple[str, ...] = ()
    weaknesses: tuple[Weakness, ...] = ()
    # Whether it certainly prints nothing on standard output.
    silent: bool = False

    @property
    def certain(self) -> bool:
        """Whether all of it could be seen."""
        return not self.unseen

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

    return replace(
        facts,
        calls=tuple(Call(fill(c.name), tuple(map(fill, c.args)), c.line) for c in facts.calls),
        reads=tuple(FileUse(fill(u.path), u.line, u.order) for u in facts.reads),
        writes=tuple(replace(w, path=fill(w.path)) for w in facts.writes),
        references=tuple(replace(r, paths=tuple(map(fill, r.paths))) for r in facts.references),
        scripts=tuple(FileUse(fill(u.path), u.line, u.order) for u in facts.scripts),
        functions=frozenset(map(fill, facts.functions)),
        reason=fill(facts.reason),
        prints=tuple(map(fill, facts.prints)),
        weaknesses=tuple(w._replace(what=fill(w.what)) for w in facts.weaknesses),
    )
