"""Writes progress and allowances into a plan file, byte for byte: only lines that change change."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from signoff.domain.plan import Contract, Mark, Plan, PlanStatus, Step
from signoff.planfile.blocks import Frontmatter, split_lines
from signoff.planfile.outline import (
    STEP_LINE,
    Outline,
    find_frontmatter,
    read_frontmatter,
    read_outline,
)
from signoff.planfile.parse import parse


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
    """True when the edited text has this status; an odd frontmatter is better left alone."""
    lines = split_lines(text)
    end = find_frontmatter(lines)
    key = read_frontmatter(lines, end).key("status") if end > 0 else None
    return key is not None and key.value == status.value


_CONTRACT = re.compile(r"[ \t]*\*\*contract[ \t]*(?::\*\*|\*\*:)", re.IGNORECASE)
_MAY_CHANGE = re.compile(r"[ \t]*\*\*may_change[ \t]*(?::\*\*|\*\*:)[ \t]*(\S.*)?$", re.IGNORECASE)


def with_may_change(text: str, step_id: str, paths: tuple[str, ...]) -> str | None:
    """The text with these globs in the step's `may_change`; None where only a person can do that.

    The result is read again, so that nothing but that one option can have changed.
    """
    plan = parse(text).plan
    step = next((s for s in plan.steps if s.id == step_id), None)
    if step is None or step.contract is None:
        return None
    lines = text.split("\n")
    contract = step.contract
    new = tuple(path for path in paths if path not in contract.may_change)
    if not new or any(re.search(r"[\s,`#]", path) for path in new):
        return None
    _add(lines, step, contract, new)
    amended = "\n".join(lines)
    allowed = replace(contract, may_change=(*contract.may_change, *new))
    return amended if _same(parse(amended).plan, _with(plan, step, allowed)) else None


def _add(lines: list[str], step: Step, contract: Contract, new: tuple[str, ...]) -> None:
    first, last = step.line, contract.line - 1
    end = "\r" if lines[first - 1].endswith("\r") else ""
    for i in range(first, len(lines) if contract.may_change else first):
        found = _MAY_CHANGE.match(lines[i].rstrip("\r"))
        if found and found[1]:
            lines[i] = f"{lines[i].rstrip()}, {', '.join(new)}{end}"
            return
        if found:
            lines[i + 1 : i + 1] = [f"- {path}{end}" for path in new]
            return
    for i in range(first, last):
        if _CONTRACT.match(lines[i]):
            lines.insert(i, f"**may_change:** {', '.join(new)}{end}")
            return


def _with(plan: Plan, step: Step, contract: Contract) -> Plan:
    amended = replace(step, contract=contract)
    return replace(plan, steps=tuple(amended if s.id == step.id else s for s in plan.steps))


def _same(one: Plan, other: Plan) -> bool:
    """Equal but for the order of the globs and the digest of the text."""

    def plain(plan: Plan) -> Plan:
        steps = tuple(replace(s, contract=_ordered(s.contract)) for s in plan.steps)
        return replace(plan, steps=steps, plan_digest="")

    return plain(one) == plain(other)


def _ordered(contract: Contract | None) -> Contract | None:
    return contract and replace(contract, may_change=tuple(sorted(contract.may_change)))
