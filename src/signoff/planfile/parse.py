"""Text to Plan: never fails for a bad plan, says everything that is wrong with it instead."""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from signoff.domain.findings import Finding
from signoff.domain.globs import plain_path
from signoff.domain.plan import Budget, Mark, Plan, PlanStatus, Postcondition, Step
from signoff.errors import PlanUnreadable, SignoffError
from signoff.planfile.decode import DEFAULT_LIMITS, PlanLimits, check_size, check_steps, decode
from signoff.planfile.digest import digest_outline, file_digest
from signoff.planfile.fields import HEADER_FIELDS, Block, FieldReader
from signoff.planfile.findinglog import FindingLog
from signoff.planfile.outline import Outline, RegionKind, read_outline
from signoff.planfile.steps import read_postconditions, read_steps, warn_hidden_text, with_hint
from signoff.planfile.structure import check_structure
from signoff.planfile.values import amounts

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


@dataclass(frozen=True)
class Parsed:
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
        check_size(len(text.encode("utf-8", "surrogatepass")), limits)
    outline = read_outline(text)
    check_steps(len(outline.steps), limits)
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
        touches=tuple(plain_path(t) or t for t in block.values("touches")) if block else (),
        file_digest=file_digest(text),
        plan_digest=digest_outline(outline),
    )


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


def _budget(fields: FieldReader, block: Block) -> Budget:
    value = fields.value(block)
    found = amounts(value)
    line = fields.findings.number(block.line)
    if found is None:
        fields.findings.error(
            "bad-budget",
            block.line,
            f"`{value}` is not a budget that can be kept",
            "write `max 200k tokens, $1.50, 20 minutes`; leave out what has no limit",
        )
        return Budget(line=line)
    return Budget(found.tokens, found.usd, found.wall_s, line)


def _postconditions(fields: FieldReader) -> tuple[Postcondition, ...]:
    found: list[Postcondition] = []
    for region in fields.findings.outline.regions:
        if region.kind is RegionKind.POSTCONDITIONS:
            found += read_postconditions(fields, region, len(found) + 1)
    return tuple(found)


def _status(outline: Outline) -> PlanStatus:
    key = outline.frontmatter.key("status") if outline.frontmatter else None
    known = {status.value: status for status in PlanStatus}
    return (
        known.get(key.value, PlanStatus.DRAFT)
        if key and isinstance(key.value, str)
        else (PlanStatus.DRAFT)
    )


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
