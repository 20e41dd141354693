"""Writes progress back into a plan file, byte for byte: only the lines that change change."""

from __future__ import annotations

from collections.abc import Mapping

from signoff.domain.plan import Mark, PlanStatus
from signoff.planfile.frontkeys import Frontmatter
from signoff.planfile.frontmatter import find_frontmatter, read_frontmatter
from signoff.planfile.lines import split_lines
from signoff.planfile.outline import STEP_LINE, Outline, read_outline


def mark_text(text: str, marks: Mapping[str, Mark], status: PlanStatus | None) -> str:
    """The text with these marks before the titles of these steps, and this status.

    Ids that the plan does not have are ignored. Without a frontmatter, or with one that cannot
    be edited safely, the status is not written.
    """
    outline = read_outline(text)
    marked = "\n".join(_marked_lines(outline, marks))
    return marked if status is None else _with_status(marked, outline.frontmatter, status)


def _marked_lines(outline: Outline, marks: Mapping[str, Mark]) -> list[str]:
    lines = list(outline.lines)
    for step in outline.steps:
        wanted = marks.get(step.title.id)
        if wanted is not None and wanted is not step.title.mark:
            i = outline.numbers[step.heading.line]
            lines[i] = _marked(lines[i], wanted)
    return lines


def _marked(line: str, mark: Mark) -> str:
    """The heading with this mark; several marks count as the first, so all of them go."""
    found = STEP_LINE.match(line)
    if found is None:
        return line
    rest = found["rest"]
    ending = "\r" if rest == "\r" else ""
    title = rest.removesuffix("\r") if ending else rest
    gap = found["gap"] or " "
    if mark is Mark.NONE:
        return f"{found['head']}{gap if title else ''}{title}{ending}"
    return f"{found['head']}{gap}{mark.value}{' ' if title else ''}{title}{ending}"


def _with_status(text: str, block: Frontmatter | None, status: PlanStatus) -> str:
    if block is None or block.refused:
        return text
    key = block.key("status")
    if key is not None and key.value == status.value:
        return text
    if block.status is not None:
        span = block.status
        space = "" if span.end > span.start or text[span.start - 1] in " \t" else " "
        value = f"{space}{span.quote}{status.value}{span.quote}"
        changed = text[: span.start] + value + text[span.end :]
    elif key is None and block.column is not None:
        lines = list(split_lines(text))
        ending = "\r" if lines[0].endswith("\r") else ""
        lines.insert(block.end - 1, f"{' ' * block.column}status: {status.value}{ending}")
        changed = "\n".join(lines)
    else:
        return text
    return changed if _reads_as(changed, status) else text


def _reads_as(text: str, status: PlanStatus) -> bool:
    """Whether the edit did what it was meant to; an odd frontmatter is better left alone."""
    lines = split_lines(text)
    end = find_frontmatter(lines)
    key = read_frontmatter(lines, end).key("status") if end > 0 else None
    return key is not None and key.value == status.value
