"""Giving up something planned: what may be dropped, what goes with it, and what is remembered."""

from __future__ import annotations

import re
from dataclasses import replace

from signoff.domain.definition import MOST_ITEMS, Definition, Drop, Item
from signoff.domain.definition_facts import Dropped
from signoff.domain.session import normal
from signoff.gate import rounds

LONGEST_ITEM = 300
LONGEST_REASON = 500

_MARKER = re.compile(r"(?:[-*+•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s*)+")


def item_key(text: str) -> str:
    """By which two wordings are the same item: not by case, spacing, list marks or a full stop."""
    words = normal(_MARKER.sub("", text.strip(), count=1)).rstrip(".!;: ")
    return " ".join(word for word in words.split() if word != "the")


def cut(text: str) -> str:
    """An item's text, no longer than it may be."""
    return text.strip()[:LONGEST_ITEM].strip()


def drop(definition: Definition, fact: Dropped) -> Definition:
    """Without what is given up; what may not be given up stays, and why is kept for the list."""
    what, reason = cut(fact.what), fact.reason.strip()[:LONGEST_REASON]
    items = [i for i in definition.pending if item_key(i.text) == item_key(what)]
    paths = _paths(definition, what, items)
    refused = _refusal(definition, items, paths, reason)
    if refused:
        kept = (*definition.undropped, f"{what}: {refused}")[-MOST_ITEMS:]
        return replace(definition, undropped=kept)
    gone = frozenset(paths)
    left = (_without(i, gone) for i in definition.items if i not in items)
    asked = bool(gone & frozenset(definition.asked))
    one = Drop(what, reason, tuple(sorted(gone)), asked)
    definition = replace(
        definition,
        artifacts=tuple(a for a in definition.artifacts if a.path not in gone),
        existing=tuple(path for path in definition.existing if path not in gone),
        asked=tuple(path for path in definition.asked if path not in gone),
        items=tuple(item for item in left if item is not None),
        dropped=(*definition.dropped, one)[-MOST_ITEMS:],
    )
    return rounds.after_change(definition, f"`{what}` was dropped")


def taken_up(definition: Definition) -> Definition:
    """What is planned again is not dropped any more."""
    if not definition.dropped:
        return definition
    paths = {a.path for a in definition.artifacts}
    keys = {item_key(item.text) for item in definition.items}
    still = tuple(
        one
        for one in definition.dropped
        if not paths.intersection(one.paths) and item_key(one.what) not in keys
    )
    return replace(definition, dropped=still)


def _paths(definition: Definition, what: str, items: list[Item]) -> tuple[str, ...]:
    """What goes with the items, and is not another's; or the artifact that is meant itself."""
    planned = {a.path for a in definition.artifacts}
    if items:
        others = [i for i in definition.items if i not in items]
        needed = {a.path for item in others for a in item.artifacts}
        own = {a.path for item in items for a in item.artifacts}
        return tuple((own & planned) - needed)
    named = what.strip("`'\" ").removeprefix("./").rstrip("/")
    return (named,) if named in planned else ()


def _refusal(definition: Definition, items: list[Item], paths: tuple[str, ...], reason: str) -> str:
    declared = frozenset(definition.declared)
    if not items and not paths:
        return "nothing that is planned and open is called that"
    if not reason:
        return "say why in `dropped`"
    if declared.intersection(paths) or any(item_key(i.text) in declared for i in items):
        return "the plan declares it, and only a person changes that"
    return ""


def _without(item: Item, gone: frozenset[str]) -> Item | None:
    """An item without what was dropped; None when nothing of it is left."""
    left = tuple(a for a in item.artifacts if a.path not in gone)
    if left == item.artifacts:
        return item
    return replace(item, artifacts=left) if left else None
