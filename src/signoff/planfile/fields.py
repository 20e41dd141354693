"""Splits the lines of a step, postcondition or header into its `**name:**` fields."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from signoff.domain.findings import Severity
from signoff.domain.globs import plain_path
from signoff.domain.plan import UnknownField
from signoff.planfile.blocks import FencedBlock, LineKind
from signoff.planfile.findinglog import FindingLog, did_you_mean
from signoff.planfile.values import unquoted

# Unicode's default-ignorable code points, those it reserves for more of them included, and letters
# and marks that are drawn as nothing. A table, because an interpreter knows only the characters
# of its own Unicode version.
_IGNORABLE: Final = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U00016fe4"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_UNSEEN_CATEGORIES: Final = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp", "Zs"))
_EMOJI_SELECTOR: Final = "\ufe0f"


def is_invisible(char: str) -> bool:
    """True when nothing, or only a blank, is drawn for a character that is no plain white space."""
    code = ord(char)
    if code < 0x7F:
        return code < 0x20 and char not in "\t\n"
    return (
        re.match(_IGNORABLE, char) is not None or unicodedata.category(char) in _UNSEEN_CATEGORIES
    )


def hidden_places(text: str) -> list[int]:
    """Indexes of the characters in a text that its reader does not see.

    A carriage return at a line's end is part of the line's end, and the selector behind a symbol
    is seen: it is what draws the symbol as an emoji.
    """
    return [
        i
        for i, char in enumerate(text)
        if is_invisible(char)
        and not (char == "\r" and text[i + 1 : i + 2] in ("", "\n"))
        and not (char == _EMOJI_SELECTOR and i and unicodedata.category(text[i - 1]) == "So")
    ]


def called(char: str) -> str:
    """Number and name of a character, for a message."""
    return f"U+{ord(char):04X} ({unicodedata.name(char, 'a character without a name').lower()})"


HEADER_FIELDS = frozenset({"context", "budget", "priority"})
OPTION_FIELDS = frozenset(
    (
        *("contract_timeout", "network", "env", "writes", "effects", "holds", "red_first"),
        *("may_change", "may_extend", "may_shrink", "judge_in", "heldout", "strength"),
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
    "candidates",
    "pick",
    "rubric",
}
_PROSE = frozenset({"task", "context"})
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_MOST_SHOWN = 5
POSTCONDITION_FIELDS = OPTION_FIELDS | {"contract", "rubric"}

# How nearly all fields are written.
_COMMON_FIELD = re.compile(r"\*\*([A-Za-z_]{1,20}):\*\*[ \t]*(.*)", re.DOTALL)
# Every repetition is bounded, so that no line takes more than time in proportion to its length.
_FIELD = r"(?s)[ \t]{0,80}\*\*([^*]{1,60}?)[ \t]{0,20}(?::[ \t]{0,20}\*\*|\*\*[ \t]{0,20}:)(.*)"
_WORD = re.compile(r"\w[\w-]*")
_LOOKALIKE = (
    r"[^\w*]{0,80}?(?:[0-9]{1,9}[.)][ \t]{0,9})?[*_]{0,3}[ \t]{0,9}([^\W_][^*:：\n]{0,40}?)"
    r"[ \t]{0,9}(?:[:：][ \t]{0,9}[*_]{1,3}|[*_]{1,3}[ \t]{0,9}[:：]|[:：](?=[^*\n]*\*\*[ \t]*$))"
)
BULLET = r"(?s)[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(.*)"
# Letters of other scripts that print like the Latin letters of our field names.
_LOOKALIKE_LETTERS = str.maketrans("асеорхуіјѕһԁɡⅼոυνκτρ", "aceopxyijshdglnuvktp")


class Block(Struct, frozen=True):
    """A field, or text in no field (`name` empty): lines `line` to `end`, the rest of the first."""

    name: str
    line: int
    rest: str
    end: int


class FieldSet(Struct, frozen=True):
    """Fields and loose text of one step, postcondition or header."""

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
                if name not in _PROSE:
                    self.check_seen(block.line, block.end)
        return FieldSet(fields, tuple(loose), tuple(unknown))

    def check_seen(self, start: int, end: int) -> None:
        """Report characters that a reader cannot see: they must neither run nor decide anything."""
        for i in range(start, end):
            line = self.lines[i]
            if line.isascii() and not _CONTROL.search(line):
                continue
            for at in hidden_places(line)[:_MOST_SHOWN]:
                self.findings.error(
                    "hidden-characters",
                    i,
                    f"the line holds {called(line[at])} in column {at + 1}",
                    "delete the character and type the text again",
                )

    def path(self, i: int, path: str) -> str:
        """A path or glob as the workspace spells it; one that leads outside is an error."""
        plain = plain_path(path) or path
        if plain.startswith(("/", "~", "\\")) or ".." in plain.replace("\\", "/").split("/"):
            self.findings.error(
                "path-outside",
                i,
                f"`{path}` leaves the workspace",
                "name a path relative to the workspace, without `..`",
            )
        return plain

    def _field(self, i: int, known: frozenset[str], max_indent: int) -> tuple[str, str] | None:
        """Name and rest of the line, if it is a field; complains about near misses."""
        line = self.lines[i]
        common = _COMMON_FIELD.match(line)
        if common and (name := common[1].lower()) in known:
            return name, common[2].rstrip(" \t")
        if "*" not in line and "_" not in line:
            return None
        found = re.match(_FIELD, line)
        if found and not _indented_more(line, max_indent):
            name = _name(found[1], known)
            if name and name not in known:
                self._complain(i, found[1].strip(" \t"), known)
            return (name, found[2].strip(" \t")) if name else None
        near = re.match(_LOOKALIKE, line)
        if near and (name := skeleton(near[1])) in known:
            self.findings.warning(
                "field-not-read",
                i,
                f"`{name}` is not read here: the line is not written as a field",
                f"write `**{name}:**` at the start of the line, or reword the text",
            )
        return None

    def _complain(self, i: int, written: str, known: frozenset[str]) -> None:
        """Look-alikes of our own names are errors: a reader takes them for the field."""
        name, seen, disguised = written.lower(), skeleton(written), not written.isascii()
        if self.findings.full:
            return
        hint = did_you_mean(
            seen, known, f"write plain text (`{written}: …`) if it belongs to the task"
        )
        if seen in (STEP_FIELDS | HEADER_FIELDS) - known:
            where = "above `## Steps`" if seen in HEADER_FIELDS else "in a step"
            hint = f"`{seen}` belongs {where}"
        self.findings.add(
            Severity.ERROR if disguised and seen in known else Severity.WARNING,
            "unknown-field",
            i,
            f"`{ascii(name)[1:-1] if disguised else name}` is not a field; nobody acts on it",
            hint,
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
        """True when a last line is a `---` between steps."""
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
            bullet = re.fullmatch(BULLET, line) if i > block.line else None
            text = bullet[1] if bullet else line
            parts = [text] if bullet and not split_bullets else text.split(",")
            found += [(i, item) for part in parts if (item := unquoted(part))]
        return found


def _is_unseen(char: str) -> bool:
    return is_invisible(char) and not char.isspace()


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """The name as it looks to a reader, in the letters that we use."""
    folded = unicodedata.normalize("NFKD", name).casefold().translate(_LOOKALIKE_LETTERS)
    seen = "".join(
        c for c in folded if unicodedata.category(c) not in ("Mn", "Co") and not _is_unseen(c)
    )
    return re.sub(r"[\s-]+", "_", seen.strip())


@lru_cache(maxsize=4096)
def _name(written: str, known: frozenset[str]) -> str:
    """The field's name in lower case; empty where the bold words are plain text."""
    name = written.strip(" \t").lower()
    if name in known or _WORD.fullmatch(name) or skeleton(written) in STEP_FIELDS | HEADER_FIELDS:
        return name
    return ""


def _indented_more(line: str, columns: int) -> bool:
    if line[0] not in " \t":
        return False
    text = line.expandtabs(4)
    return len(text) - len(text.lstrip(" ")) > columns
