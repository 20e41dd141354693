"""Checks of the document as a whole: what readers would take for plan and the parser does not."""

from __future__ import annotations

import difflib
import re
import unicodedata
from bisect import bisect_right

from signoff.domain.plan import PlanStatus
from signoff.planfile.blocks import Heading, LineKind
from signoff.planfile.fields import skeleton
from signoff.planfile.findinglog import FindingLog, did_you_mean
from signoff.planfile.frontkeys import Frontmatter
from signoff.planfile.outline import STEP_ID, Region, RegionKind, step_title

_FRONTMATTER_KEYS = frozenset({"type", "status", "owner", "depends_on", "touches"})
_LISTS = frozenset({"depends_on", "touches"})
_SECTIONS = ("steps", "postconditions")
# Anything that is no word before hashes and a number: quotes, bullets, comments, invisible signs.
_STEP_LIKE = re.compile(
    r"[^\w#＃\n]{0,40}(?:[0-9]{1,9}[.)][ \t]+)?"
    rf"[#＃]{{1,6}}[^\w\n]{{0,12}}(?:step\s+)?{STEP_ID}[.):]",
    re.IGNORECASE,
)
_NUMBERED = re.compile(rf"[^\w]*(?:step\b[\s#]*)?(?:{STEP_ID}|\d+|[IVX]+)\b", re.IGNORECASE)
_CHECKBOX = re.compile(r"\[[^\]]?\]")


def check_structure(findings: FindingLog) -> None:
    """Everything about the document that is not about one field."""
    outline = findings.outline
    if outline.unclosed_frontmatter:
        findings.error(
            "bad-frontmatter", 0, "the frontmatter is never closed", "add a line `---` below it"
        )
    if outline.frontmatter is not None:
        _check_frontmatter(findings, outline.frontmatter)
    _check_line_ends(findings)
    _check_blocks(findings)
    _check_sections(findings)
    _check_step_titles(findings)
    _check_other_headings(findings)
    _check_disguises(findings)


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
    kind = block.key("type")
    one_word = kind is not None and not kind.nested and not isinstance(kind.value, tuple)
    if kind is not None and one_word and kind.value != "plan":
        said = f"is `{kind.value}`, not `plan`" if kind.value else "is empty"
        findings.warning("bad-value", kind.line, f"the type {said}", "write `type: plan`")
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


def _check_line_ends(findings: FindingLog) -> None:
    read = findings.outline.read
    for i, line in enumerate(read):
        if "\r" in line and ("\r" in line[:-1] or i == len(read) - 1):
            findings.error(
                "line-end",
                i,
                "a carriage return stands inside the line: others read two lines here",
                r"end lines with `\n` or `\r\n`",
            )
        if "\0" in line:
            findings.error("line-end", i, "the line holds a NUL character", "delete it")


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
    close = difflib.get_close_matches(name, _SECTIONS, n=1, cutoff=0.8)
    if close and heading.text.strip():
        findings.error(
            "misspelt-section",
            heading.line,
            f"`{heading.text}` is not a section that signoff reads",
            f"write `## {close[0].title()}`",
        )
    elif step_title(heading.text):
        _wrong_level(findings, heading)
    else:
        findings.note(
            "section-not-read",
            heading.line,
            f"signoff does not read the section `{heading.text}`",
            "nothing to do if it is for people only",
        )


def _wrong_level(findings: FindingLog, heading: Heading) -> None:
    report = findings.error if heading.level < 3 else findings.warning
    report(
        "wrong-step-level",
        heading.line,
        f"`{heading.text}` looks like a step, but its heading has level {heading.level}",
        "write `### N. title` for a step",
    )


def _check_step_titles(findings: FindingLog) -> None:
    for region in findings.outline.steps:
        step = region.title
        if step.marks > 1:
            findings.warning(
                "several-marks",
                region.heading.line,
                f"step `{step.id}` carries {step.marks} marks; the first counts as the hint",
                "delete the others",
                step.id,
            )
        first = step.title[:1]
        if not first or (first.isascii() and first != "["):
            continue
        if unicodedata.category(first) in ("So", "Sm", "Cf") or _CHECKBOX.match(step.title):
            findings.warning(
                "unknown-mark",
                region.heading.line,
                f"`{step.title.split()[0]}` is not a mark; it is part of the title",
                "marks are ✅ ❌ ⏳ ⛔, and only the harness's record proves anything",
                step.id,
            )


def _check_other_headings(findings: FindingLog) -> None:
    """Headings among or outside the steps that a reader could take for steps."""
    for region in findings.outline.regions:
        if region.heading is not None and region.heading.level == 3:
            if region.kind is RegionKind.NOT_A_STEP:
                _check_not_a_step(findings, region, region.heading)
            elif step_title(region.heading.text):
                findings.error(
                    "step-outside-steps",
                    region.heading.line,
                    f"`{region.heading.text}` stands outside `## Steps`",
                    "move it below `## Steps`",
                )
    steps = findings.outline.steps
    starts = [step.start for step in steps]
    for heading in findings.outline.scan.headings:
        if heading.depth or heading.level < 4:
            continue
        at = bisect_right(starts, heading.line) - 1
        if step_title(heading.text):
            _wrong_level(findings, heading)
        elif at >= 0 and heading.line < steps[at].end:
            findings.warning(
                "heading-inside-step",
                heading.line,
                "a heading inside a step ends the field above it",
                "write it in bold, or as text",
                steps[at].title.id,
            )


def _check_not_a_step(findings: FindingLog, region: Region, heading: Heading) -> None:
    has_fields = any(
        findings.outline.scan.kinds[i] == LineKind.TEXT
        and findings.outline.scan.lines[i].lstrip().startswith("**")
        for i in range(region.start, region.end)
    )
    report = findings.error if has_fields or _NUMBERED.match(heading.text) else findings.warning
    report(
        "not-a-step",
        heading.line,
        f"`{heading.text}` stands among the steps but has no number, so it is no step",
        "write `### N. title`",
    )


def _check_disguises(findings: FindingLog) -> None:
    """Lines that look like a step's heading to a reader, but are text, comment, quote or list."""
    tops = {heading.line for heading in findings.outline.scan.headings if not heading.depth}
    for i, line in enumerate(findings.outline.scan.lines):
        if ("#" not in line and "＃" not in line) or i in tops:
            continue
        if _STEP_LIKE.match(line):
            where = {LineKind.FENCE: "inside a fenced block", LineKind.HTML: "inside HTML"}
            place = where.get(findings.outline.scan.kinds[i], "not written as a heading")
            findings.warning(
                "disguised-heading",
                i,
                f"this looks like a step, but it is {place}, so it is no step",
                "write `### N. title` at the start of a line of its own, or reword it",
            )
