"""Hunks of a change, each of which can be undone alone, and short diffs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from msgspec import Struct

from signoff.verification.strength.drafts import TextEdit

_LONG_BLOCK = 8
_MOST_PAIRS = 2_000_000  # equal lines that a comparison may have to look at
_CONTEXT = 2
_DIFF_LINES, _DIFF_WIDTH = 40, 200


class Hunk(Struct, frozen=True):
    """Lines `start` to `end` (from 0) of the text after the change, and what stood there before."""

    start: int
    end: int
    before: bytes
    edit: TextEdit

    @property
    def line(self) -> int:
        """The first line of it, counted from 1."""
        return self.start + 1


def lines_of(text: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    lines = text.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def is_binary(text: bytes) -> bool:
    """True for content that has no lines."""
    return b"\0" in text


def hunks_of(before: bytes, after: bytes) -> list[Hunk]:
    """Parts of a change, in order; all of them undone give the text before it.

    A long block that was only added is cut into pieces.
    """
    if is_binary(before) or is_binary(after):
        return [Hunk(0, 1, before, TextEdit(0, len(after), before))] if before != after else []
    old, new = lines_of(before), lines_of(after)
    starts = [0, *accumulate(map(len, new))]
    found = []
    for old_start, old_end, start, end in differences(old, new):
        cuts = [start, end]
        if old_start == old_end and end - start > _LONG_BLOCK:
            cuts = [start, *(start + cut for cut in _cuts(new[start:end])), end]
        text = b"".join(old[old_start:old_end])
        for first, last in pairwise(cuts):
            found.append(Hunk(first, last, text, TextEdit(starts[first], starts[last], text)))
    return found


def differences(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """Ranges of lines that differ; all between the first and the last where there are too many."""
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    most = shorter - head
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    middle, other = old[head : len(old) - tail], new[head : len(new) - tail]
    counted = Counter(other)
    if sum(counted[line] for line in middle) > _MOST_PAIRS:
        yield head, len(old) - tail, head, len(new) - tail
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, middle, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield head + i1, head + i2, head + j1, head + j2


def _cuts(block: Sequence[bytes]) -> Iterator[int]:
    """Places behind blank lines where the block goes on at its lowest indentation."""
    depths = [len(line) - len(line.lstrip()) for line in block]
    lowest = min((depths[n] for n, line in enumerate(block) if line.strip()), default=0)
    for n in range(1, len(block)):
        if not block[n - 1].strip() and block[n].strip() and depths[n] == lowest:
            yield n


def changed_lines(hunks: Sequence[Hunk]) -> frozenset[int]:
    """Numbers (from 1) of the lines after a change that are new or different."""
    return frozenset(n for hunk in hunks for n in range(hunk.start + 1, hunk.end + 1))


def touched_lines(hunks: Sequence[Hunk]) -> frozenset[int]:
    """The same, and the lines between which something was taken away."""
    gaps = {n for hunk in hunks if hunk.start == hunk.end for n in (hunk.start, hunk.start + 1)}
    return changed_lines(hunks) | gaps


def says_the_same(edit: TextEdit, after: bytes) -> bool:
    """True when only blank lines came or went."""
    now = after[edit.start : edit.end]
    return [x for x in lines_of(edit.new) if x.strip()] == [x for x in lines_of(now) if x.strip()]


def short_diff(path: str, after: bytes | None, version: bytes | None) -> str:
    """A unified diff against the text after the change, cut to what fits on a screen."""
    head = [f"--- {path}" if after is not None else "--- /dev/null"]
    head.append(f"+++ {path}" if version is not None else "+++ /dev/null")
    if is_binary(after or b"") or is_binary(version or b""):
        return "\n".join((*head, "binary content differs"))
    body = [line[:_DIFF_WIDTH] for line in _diff(lines_of(after or b""), lines_of(version or b""))]
    if len(body) > _DIFF_LINES:
        body = [*body[:_DIFF_LINES], f"… {len(body) - _DIFF_LINES} more lines"]
    return "\n".join(head + body)


def _diff(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[str]:
    for i1, i2, j1, j2 in differences(old, new):
        start, end = max(0, i1 - _CONTEXT), min(len(old), i2 + _CONTEXT)
        more = (i1 - start) + (end - i2)
        yield f"@@ -{start + 1},{end - start} +{j1 - (i1 - start) + 1},{j2 - j1 + more} @@"
        for sign, lines in (
            (" ", old[start:i1]),
            ("-", old[i1:i2]),
            ("+", new[j1:j2]),
            (" ", old[i2:end]),
        ):
            yield from (sign + line.decode("utf-8", "replace").rstrip("\r\n") for line in lines)
