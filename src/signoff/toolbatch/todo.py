"""The list of things to do, kept in step with the definition of done: claims in, the truth out.

Successful calls advance it: a look (also one that was known already) completes the next thing to
look at or, once all is built, to review; a change the next thing to build that names no file. What
names files is done while they are there; the fold sees to that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from signoff.domain.definition import MOST_ITEMS, Artifact, Definition, Item, ItemKind
from signoff.domain.session import shown_list
from signoff.domain.text import escape_line
from signoff.gate.definition import LONGEST_ITEM, Fact, ItemCompleted, ItemsListed, may_complete
from signoff.gate.rounds import shown
from signoff.toolbatch.artifacts import declared, planned_in
from signoff.toolbatch.calls import Call, Nature, Outcome, OutcomeKind
from signoff.toolbatch.pathwords import paths_in
from signoff.toolbatch.wordings import has_verb, kind_of

MOST_LISTED = 2 * MOST_ITEMS  # of one list that are looked at
MOST_SHOWN = 40

_BUILDS = frozenset({ItemKind.BUILD, ItemKind.AGGREGATE})
_TEXT_KEYS = ("text", "content", "title", "task", "description", "item", "name")
_DONE_WORDS = frozenset({"done", "completed", "complete", "finished", "closed"})
_TICKED = re.compile(r"\s*(?:[-*+]\s+)?\[(?P<mark>[ xX])\]\s*")


def item_of(text: str, done: bool = False) -> Item:
    """An item from its wording: what it takes, and the files it is to make."""
    text = text.strip()[:LONGEST_ITEM]
    kind = kind_of(text)
    planned: tuple[Artifact, ...] = ()
    if kind in _BUILDS:
        planned = planned_in(text) if has_verb(text) else declared(paths_in(text)).artifacts
    return Item(text, kind, planned, done)


def listed(items: Any) -> ItemsListed:
    """The list of a todo call, however the model shaped it; what is no item is left out."""
    if isinstance(items, str):
        items = items.split("\n")
    if not isinstance(items, Sequence):
        return ItemsListed(())
    found = []
    for entry in items[:MOST_LISTED]:
        text, done = _entry(entry)
        if text:
            found.append(item_of(text, done))
    return ItemsListed(tuple(found))


def advance(definition: Definition, call: Call, outcome: Outcome) -> tuple[Fact, ...]:
    """What a call completed; one item at most, and never a verification."""
    if outcome.kind not in (OutcomeKind.EXECUTED, OutcomeKind.DUPLICATE) or not outcome.ok:
        return ()
    if call.shape.nature in (Nature.LIST, Nature.NOTE, Nature.ASK, Nature.PLAN):
        return ()
    if outcome.changed:
        candidates = _buildable(definition)
    else:
        looks = call.shape.nature in (Nature.OBSERVE, Nature.SHELL)
        candidates = _lookable(definition, call) if looks else []
    paths = (*outcome.changed, *call.paths)
    chosen = next((i for i in candidates if _names_any(i, paths)), None)
    chosen = chosen or next((i for i in candidates if not _names_files(i)), None)
    return (ItemCompleted(chosen.text, call.id),) if chosen is not None else ()


def next_item(definition: Definition, missing: Sequence[Artifact]) -> Item | None:
    """What to go on with: who makes the first missing file, else in order; verifications last."""
    pending = definition.pending
    if missing:
        wanted = missing[0]
        owner = next((i for i in pending if wanted in i.artifacts and i.kind in _BUILDS), None)
        if owner is not None:
            return owner
        order: tuple[frozenset[ItemKind], ...] = (_BUILDS | {ItemKind.LOOK},)
    else:
        order = (_BUILDS | {ItemKind.LOOK}, frozenset({ItemKind.REVIEW}))
    for kinds in (*order, frozenset(ItemKind)):
        found = next((i for i in pending if i.kind in kinds), None)
        if found is not None:
            return found
    return None


def show(definition: Definition) -> str:
    """The reconciled list, as the result of the todo tool."""
    pending, done = definition.pending, definition.completed
    lines = [f"todo: {len(done)} done, {len(pending)} open"]
    lines += [f"[x] {escape_line(i.text)}" for i in done[-MOST_SHOWN:]]
    lines += [f"[ ] {escape_line(i.text)}{_why_open(definition, i)}" for i in pending[:MOST_SHOWN]]
    if len(pending) > MOST_SHOWN:
        lines.append(f"… and {len(pending) - MOST_SHOWN} more open ones")
    if definition.omitted:
        kept = shown_list((escape_line(text) for text in definition.omitted), MOST_SHOWN)
        lines.append(f"your list left out {kept}: open as before; list it as done when it is done")
    if definition.unlisted:
        lines.append(
            f"{definition.unlisted} items did not fit, {MOST_ITEMS} is the most; list fewer"
        )
    last = definition.round
    if last is not None:
        lines.append(f"verification: {shown(last)} is {last.status}")
    follows = next_item(definition, definition.unmet)
    lines.append(f"next: {escape_line(follows.text)}" if follows else "next: nothing is open")
    return "\n".join(lines)


def _entry(entry: Any) -> tuple[str, bool]:
    if isinstance(entry, str):
        ticked = _TICKED.match(entry)
        if ticked is None:
            return entry.strip(), False
        return entry[ticked.end() :].strip(), ticked["mark"] != " "
    if not isinstance(entry, Mapping):
        return "", False
    text = next((entry[k] for k in _TEXT_KEYS if isinstance(entry.get(k), str)), "")
    status = entry.get("status", entry.get("state", ""))
    done = entry.get("done") is True or (
        isinstance(status, str) and status.casefold() in _DONE_WORDS
    )
    return text.strip(), done


def _of_kind(definition: Definition, kind: ItemKind) -> list[Item]:
    return [i for i in definition.pending if i.kind is kind and may_complete(definition, i)]


def _buildable(definition: Definition) -> list[Item]:
    """Open things to build that name no artifact; those that do are done while it is there."""
    return [i for i in definition.pending if i.kind in _BUILDS and not i.artifacts]


def _lookable(definition: Definition, call: Call) -> list[Item]:
    looks = _of_kind(definition, ItemKind.LOOK)
    if looks or not call.paths:
        return looks
    about = {*definition.touched, *definition.existing}
    reviews = any(path in about for path in call.paths)
    return _of_kind(definition, ItemKind.REVIEW) if reviews else []


def _names_files(item: Item) -> bool:
    return next(iter(paths_in(item.text)), None) is not None


def _names_any(item: Item, paths: Iterable[str]) -> bool:
    """Whether the item speaks of one of the paths, or of a folder around it."""
    named = [path.removeprefix("./").rstrip("/") for path in paths_in(item.text)]
    return any(p == n or p.startswith(f"{n}/") for p in paths for n in named)


def _why_open(definition: Definition, item: Item) -> str:
    if item.kind is ItemKind.VERIFY:
        return " (only judging completes it)"
    there = frozenset(definition.existing)
    absent = [str(a) for a in item.artifacts if a.path not in there]
    return f" (missing: {shown_list(absent, 5)})" if absent else ""
