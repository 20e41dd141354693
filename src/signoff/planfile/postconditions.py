"""Builds the postconditions of a plan: the numbered items below `## Postconditions`."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

from signoff.domain.plan import Contract, Postcondition
from signoff.planfile.blocks import LineKind, ListItem
from signoff.planfile.contracts import read_contract
from signoff.planfile.fields import POSTCONDITION_FIELDS, Block, FieldReader, FieldSet
from signoff.planfile.outline import Region

_NO_INDENT_LIMIT = 1_000
_line = attrgetter("line")


def read_postconditions(fields: FieldReader, region: Region, first: int) -> list[Postcondition]:
    """The postconditions of one section, counted from `first`."""
    everywhere = fields.findings.outline.scan.items
    low = bisect_left(everywhere, region.start, key=_line)
    items = everywhere[low : bisect_left(everywhere, region.end, key=_line)]
    numbered = [item for item in items if item.number is not None]
    starts = [item.line for item in numbered]
    _check_unnumbered(fields, region, items, starts[0] if starts else region.end)
    all_ones = all(item.number == 1 for item in numbered)
    found = []
    for at, item in enumerate(numbered):
        end = starts[at + 1] if at + 1 < len(starts) else region.end
        if item.number != at + 1 and not all_ones:
            fields.findings.warning(
                "postcondition-numbering",
                item.line,
                f"this is postcondition {at + 1}, but it is numbered {item.number}",
                "number them 1, 2, 3",
            )
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
    return Postcondition(number, text, contract, fields.findings.number(item.line))


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
