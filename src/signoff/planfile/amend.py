"""Add to a plan's text the line that lets a step change more files; all else stays as it is."""

from __future__ import annotations

import re
from dataclasses import replace

from signoff.domain.plan import Contract, Plan, Step
from signoff.planfile.parse import parse

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
