"""Splits the lines of a step, postcondition or header into its `**name:**` fields."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from signoff.domain.plan import UnknownField
from signoff.planfile.blocks import FencedBlock, LineKind
from signoff.planfile.findinglog import FindingLog, did_you_mean
from signoff.planfile.invisible import is_invisible
from signoff.planfile.values import unquoted

HEADER_FIELDS = frozenset({"context", "budget", "priority"})
OPTION_FIELDS = frozenset(
    (
        *("contract_timeout", "network", "env", "writes", "effects", "holds", "red_first"),
        *("may_change", "may_extend", "may_shrink", "judge_in", "heldout"),
    )
)
STEP_FIELDS = OPTION_FIELDS | {
    "target",
    "needs",
    "subscriptions",
    "produces",
    "protects",
    "touches",
    "timeout",
    "task",
    "contract",
    "on_fail",
    "estimate",
    "for_each",
}
_HOLD_FENCES = frozenset({"task", "contract", "for_each", "context"})
POSTCONDITION_FIELDS = OPTION_FIELDS | {"contract"}

# How nearly all fields are written.
_COMMON_FIELD = re.compile(r"\*\*([A-Za-z_]{1,20}):\*\*[ \t]*(.*)", re.DOTALL)
# Every repetition is bounded, so that no line takes more than time in proportion to its length.
_FIELD = re.compile(
    r"[ \t]{0,80}\*\*([^*]{1,60}?)[ \t]{0,20}(?::[ \t]{0,20}\*\*|\*\*[ \t]{0,20}:)(.*)", re.DOTALL
)
_WORD = re.compile(r"\w[\w-]*")
_LOOKALIKE = re.compile(
    r"[^\w*]{0,80}?(?:[0-9]{1,9}[.)][ \t]{0,9})?[*_]{0,3}[ \t]{0,9}([^\W_][^*:：\n]{0,40}?)"
    r"[ \t]{0,9}(?:[:：][ \t]{0,9}[*_]{1,3}|[*_]{1,3}[ \t]{0,9}[:：]|[:：](?=[^*\n]*\*\*[ \t]*$))"
)
_BULLET = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(.*)", re.DOTALL)
# Letters of other scripts that print like the Latin letters of our field names.
_LOOKALIKE_LETTERS = str.maketrans("асеорхуіјѕһԁɡⅼոυνκτρ", "aceopxyijshdglnuvktp")


class Block(NamedTuple):
    """A field, or text in no field (`name` empty): lines `line` to `end`, the rest of the first."""

    name: str
    line: int
    rest: str
    end: int


class FieldSet(NamedTuple):
    """What one step, postcondition or header says."""

    # By name; where one stands twice, the first.
    fields: Mapping[str, Block]
    # Text that is in no field; the first of them stands before all fields.
    loose: tuple[Block, ...]
    unknown: tuple[UnknownField, ...]


class FieldReader:
    """Cuts regions into fields and gives out their values; says what it could not place."""

    def __init__(self, findings: FindingLog) -> None:
        self.findings = findings
        self.lines = findings.outline.scan.lines
        self.kinds = findings.outline.scan.kinds
        self.fences = findings.outline.scan.fences
        self._fence_starts = [fence.start for fence in self.fences]

    def split(
        self,
        start: int,
        end: int,
        known: frozenset[str],
        *,
        max_indent: int = 3,
    ) -> FieldSet:
        """The fields between two lines."""
        blocks: list[Block] = []
        name, line, rest = "", start, ""
        kinds, lines = self.kinds, self.lines
        for i in range(start, end):
            kind = kinds[i]
            if kind == LineKind.HEADING:
                blocks.append(Block(name, line, rest, i))
                name, line, rest = "", i + 1, ""
            elif kind == LineKind.TEXT and (":" in lines[i] or "：" in lines[i]):
                found = self._field(i, known, max_indent)
                if found is not None:
                    blocks.append(Block(name, line, rest, i))
                    name, rest = found
                    line = i
        blocks.append(Block(name, line, rest, end))
        return self._field_set(blocks, known)

    def _field_set(self, blocks: list[Block], known: frozenset[str]) -> FieldSet:
        fields: dict[str, Block] = {}
        loose: list[Block] = []
        unknown: list[UnknownField] = []
        for block in blocks:
            name = block.name
            if not name:
                loose.append(block)
            elif name not in known:
                unknown.append(UnknownField(name, self.findings.number(block.line)))
            elif name in fields:
                self.findings.error(
                    "duplicate-field",
                    block.line,
                    f"`{name}` is there twice",
                    "keep one of them",
                )
            else:
                fields[name] = block
                if block.end > block.line + 1 and name not in _HOLD_FENCES:
                    self._check_no_fence(block)
        return FieldSet(fields, tuple(loose), tuple(unknown))

    def _field(self, i: int, known: frozenset[str], max_indent: int) -> tuple[str, str] | None:
        """Name and rest of the line, if it is a field; complains about near misses."""
        line = self.lines[i]
        common = _COMMON_FIELD.match(line)
        if common and (name := common[1].lower()) in known:
            return name, common[2].rstrip(" \t")
        if "*" not in line and "_" not in line:
            return None
        found = _FIELD.match(line)
        if found and not _indented_more(line, max_indent):
            name, problem = _classify(found[1], known)
            if problem is _Problem.NONE:
                return name, found[2].strip(" \t")
            if problem is not _Problem.PLAIN_TEXT:
                self._complain(i, found[1], problem, known=known)
                return name, found[2].strip(" \t")
        else:
            near = _LOOKALIKE.match(line)
            if near and skeleton(near[1]) in known:
                name = skeleton(near[1])
                self.findings.warning(
                    "field-not-read",
                    i,
                    f"`{name}` is not read here: the line is not written as a field",
                    f"write `**{name}:**` at the start of the line, or reword the text",
                )
        return None

    def _complain(self, i: int, written: str, problem: _Problem, *, known: frozenset[str]) -> None:
        name = written.strip(" \t").lower()
        if problem is _Problem.DISGUISED:
            self.findings.error(
                "disguised-field",
                i,
                f"`{ascii(written)[1:-1]}` reads like `{skeleton(written)}` "
                "but is spelt with other characters",
                f"type `**{skeleton(written)}:**` again",
            )
            return
        if self.findings.full:
            return
        elsewhere = (STEP_FIELDS | HEADER_FIELDS) - known
        if name in elsewhere:
            where = "above `## Steps`" if name in HEADER_FIELDS else "in a step"
            hint = f"`{name}` belongs {where}"
        else:
            hint = did_you_mean(
                name, known, f"write plain text (`{written.strip()}: …`) if it belongs to the task"
            )
        self.findings.warning(
            "unknown-field", i, f"`{name}` is not a field; nobody acts on it", hint
        )

    def _check_no_fence(self, block: Block) -> None:
        for fence in self.fences_in(block)[:1]:
            self.findings.warning(
                "stray-text",
                fence.start,
                f"`{block.name}` does not take a fenced block; nobody acts on it",
                "put it below the field it belongs to",
            )

    def fences_in(self, block: Block) -> list[FencedBlock]:
        """The fenced blocks that start inside a field."""
        at = bisect_left(self._fence_starts, block.line)
        found = []
        while at < len(self.fences) and self.fences[at].start < block.end:
            found.append(self.fences[at])
            at += 1
        return found

    def text(self, block: Block) -> str:
        """The whole text of a field as it is written, without blank lines around it."""
        first = [block.rest] if block.rest else []
        lines = first + list(self.lines[self.below(block) : block.end])
        end = len(lines)
        while end and (not lines[end - 1].strip(" \t") or self._is_rule(block, lines, end)):
            end -= 1
        start = 0
        while start < end and not lines[start].strip(" \t"):
            start += 1
        return "\n".join(lines[start:end])

    def _is_rule(self, block: Block, lines: list[str], end: int) -> bool:
        """Whether a last line is a `---` between steps."""
        return self.kinds[block.end - (len(lines) - end) - 1] == LineKind.BREAK

    @staticmethod
    def below(block: Block) -> int:
        """The first line below the one that carries the name."""
        return block.line + 1 if block.name else block.line

    def words(self, block: Block) -> list[tuple[int, str]]:
        """Lines of text in a field with what they say; fences, comments and rules left out."""
        found = [(block.line, block.rest)] if block.rest else []
        for i in range(self.below(block), block.end):
            if self.kinds[i] in (LineKind.TEXT, LineKind.CODE):
                found.append((i, self.lines[i].strip(" \t")))
        return found

    def value(self, block: Block) -> str:
        """The one line that a field holds, beside its name or below it."""
        if block.rest and block.end == block.line + 1:
            return unquoted(block.rest)
        lines = self.words(block)
        if len(lines) > 1:
            self.findings.warning(
                "stray-text",
                lines[1][0],
                f"`{block.name}` takes one line; this text belongs to no field",
                "move it into `**task:**`, or delete it",
            )
        return unquoted(lines[0][1]) if lines else ""

    def items(self, block: Block, split_bullets: bool = False) -> list[tuple[int, str]]:
        """A list, written with commas beside the name or as bullets below it."""
        found: list[tuple[int, str]] = []
        for i, line in self.words(block):
            bullet = _BULLET.fullmatch(line) if i > block.line else None
            text = bullet[1] if bullet else line
            parts = [text] if bullet and not split_bullets else text.split(",")
            found += [(i, item) for part in parts if (item := unquoted(part))]
        return found


class _Problem(Enum):
    NONE = auto()
    PLAIN_TEXT = auto()
    DISGUISED = auto()
    UNKNOWN = auto()


def _is_unseen(char: str) -> bool:
    return is_invisible(char) and not char.isspace()


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """What a name looks like to a reader, in the letters that we use."""
    folded = unicodedata.normalize("NFKD", name).casefold().translate(_LOOKALIKE_LETTERS)
    seen = "".join(
        c for c in folded if unicodedata.category(c) not in ("Mn", "Co") and not _is_unseen(c)
    )
    return re.sub(r"[\s-]+", "_", seen.strip())


@lru_cache(maxsize=4096)
def _classify(written: str, known: frozenset[str]) -> tuple[str, _Problem]:
    """The field's name, and what is the matter with it."""
    name = written.strip(" \t").lower()
    if name in known:
        return name, _Problem.NONE
    seen = skeleton(written)
    ours = STEP_FIELDS | HEADER_FIELDS
    if seen in ours and not name.isascii():
        return name, _Problem.DISGUISED
    if _WORD.fullmatch(name) or seen in ours:
        return name, _Problem.UNKNOWN
    return name, _Problem.PLAIN_TEXT


def _indented_more(line: str, columns: int) -> bool:
    if line[0] not in " \t":
        return False
    text = line.expandtabs(4)
    return len(text) - len(text.lstrip(" ")) > columns
