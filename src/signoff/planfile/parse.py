"""Text to Plan: never fails for a bad plan, says everything that is wrong with it instead."""

from __future__ import annotations

import gc
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from msgspec import Struct

from signoff.domain.findings import Finding, Severity
from signoff.domain.plan import Budget, Mark, Plan, PlanStatus, Postcondition, Step
from signoff.errors import PlanUnreadable, SignoffError, nearest
from signoff.planfile.blocks import (
    DEFAULT_LIMITS,
    Frontmatter,
    Heading,
    LineKind,
    PlanLimits,
    check_limit,
    decode,
)
from signoff.planfile.contracts import one_of
from signoff.planfile.fields import HEADER_FIELDS, Block, FieldReader, skeleton
from signoff.planfile.findinglog import FindingLog, did_you_mean
from signoff.planfile.outline import (
    STEP_ID,
    Outline,
    Region,
    RegionKind,
    digest_outline,
    file_digest,
    read_outline,
    step_title,
)
from signoff.planfile.steps import read_postconditions, read_steps, warn_hidden_text, with_hint
from signoff.planfile.values import Amounts, amounts

__all__ = ["Parsed", "PlanLimits", "decode", "parse"]

_TEXTS_KEPT = 8
P = ParamSpec("P")
R = TypeVar("R")


def without_collection(work: Callable[P, R]) -> Callable[P, R]:
    """The same function with the cyclic collector resting while it runs.

    Reading a large plan makes millions of small values that live: collecting in between is waste.
    """

    @wraps(work)
    def rested(*args: P.args, **kwargs: P.kwargs) -> R:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return work(*args, **kwargs)
        finally:
            if was_on:
                gc.enable()

    return rested


class Parsed(Struct, frozen=True):
    """The plan as far as it could be read, what is wrong with it, and the file's lines."""

    plan: Plan
    findings: tuple[Finding, ...]
    lines: tuple[str, ...]


@without_collection
def parse(text: str, limits: PlanLimits = DEFAULT_LIMITS) -> Parsed:
    """Read a plan; only a text beyond the limits raises."""
    try:
        return _parse(text, limits)
    except SignoffError:
        raise
    except Exception as error:
        # A fault of ours, met in one plan, must not take down what is asked about the others.
        raise PlanUnreadable(
            f"signoff's own reader failed on it ({type(error).__name__}: {error})",
            "report it with the file; it is a fault of signoff, not of the plan",
        ) from error


# A command asks about the same text more than once: as it is written, as it was approved.
@lru_cache(maxsize=_TEXTS_KEPT)
def _parse(text: str, limits: PlanLimits) -> Parsed:
    if len(text) * 4 > limits.max_bytes:
        check_limit(len(text.encode("utf-8", "surrogatepass")), limits.max_bytes, "bytes")
    outline = read_outline(text)
    check_limit(len(outline.steps), limits.max_steps, "steps")
    findings = FindingLog(outline)
    if not text.strip("\ufeff \t\r\n"):
        findings.error("empty-plan", 0, "the plan is empty", "signoff new NAME")
    else:
        check_structure(findings)
    plan = _plan(findings, text)
    ordered = sorted(findings.all, key=lambda finding: finding.line)
    return Parsed(plan, tuple(ordered), outline.lines)


def _plan(findings: FindingLog, text: str) -> Plan:
    outline = findings.outline
    fields = FieldReader(findings)
    title = _title(findings, bool(text.strip()))
    context, budget, priority = _header(fields)
    steps = read_steps(fields, outline.steps)
    if not steps and text.strip("\ufeff \t\r\n"):
        findings.error("no-steps", 0, "the plan has no steps", "add `## Steps` and `### 1. title`")
    block = outline.frontmatter
    owner = block.key("owner") if block else None
    return Plan(
        title=title,
        steps=_with_hints(outline, steps),
        postconditions=_postconditions(fields),
        context=context,
        budget=budget,
        priority=priority,
        status=_status(outline),
        owner=owner.value if owner and isinstance(owner.value, str) else "",
        depends_on=block.values("depends_on") if block else (),
        touches=_touches(fields, block),
        file_digest=file_digest(text),
        plan_digest=digest_outline(outline),
    )


def _touches(fields: FieldReader, block: Frontmatter | None) -> tuple[str, ...]:
    key = block.key("touches") if block else None
    if block is None or key is None:
        return ()
    fields.check_seen(key.line, key.line + 1)
    return tuple(fields.path(key.line, path) for path in block.values("touches"))


def _title(findings: FindingLog, complain: bool) -> str:
    for heading in findings.outline.scan.headings:
        if heading.level == 1 and not heading.depth:
            return heading.text
    if complain:
        findings.warning(
            "missing-title", 0, "the plan has no title", "add a line `# What it is for`"
        )
    return ""


def _header(fields: FieldReader) -> tuple[str, Budget, str]:
    """Context, budget and priority: above or below the title, the first of each counts."""
    found: dict[str, Block] = {}
    for region in fields.findings.outline.regions:
        if region.kind is RegionKind.HEADER:
            here = fields.split(region.start, region.end, HEADER_FIELDS)
            found = {**here.fields, **found}
    context = fields.text(found["context"]) if "context" in found else ""
    if "<!--" in context:
        warn_hidden_text(fields, found["context"].line, "context")
    priority = fields.value(found["priority"]).lower() if "priority" in found else ""
    budget = _budget(fields, found["budget"]) if "budget" in found else Budget()
    return context, budget, priority or "normal"


def _some_amounts(value: str) -> Amounts | None:
    found = amounts(value)
    return None if found is None or 0 in found else found


_read_budget = one_of(_some_amounts, "write `max 200k tokens, $1.50, 20 minutes`, or leave it out")


def _budget(fields: FieldReader, block: Block) -> Budget:
    tokens, usd, wall_s = _read_budget(fields, block) or (None, None, None)
    return Budget(tokens, usd, wall_s, fields.findings.number(block.line))


def _postconditions(fields: FieldReader) -> tuple[Postcondition, ...]:
    found: list[Postcondition] = []
    for region in fields.findings.outline.regions:
        if region.kind is RegionKind.POSTCONDITIONS:
            found += read_postconditions(fields, region, len(found) + 1)
    return tuple(found)


def _status(outline: Outline) -> PlanStatus:
    key = outline.frontmatter.key("status") if outline.frontmatter else None
    known = {status.value: status for status in PlanStatus}
    said = key.value if key and isinstance(key.value, str) else ""
    return known.get(said, PlanStatus.DRAFT)


def _with_hints(outline: Outline, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps with the marks that `**status: …**` lines below their headings suggest."""
    if not outline.hints or not steps:
        return steps
    lines = [step.line for step in steps]
    ends = [outline.numbers[r.end - 1] + 1 for r in outline.steps]
    marks: dict[int, Mark] = {}
    for hint in outline.hints:
        at = bisect_right(lines, hint.line) - 1
        if at >= 0 and hint.line <= ends[at]:
            marks[at] = hint.mark
    return tuple(
        with_hint(step, marks[at]) if at in marks else step for at, step in enumerate(steps)
    )


_FRONTMATTER_KEYS = frozenset({"type", "status", "owner", "depends_on", "touches"})
_LISTS = frozenset({"depends_on", "touches"})
_SECTIONS = ("steps", "postconditions")
# Anything that is no word before hashes and a number: quotes, bullets, comments, invisible signs.
_STEP_LIKE = (
    r"(?i)[^\w#＃\n]{0,40}(?:[0-9]{1,9}[.)][ \t]+)?"
    rf"[#＃]{{1,6}}[^\w\n]{{0,12}}(?:step\s+)?{STEP_ID}[.):]"
)
_NUMBERED = rf"(?i)[^\w]*(?:step\b[\s#]*)?(?:{STEP_ID}|\d+|[IVX]+)\b"


def check_structure(findings: FindingLog) -> None:
    """Everything about the document that is not about one field."""
    outline = findings.outline
    if outline.unclosed_frontmatter:
        findings.error(
            "bad-frontmatter", 0, "the frontmatter is never closed", "add a line `---` below it"
        )
    if outline.frontmatter is not None:
        _check_frontmatter(findings, outline.frontmatter)
    _check_blocks(findings)
    _check_sections(findings)
    _check_other_headings(findings)
    _check_lines(findings)


def _check_frontmatter(findings: FindingLog, block: Frontmatter) -> None:
    if block.refused:
        findings.error(
            "bad-frontmatter",
            block.refused_line,
            f"the frontmatter cannot be read: {block.refused}",
            "write one `name: value` per line, values plain or lists of plain values",
        )
        return
    for key in block.keys:
        if key.name not in _FRONTMATTER_KEYS:
            hint = did_you_mean(key.name, _FRONTMATTER_KEYS, "it is kept as it is")
            findings.note(
                "unknown-frontmatter-key", key.line, f"`{key.name}` is not used by signoff", hint
            )
        elif key.nested or (isinstance(key.value, tuple) and key.name not in _LISTS):
            shape = "a list of plain values" if key.name in _LISTS else "one plain value"
            findings.error(
                "bad-frontmatter", key.line, f"`{key.name}` must be {shape}", "rewrite it"
            )
    _check_status(findings, block)


def _check_status(findings: FindingLog, block: Frontmatter) -> None:
    status = block.key("status")
    if status is None or status.nested or isinstance(status.value, tuple):
        return
    words = [word.value for word in PlanStatus]
    if status.value is not None and status.value not in words:
        hint = did_you_mean(status.value, words, "write " + ", ".join(words[:-1]) + " or failed")
        findings.error("unknown-status", status.line, f"`{status.value}` is not a status", hint)
    elif block.status is None:
        findings.error(
            "bad-frontmatter",
            status.line,
            "`status` must have a line to itself",
            "write `status: draft` on a line of its own",
        )


def _check_blocks(findings: FindingLog) -> None:
    scan = findings.outline.scan
    for fence in scan.fences:
        if not fence.closed:
            findings.error(
                "unclosed-fence",
                fence.start,
                "the fenced block is not closed where the text around it ends",
                "close it with a line of as many backticks",
            )
    for html in scan.html:
        if not html.closed:
            findings.error(
                "unclosed-comment",
                html.start,
                "the HTML block is never closed and hides what is below it",
                "close it, with `-->` for a comment",
            )
    if scan.too_deep is not None:
        findings.error(
            "too-deep",
            scan.too_deep,
            "more than 20 lists or quotes inside each other",
            "flatten them",
        )
    for heading in findings.outline.underlined_text:
        findings.error(
            "underlined-heading",
            heading.line,
            "the line of dashes below makes a heading of this text",
            "put a blank line above the dashes, or write `## …` for a heading",
        )


def _check_sections(findings: FindingLog) -> None:
    seen: dict[RegionKind, int] = {}
    for region in findings.outline.regions:
        heading = region.heading
        if heading is None or heading.level > 2:
            continue
        if region.kind in (RegionKind.STEPS_INTRO, RegionKind.POSTCONDITIONS):
            if region.kind in seen:
                findings.error(
                    "duplicate-section",
                    heading.line,
                    f"`{heading.text}` is there twice: first on line {seen[region.kind]}",
                    "move everything into one section",
                )
            seen.setdefault(region.kind, findings.number(heading.line))
        elif region.kind is RegionKind.OTHER:
            _check_other_section(findings, heading)


def _check_other_section(findings: FindingLog, heading: Heading) -> None:
    name = skeleton(heading.text[:60]).replace("_", "").strip(":*#")
    close = nearest(name, _SECTIONS, 0.8)
    if close and heading.text.strip():
        findings.error(
            "misspelt-section",
            heading.line,
            f"`{heading.text}` is not a section that signoff reads",
            f"write `## {close.title()}`",
        )


def _check_other_headings(findings: FindingLog) -> None:
    """Headings that a reader could take for steps, and that are none."""
    outline = findings.outline
    for region in outline.regions:
        if region.heading is not None and region.kind is RegionKind.NOT_A_STEP:
            _report_no_step(findings, region.heading, _has_fields(findings, region))
    steps = {step.heading.line for step in outline.steps}
    for heading in outline.scan.headings:
        if not heading.depth and heading.line not in steps and step_title(heading.text):
            _report_no_step(findings, heading, is_meant=heading.level < 4)


def _check_lines(findings: FindingLog) -> None:
    """Lines that others read as two, or that look like a step in a fence, a comment or a list."""
    scan = findings.outline.scan
    tops = {heading.line for heading in scan.headings if not heading.depth}
    for i, line in enumerate(scan.lines):
        if "\r" in line or "\0" in line:
            findings.error(
                "line-end",
                i,
                "a carriage return or NUL stands inside the line: others read two lines here",
                r"end lines with `\n` or `\r\n`",
            )
        elif ("#" in line or "＃" in line) and i not in tops and re.match(_STEP_LIKE, line):
            findings.warning(
                "not-a-step",
                i,
                "this looks like a step, but is text, or inside a fence, a comment or a list",
                "write `### N. title` at the start of a line of its own, or reword it",
            )


def _report_no_step(findings: FindingLog, heading: Heading, is_meant: bool) -> None:
    numbered = re.match(_NUMBERED, heading.text) is not None and heading.level < 4
    findings.add(
        Severity.ERROR if is_meant or numbered else Severity.WARNING,
        "not-a-step",
        heading.line,
        f"`{heading.text}` looks like a step, but is none",
        "write `### N. title` below `## Steps`; postconditions are list items, `N. title`",
    )


def _has_fields(findings: FindingLog, region: Region) -> bool:
    scan = findings.outline.scan
    return any(
        scan.kinds[i] == LineKind.TEXT and scan.lines[i].lstrip().startswith("**")
        for i in range(region.start, region.end)
    )
