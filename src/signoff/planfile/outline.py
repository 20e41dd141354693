"""The skeleton of a plan document: frontmatter, sections, steps, hints of progress; its digests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache

from msgspec import Struct

from signoff.domain.digests import digest_bytes
from signoff.domain.plan import Mark
from signoff.planfile.blocks import (
    NULLS,
    BlockScan,
    Frontmatter,
    Heading,
    Key,
    LineKind,
    StatusSpan,
    bare,
    split_lines,
)
from signoff.planfile.scan import scan

# Both bound the work: PyYAML takes time in proportion to the depth for every token.
MAX_CHARS = 20_000
MAX_BRACKETS = 200

# What YAML reads as one line of plain text, whatever stands around it.
_PLAIN_LINE = re.compile(r"([a-z_]+): +([A-Za-z][\w./-]*(?: [\w./-]+)*) *\r?", re.ASCII)


def find_frontmatter(lines: Sequence[str]) -> int:
    """The line after the block's closing line; 0 without a block, -1 when it is never closed."""
    if not lines or bare(lines[0]).rstrip(" \t") != "---":
        return 0
    for i in range(1, len(lines)):
        if bare(lines[i]).rstrip(" \t") in ("---", "..."):
            return i + 1
    return -1


def read_frontmatter(lines: Sequence[str], end: int) -> Frontmatter:
    """Read the block that ends before line `end`."""
    inner = "\n".join(lines[1 : end - 1]) + "\n"
    if len(inner) > MAX_CHARS:
        return Frontmatter(end, refused=f"it has more than {MAX_CHARS:,} characters")
    if inner.count("[") + inner.count("{") > MAX_BRACKETS:
        return Frontmatter(end, refused=f"it has more than {MAX_BRACKETS} brackets")
    plain = _read_plain(lines, end)
    if plain is not None:
        return plain
    # The library takes longer to load than most plans take to read.
    from signoff.planfile.yamlblock import read_yaml  # noqa: PLC0415 - as said

    return read_yaml(inner, len(lines[0]) + 1, end)


def _read_plain(lines: Sequence[str], end: int) -> Frontmatter | None:
    """The block, if all of it is `name: some words`, each name once."""
    keys: dict[str, Key] = {}
    status: StatusSpan | None = None
    at = len(lines[0]) + 1
    for i in range(1, end - 1):
        found = _PLAIN_LINE.fullmatch(lines[i])
        if found is None or found[1] in keys:
            return None
        keys[found[1]] = Key(found[1], None if found[2] in NULLS else found[2], i)
        if found[1] == "status":
            status = StatusSpan(i, at + found.start(2), at + found.end(2))
        at += len(lines[i]) + 1
    return Frontmatter(end, tuple(keys.values()), status, 0) if keys else None


_MARK_CHARS = "".join(mark.value for mark in Mark)
_TERM = r"(?:[0-9]+[a-z]?|[A-Z])"
STEP_ID = rf"{_TERM}(?:[.+\-–—]{_TERM})*"
MARKS = rf"(?:[{_MARK_CHARS}]\ufe0f?[ \t]*)*"

_STEP_TEXT = re.compile(rf"({STEP_ID})\.(?:[ \t]+|$)({MARKS})(.*)", re.DOTALL)
# The same on the line itself, with everything before the mark as it is written.
STEP_LINE = re.compile(
    rf"(?P<head> {{0,3}}###[ \t]+{STEP_ID}\.)(?P<gap>[ \t]*)(?P<marks>{MARKS})(?P<rest>.*)",
    re.DOTALL,
)

STATUS_WORDS = {
    "done": Mark.DONE,
    "failed": Mark.FAILED,
    "running": Mark.RUNNING,
    "in-progress": Mark.RUNNING,
    "in progress": Mark.RUNNING,
    "blocked": Mark.BLOCKED,
    "waived": Mark.BLOCKED,
    "pending": Mark.NONE,
    "todo": Mark.NONE,
}
_WORD = f"(?P<{{}}>{'|'.join(STATUS_WORDS)})"
_STATUS_HINT = (
    r"(?i) {0,3}\*\*status"
    rf"(?::[ \t]*{_WORD.format('a')}\*\*|:\*\*[ \t]*{_WORD.format('b')}"
    rf"|\*\*:[ \t]*{_WORD.format('c')})[ \t]*"
)


class RegionKind(Enum):
    """Kinds of regions below a heading."""

    HEADER = auto()
    STEPS_INTRO = auto()
    NOT_A_STEP = auto()
    POSTCONDITIONS = auto()
    OTHER = auto()


class StepTitle(Struct, frozen=True):
    """The text of a step's heading, taken apart."""

    id: str
    mark: Mark
    title: str


class Region(Struct, frozen=True):
    """Lines `start` to `end` (exclusive) below a heading that is no step's."""

    kind: RegionKind
    heading: Heading | None
    start: int
    end: int


class StepRegion(Struct, frozen=True):
    """Lines `start` to `end` (exclusive) below a step's heading."""

    heading: Heading
    title: StepTitle
    start: int
    end: int


class Hint(Struct, frozen=True):
    """A `**status: …**` line: what somebody wrote about progress, never proof."""

    line: int
    mark: Mark


class Outline(Struct, frozen=True):
    """`read` are the lines that carry meaning: the file's lines less the status hints.

    The plan is a function of `read` alone (and of nothing that the digest leaves out), so that
    two texts with the same plan digest are the same plan.
    """

    lines: tuple[str, ...]
    read: tuple[str, ...]
    # Where each line of `read` stands in the file, from 0.
    numbers: Sequence[int]
    scan: BlockScan
    frontmatter: Frontmatter | None
    unclosed_frontmatter: bool
    hints: tuple[Hint, ...]
    regions: tuple[Region, ...]
    steps: tuple[StepRegion, ...]
    # Text among the steps that a line of dashes makes a heading of: told, not obeyed.
    underlined_text: tuple[Heading, ...]


def read_outline(text: str) -> Outline:
    """Find the skeleton; never fails."""
    lines = split_lines(text)
    end = find_frontmatter(lines)
    frontmatter = read_frontmatter(lines, end) if end > 0 else None
    first = max(end, 0)
    found = scan(lines, first)
    hints = _status_hints(lines, found) if "**status" in text.lower() else ()
    read: tuple[str, ...] = lines
    numbers: Sequence[int] = range(len(lines))
    if hints:
        dropped = {hint.line for hint in hints}
        numbers = [i for i in range(len(lines)) if i not in dropped]
        read = tuple(lines[i] for i in numbers)
        found = scan(read, first)
    regions, steps, underlined = _cut(found, first, len(read))
    return Outline(
        lines, read, numbers, found, frontmatter, end < 0, hints, regions, steps, underlined
    )


def canonical_text(outline: Outline) -> str:
    """The text without marks, hints and the status line: what the plan digest covers."""
    lines = list(outline.read)
    for step in outline.steps:
        if found := STEP_LINE.match(lines[step.heading.line]):
            lines[step.heading.line] = f"{found['head']} {found['rest']}"
    status = outline.frontmatter.status if outline.frontmatter else None
    if status is not None:
        del lines[status.line]
    return "\n".join(lines)


def step_title(text: str) -> StepTitle | None:
    """Take a heading's text apart, if it is `N. title`."""
    found = _STEP_TEXT.fullmatch(text)
    if found is None:
        return None
    marks = [char for char in found[2] if char in _MARK_CHARS]
    mark = Mark(marks[0]) if marks else Mark.NONE
    return StepTitle(found[1], mark, found[3].strip(" \t"))


def section_kind(text: str) -> RegionKind:
    """The kind of region that a level-2 heading opens."""
    name = text.strip().rstrip(":").casefold()
    known = {"steps": RegionKind.STEPS_INTRO, "postconditions": RegionKind.POSTCONDITIONS}
    return known.get(name, RegionKind.OTHER)


def _status_hints(lines: tuple[str, ...], found: BlockScan) -> tuple[Hint, ...]:
    hints = []
    for i, line in enumerate(lines):
        if found.kinds[i] == LineKind.TEXT and "*" in line[:5]:
            hint = re.fullmatch(_STATUS_HINT, bare(line))
            if hint:
                word = hint["a"] or hint["b"] or hint["c"]
                hints.append(Hint(i, STATUS_WORDS[word.lower()]))
    return tuple(hints)


def _cut(
    found: BlockScan, first: int, count: int
) -> tuple[tuple[Region, ...], tuple[StepRegion, ...], tuple[Heading, ...]]:
    """Cut the document at its top-level headings of levels 1 to 3."""
    cuts = [h for h in found.headings if h.level <= 3 and not h.depth]
    underlined: list[Heading] = []
    regions: list[Region] = []
    steps: list[StepRegion] = []
    kind, in_steps, start = RegionKind.HEADER, False, first
    heading: Heading | None = None
    title: StepTitle | None = None
    for following in [*cuts, None]:
        if (
            following is not None
            and in_steps
            and following.underlined
            and section_kind(following.text) is RegionKind.OTHER
        ):
            underlined.append(following)
            continue
        end = count if following is None else following.line
        if heading is not None and title is not None:
            steps.append(StepRegion(heading, title, start, end))
        else:
            regions.append(Region(kind, heading, start, end))
        if following is None:
            break
        kind, in_steps, title = _opened(following, in_steps, len(regions) + len(steps))
        heading, start = following, following.end
    return tuple(regions), tuple(steps), tuple(underlined)


def _opened(
    heading: Heading, in_steps: bool, regions_before: int
) -> tuple[RegionKind, bool, StepTitle | None]:
    """The region that a heading opens: its kind, if steps may follow, and the title of a step."""
    if heading.level == 3:
        title = step_title(heading.text) if in_steps else None
        return (RegionKind.NOT_A_STEP if in_steps else RegionKind.OTHER), in_steps, title
    if heading.level == 2:
        kind = section_kind(heading.text)
        return kind, kind is RegionKind.STEPS_INTRO, None
    return (RegionKind.OTHER if regions_before > 1 else RegionKind.HEADER), False, None


def file_digest(text: str) -> str:
    """Digest of every byte: for compare-and-swap."""
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=2)
def plan_digest(text: str) -> str:
    """Digest of the meaning, without marks, status and hints: for pins and evidence.

    Cached, because a driver that writes marks asks about the same two texts again and again.
    """
    return digest_outline(read_outline(text))


def digest_outline(outline: Outline) -> str:
    """The plan digest of a document whose outline is known."""
    return digest_bytes(canonical_text(outline).encode("utf-8", "surrogatepass"))
