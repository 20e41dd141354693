"""What is known about a command, and the trick that makes a plan of many similar commands cheap.

Generated plans repeat one command with other numbers in its names. Such commands share a shape, so
the shape is analysed once and the numbers are put back into the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from signoff.planfile.verify.grammar import SyntaxProblem
from signoff.planfile.verify.statuses import Statuses
from signoff.planfile.verify.uses import Call, FileUse, FileWrite, Unseen

_NUMBERED = re.compile(r"(?<![\w./$@{-])[A-Za-z_./][A-Za-z_./-]*[0-9][\w./-]*", re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
_KNOWN_BY_NUMBER = frozenset(("python3", "md5sum", "sha1sum", "sha256sum"))


@dataclass(frozen=True)
class ShellFacts:
    """Lines count from 0 within the command; paths are relative to the workspace."""

    problem: SyntaxProblem | None
    unseen: tuple[Unseen, ...]
    calls: tuple[Call, ...]
    reads: tuple[FileUse, ...]
    writes: tuple[FileWrite, ...]
    scripts: tuple[FileUse, ...]
    functions: frozenset[str]
    statuses: Statuses
    certain: bool
    reason: str
    last_line: int
    ignored_lines: tuple[int, ...]
    skips_line: int | None
    prints: tuple[str, ...]
    empty: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Every file the command speaks of."""
        found = [use.path for use in (*self.reads, *self.scripts)]
        found += [write.path for write in self.writes if write.path]
        return tuple(dict.fromkeys(found))


def shape_of(text: str) -> tuple[str, list[str]]:
    """The text with the numbers inside its names replaced by places, and those numbers."""
    places: dict[str, str] = {}
    if "zq" in text or "://" in text or "/dev" in text:
        return text, []

    def place(digits: re.Match[str]) -> str:
        return places.setdefault(digits[0], f"zq{len(places)}qz")

    def without_numbers(path: re.Match[str]) -> str:
        known = path[0].rpartition("/")[2] in _KNOWN_BY_NUMBER
        return path[0] if known else _DIGITS.sub(place, path[0])

    return _NUMBERED.sub(without_numbers, text), list(places)


def with_numbers(facts: ShellFacts, numbers: list[str]) -> ShellFacts:
    """The facts of a shape as the facts of one text of that shape."""
    pairs = [(f"zq{i}qz", number) for i, number in enumerate(numbers)]

    def fill(text: str) -> str:
        if "zq" in text:
            for place, number in pairs:
                text = text.replace(place, number)
        return text

    def used(use: FileUse) -> FileUse:
        return FileUse(fill(use.path), use.line, use.order) if "zq" in use.path else use

    def called(call: Call) -> Call:
        if "zq" not in call.name and not any("zq" in arg for arg in call.args):
            return call
        return Call(fill(call.name), tuple(map(fill, call.args)), call.line)

    def written(write: FileWrite) -> FileWrite:
        return FileWrite(fill(write.path), write.line, write.order, write.how, write.made_up)

    return ShellFacts(
        facts.problem,
        facts.unseen,
        tuple(map(called, facts.calls)),
        tuple(map(used, facts.reads)),
        tuple(map(written, facts.writes)),
        tuple(map(used, facts.scripts)),
        frozenset(map(fill, facts.functions)),
        facts.statuses,
        facts.certain,
        fill(facts.reason),
        facts.last_line,
        facts.ignored_lines,
        facts.skips_line,
        tuple(map(fill, facts.prints)),
        facts.empty,
    )
