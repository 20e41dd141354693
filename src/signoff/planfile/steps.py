"""Builds the steps of a plan from their regions, and its postconditions from numbered items."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import cycle, islice
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from signoff.domain.plan import (
    Contract,
    Cost,
    Mark,
    PickBy,
    Postcondition,
    Step,
    Subscription,
    SubscriptionKind,
)
from signoff.planfile.blocks import LineKind, ListItem
from signoff.planfile.contracts import (
    Reader,
    bad_value,
    one_of,
    read_contract,
    read_duration,
    read_paths,
    single_fence,
)
from signoff.planfile.fields import (
    BULLET,
    POSTCONDITION_FIELDS,
    STEP_FIELDS,
    Block,
    FieldReader,
    FieldSet,
)
from signoff.planfile.outline import Region, StepRegion
from signoff.planfile.values import amounts, on_fail
from signoff.settings.roles import HUMAN_ROLE

_NO_INDENT_LIMIT = 1_000
MOST_CANDIDATES = 9
_line = attrgetter("line")
_NEED_SPLIT = re.compile(r"[,;\s]+")
_FILLER = frozenset({"and", "step", "steps", "&"})
_SUBSCRIPTION = re.compile(r"(file|topic)[ \t]*:[ \t]*(.+)", re.IGNORECASE | re.DOTALL)
_DASHES = str.maketrans("–—", "--")


def read_steps(fields: FieldReader, regions: tuple[StepRegion, ...]) -> tuple[Step, ...]:
    """All steps; duplicate numbers and unknown needs are findings."""
    known = _known_ids(fields, regions)
    steps: list[Step] = []
    for region in regions:
        before = (steps[-1].id,) if steps else ()
        fields.findings.step = region.title.id
        steps.append(_step(fields, region, before, known))
    fields.findings.step = None
    return tuple(steps)


def plain_id(step_id: str) -> str:
    """An id as people compare it: any dash is a dash, `01` is `1`."""
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", step_id.translate(_DASHES))


def _known_ids(fields: FieldReader, regions: tuple[StepRegion, ...]) -> dict[str, str]:
    known: dict[str, str] = {}
    where: dict[str, int] = {}
    for region in regions:
        step, i = region.title.id, region.heading.line
        fields.findings.step = step
        plain = plain_id(step)
        if plain in known:
            same = f" (as `{known[plain]}`)" if known[plain] != step else ""
            fields.findings.error(
                "duplicate-step-id",
                i,
                f"step `{step}` is there twice{same}: first on line {where[plain]}",
                "give every step a number of its own",
            )
            continue
        known[plain] = step
        where[plain] = fields.findings.number(i)
    return known


def _step(
    fields: FieldReader, region: StepRegion, before: tuple[str, ...], known: dict[str, str]
) -> Step:
    title, line = region.title, region.heading.line
    found = fields.split(region.start, region.end, STEP_FIELDS)
    _check_loose(fields, found, title.id)
    values: dict[str, Any] = {"needs": before}
    for name, block in found.fields.items():
        attribute, read = _FIELDS.get(name, ("", None))
        value = read(fields, block) if read is not None else None
        if value is not None:
            values[attribute] = value
        elif name == "needs":
            values["needs"] = _needs(fields, block, known, title.id)
        elif name == "contract":
            values["contract"] = read_contract(fields, block, found)
    _candidates(fields, found, values)
    for name, (what, hint) in _REQUIRED.items():
        if name not in found.fields or values.get(name) == "":
            fields.findings.error(
                f"missing-{name}", line, f"step `{title.id}` has no {name}{what}", hint
            )
    return Step(
        id=title.id,
        title=title.title,
        mark=title.mark,
        unknown_fields=found.unknown,
        line=fields.findings.number(line),
        **values,
    )


def _candidates(fields: FieldReader, found: FieldSet, values: dict[str, Any]) -> None:
    """Several targets, or one several times, are candidates: the first of them is the target."""
    roles = [role.strip() for role in values.get("target", "").split(",") if role.strip()]
    count = values.pop("candidates", 0) or len(roles)
    if count <= 1 or not roles:
        return
    if HUMAN_ROLE in roles:
        bad_value(fields, found.fields["target"], HUMAN_ROLE, "a person works on a step alone")
    if count < len(roles):
        hint = f"write {len(roles)} or more: there are so many targets"
        bad_value(fields, found.fields["candidates"], str(count), hint)
    values["target"], values["candidates"] = roles[0], tuple(islice(cycle(roles), count))


def _check_loose(fields: FieldReader, found: FieldSet, step: str) -> None:
    """Text of a step that nobody would act on."""
    for block in found.loose:
        text = fields.words(block)
        if text or fields.fences_in(block):
            fields.findings.warning(
                "stray-text",
                text[0][0] if text else fields.fences_in(block)[0].start,
                f"this text of step `{step}` is in no field, so the agent does not get it",
                "put it below `**task:**`",
            )


def warn_hidden_text(fields: FieldReader, i: int, name: str) -> None:
    """A comment in what an agent is told: readers of the rendered page do not see it."""
    fields.findings.warning(
        "hidden-text",
        i,
        f"the {name} holds an HTML comment, which readers do not see but the agent gets",
        "write it as text, or delete it",
    )


def _needs(fields: FieldReader, block: Block, known: dict[str, str], step: str) -> tuple[str, ...]:
    """The steps that must be done before this one."""
    words = [
        word
        for _, item in fields.items(block, split_bullets=True)
        for word in _NEED_SPLIT.split(item)
        if word and word.lower() not in _FILLER
    ]
    hint = "name steps by their numbers: `1, 2`, or write `none`"
    if not words:
        bad_value(fields, block, "", hint)
    if [word.lower() for word in words] == ["none"]:
        return ()
    found: dict[str, None] = {}
    for word in words:
        step_id = known.get(plain_id(word))
        if step_id is not None:
            found[step_id] = None
        else:
            fields.findings.error(
                "unknown-need",
                block.line,
                f"step `{step}` needs `{word}`, which does not exist",
                hint,
            )
    return tuple(found)


def _task(fields: FieldReader, block: Block) -> str:
    task = fields.text(block)
    if "<!--" in task:
        warn_hidden_text(fields, block.line, "task")
    return task


def _subscriptions(fields: FieldReader, block: Block) -> tuple[Subscription, ...]:
    found = []
    for i, item in fields.items(block):
        seen = _SUBSCRIPTION.fullmatch(item)
        if seen is None:
            hint = f"write `file:{item}` or `topic:{item}`"
            bad_value(fields, replace(block, line=i), item, hint)
            continue
        kind, target = SubscriptionKind(seen[1].lower()), seen[2].strip()
        if kind is SubscriptionKind.FILE:
            target = fields.path(i, target)
        found.append(Subscription(kind, target, fields.findings.number(i)))
    return tuple(found)


def _few(value: str) -> int | None:
    return int(value) if value.isdecimal() and 1 <= int(value) <= MOST_CANDIDATES else None


def _pick(value: str) -> PickBy | None:
    return next((rule for rule in PickBy if rule == value.lower()), None)


def _estimate(value: str) -> Cost | None:
    seen = amounts(value)
    if seen is None or seen.wall_s is not None:
        return None
    return Cost(seen.tokens or 0, seen.usd or 0.0)


def _for_each(fields: FieldReader, block: Block) -> str | None:
    fence = single_fence(fields, block)
    return "\n".join(fence.content) if fence else None


def read_rubric(fields: FieldReader, block: Block) -> tuple[str, ...]:
    """The claims of a rubric, one per bullet."""
    claims: list[str] = []
    for i, line in fields.words(block):
        bullet = re.fullmatch(BULLET, line) if i > block.line else None
        if bullet or not claims or i == block.line:
            claims.append(bullet[1].strip() if bullet else line)
        else:
            claims[-1] += f" {line}"
    if not claims:
        bad_value(fields, block, "", "write one claim per line: `- errors name the file`")
    return tuple(claims)


# Field: what the step calls it, and how it is read.
_FIELDS: dict[str, tuple[str, Reader]] = {
    "target": ("target", FieldReader.value),
    "task": ("task", _task),
    "subscriptions": ("subscriptions", _subscriptions),
    "produces": ("produces", read_paths),
    "protects": ("protects", read_paths),
    "touches": ("touches", read_paths),
    "timeout": ("timeout_s", read_duration),
    "on_fail": (
        "on_fail",
        one_of(on_fail, "write `retry(N)`, `escalate`, `abort` or `retry(N), then escalate|abort`"),
    ),
    "estimate": ("estimate", one_of(_estimate, "write `20k tokens, $0.10`")),
    "for_each": ("for_each", _for_each),
    "candidates": ("candidates", one_of(_few, f"write a number from 1 to {MOST_CANDIDATES}")),
    "pick": ("pick", one_of(_pick, "write `first`, `smallest` or `cheapest`")),
    "rubric": ("rubric", read_rubric),
}

_REQUIRED = {
    "target": ("", "add `**target:** ROLE`"),
    "task": ("", "add `**task:**` and say what to do"),
    "contract": (
        ", so nothing could decide when it is done",
        "add `**contract:**` with a fenced command",
    ),
}


def with_hint(step: Step, mark: Mark) -> Step:
    """The step with what a status line says, unless its heading says something."""
    return step if step.mark is not Mark.NONE else replace(step, mark=mark)


def read_postconditions(fields: FieldReader, region: Region, first: int) -> list[Postcondition]:
    """The postconditions of one section, counted from `first`."""
    everywhere = fields.findings.outline.scan.items
    low = bisect_left(everywhere, region.start, key=_line)
    items = everywhere[low : bisect_left(everywhere, region.end, key=_line)]
    numbered = [item for item in items if item.number is not None]
    starts = [item.line for item in numbered]
    _check_unnumbered(fields, region, items, starts[0] if starts else region.end)
    found = []
    for at, item in enumerate(numbered):
        end = starts[at + 1] if at + 1 < len(starts) else region.end
        found.append(_postcondition(fields, item, end, first + at))
    return found


def _postcondition(fields: FieldReader, item: ListItem, end: int, number: int) -> Postcondition:
    found = fields.split(item.line + 1, end, POSTCONDITION_FIELDS, max_indent=_NO_INDENT_LIMIT)
    loose = found.loose[0]
    fences = fields.fences_in(loose)
    text_end = fences[0].start if fences else loose.end
    below = [
        fields.lines[i].strip(" \t")
        for i in range(item.line + 1, text_end)
        if fields.kinds[i] == LineKind.TEXT
    ]
    text = "\n".join(line for line in [item.text, *below] if line)
    contract = _contract(fields, found, end)
    if contract is None:
        fields.findings.warning(
            "postcondition-without-contract",
            item.line,
            f"postcondition {number} has no contract: a person will be asked at the end",
            "indent a fenced command below it",
        )
    rubric = read_rubric(fields, found.fields["rubric"]) if "rubric" in found.fields else ()
    return Postcondition(number, text, contract, rubric, fields.findings.number(item.line))


def _contract(fields: FieldReader, found: FieldSet, end: int) -> Contract | None:
    """A fence below the item's text, or below `**contract:**`; never both."""
    named = found.fields.get("contract")
    loose = found.loose[0]
    if fields.fences_in(loose):
        if named is not None:
            loose = Block("", loose.line, loose.rest, end)
        return read_contract(fields, loose, found)
    if named is not None:
        return read_contract(fields, named, found)
    return None


def _check_unnumbered(
    fields: FieldReader, region: Region, items: tuple[ListItem, ...], first: int
) -> None:
    """Bullets and text that somebody may take for postconditions."""
    for item in items:
        if item.number is None:
            fields.findings.error(
                "postcondition-not-numbered",
                item.line,
                "a bullet is not a postcondition",
                "number it: `1. …`",
            )
    for i in range(region.start, first):
        if fields.kinds[i] in (LineKind.TEXT, LineKind.FENCE, LineKind.CODE):
            if not any(item.line <= i for item in items):
                fields.findings.warning(
                    "postcondition-not-numbered",
                    i,
                    "this text is not a postcondition; nobody acts on it",
                    "number it: `1. …`",
                )
            return
