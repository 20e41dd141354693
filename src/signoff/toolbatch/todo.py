"""The list of things to do, kept in step with the definition of done: claims in, the truth out.

Successful calls advance it: a look (also one that was known already) completes the next thing to
look at or, once all is built, to review; a change the thing to build that speaks of the file. What
names files to make is done while they are built; the fold sees to that. An entry with a reason in
`dropped` gives an item, or a planned file by its path, up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from signoff.domain.definition import MOST_ITEMS, Artifact, Definition, Item, ItemKind
from signoff.domain.session import shown_list
from signoff.domain.text import escape_line
from signoff.gate.definition import (
    LONGEST_ITEM,
    Dropped,
    Fact,
    ItemCompleted,
    ItemsListed,
    may_advance,
)
from signoff.gate.rounds import shown
from signoff.toolbatch.artifacts import declared, planned_in
from signoff.toolbatch.calls import Call, Nature, Outcome, OutcomeKind
from signoff.toolbatch.pathwords import paths_in, tokens_in
from signoff.toolbatch.wordings import ARTICLES, VERBS, has_verb, kind_of, words

MOST_LISTED = 2 * MOST_ITEMS  # of one list that are looked at
MOST_SHOWN = 40

_BUILDS = frozenset({ItemKind.BUILD, ItemKind.AGGREGATE})
_TEXT_KEYS = ("text", "content", "title", "task", "description", "item", "name")
_DONE_WORDS = frozenset({"done", "completed", "complete", "finished", "closed"})
_DROPPED_WORDS = frozenset({"dropped", "cancelled", "canceled", "removed", "skipped"})
# Beside a path these say nothing: the item is the path.
_CONNECTS = ARTICLES | words("and or file files page pages also then")
# Words of an item that name no thing, and parts of a path that name none.
_VAGUE = ARTICLES | words(
    "all any and are can code each every file files for from function functions has into it module"
    " more new not now of on or our page pages part project some support that then this thing"
    " things to up use user with work"
)
_VAGUE_PARTS = words("src lib app index main test tests docs doc init utils html css js py md txt")
_TESTS = words("test tests testing spec specs")
_COUNTED = re.compile(r"\b(\d{1,3}) (?:\w+ )?(?:pages|files|documents|scripts)\b", re.IGNORECASE)
_PART = re.compile(r"[^\W_]{3,}")
_TICKED = re.compile(r"\s*(?:[-*+]\s+)?\[(?P<mark>[ xX])\]\s*")


def item_of(text: str, done: bool = False) -> Item:
    """An item from its wording: what it takes, and the files it is to make."""
    text = text.strip()[:LONGEST_ITEM]
    kind = kind_of(text)
    planned: tuple[Artifact, ...] = ()
    if kind in _BUILDS:
        if has_verb(text):
            planned = planned_in(text)
        elif _is_only_paths(text):
            planned = declared(paths_in(text)).artifacts
    counted = _COUNTED.search(text) if kind is ItemKind.AGGREGATE and not planned else None
    return Item(text, kind, planned, done, int(counted[1]) if counted else 0)


def _is_only_paths(text: str) -> bool:
    return all(
        t.path or (t.mark in (",", "") and t.text in _CONNECTS | {""}) for t in tokens_in(text)
    )


def listed(items: Any, *, aside: bool = False) -> ItemsListed:
    """The list of a todo call, however the model shaped it; what is no item is left out.

    `aside`: it was sent during a repair and is not taken up.
    """
    found = []
    for entry in _entries(items):
        text, done = _entry(entry)
        if text and _reason(entry) is None:
            found.append(item_of(text, done))
    return ItemsListed(tuple(found), aside)


def dropped(items: Any, call: str = "") -> tuple[Fact, ...]:
    """What a list gives up, each with its reason; one without a reason will be refused."""
    found = list[Fact]()
    for entry in _entries(items):
        text, reason = _entry(entry)[0], _reason(entry)
        if text and reason is not None:
            found.append(Dropped(text, reason, call))
    return tuple(found)


def _entries(items: Any) -> Sequence[Any]:
    if isinstance(items, str):
        items = items.split("\n")
    return items[:MOST_LISTED] if isinstance(items, Sequence) else ()


def _reason(entry: Any) -> str | None:
    """Why an entry is given up; None: it is not."""
    if not isinstance(entry, Mapping):
        return None
    why, status = entry.get("dropped"), entry.get("status")
    says = isinstance(status, str) and status.casefold() in _DROPPED_WORDS
    if not why and not says:
        return None
    given = why if isinstance(why, str) else entry.get("reason")
    return given.strip() if isinstance(given, str) else ""


def advance(definition: Definition, call: Call, outcome: Outcome) -> tuple[Fact, ...]:
    """What a call completed; one item at most, and never a verification."""
    if outcome.kind not in (OutcomeKind.EXECUTED, OutcomeKind.DUPLICATE) or not outcome.ok:
        return ()
    if call.shape.nature in (Nature.LIST, Nature.NOTE, Nature.ASK, Nature.PLAN):
        return ()
    if outcome.changed:
        chosen = _built(definition, outcome.changed)
    else:
        looks = call.shape.nature in (Nature.OBSERVE, Nature.SHELL)
        candidates = _lookable(definition, call) if looks else []
        chosen = next((i for i in candidates if _names_any(i, call.paths)), None)
        chosen = chosen or next((i for i in candidates if not _names_files(i)), None)
    return (ItemCompleted(chosen.text, call.id),) if chosen is not None else ()


def _built(definition: Definition, changed: Sequence[str]) -> Item | None:
    """The open item that speaks of a changed file; those that name artifacts are not asked."""
    open_ones = [i for i in definition.pending if i.kind in _BUILDS and not i.artifacts]
    candidates = [i for i in open_ones if may_advance(definition, i)]
    named = next((i for i in candidates if _names_any(i, changed)), None)
    alike = (i for i in candidates if not _names_files(i) and _speaks_of_any(i, changed))
    return named or next(alike, None)


def _speaks_of_any(item: Item, paths: Iterable[str]) -> bool:
    """Whether a word of the item is in the name of a file; a test is none of what it tests."""
    said = _parts(item.text)
    meant = {w for w in said - _VAGUE if w not in VERBS}
    tests = bool(said & _TESTS)
    return any(
        meant & (_parts(path) - _VAGUE_PARTS) and (tests or not _parts(path) & _TESTS)
        for path in paths
    )


def _parts(text: str) -> frozenset[str]:
    """The words of a text or path, in the singular as well."""
    found = frozenset(_PART.findall(text.casefold()))
    return found | {word.removesuffix("s") for word in found if len(word) > 3}


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


def how_to_drop(what: str) -> str:
    """How the model gives up something planned: an item by its text, a file by its path."""
    shown = escape_line(what)
    return f'not needed after all? list it as {{"text": "{shown}", "dropped": "why"}}'


def show(definition: Definition) -> str:
    """The reconciled list, as the result of the todo tool."""
    pending, done = definition.pending, definition.completed
    lines = [f"todo: {len(done)} done, {len(pending)} open"]
    lines += [f"[x] {escape_line(i.text)}" for i in done[-MOST_SHOWN:]]
    lines += [f"[ ] {escape_line(i.text)}{_why_open(definition, i)}" for i in pending[:MOST_SHOWN]]
    if len(pending) > MOST_SHOWN:
        lines.append(f"… and {len(pending) - MOST_SHOWN} more open ones")
    lines += _unlisted(definition)
    lines += _given_up(definition)
    if definition.omitted:
        kept = shown_list((escape_line(text) for text in definition.omitted), MOST_SHOWN)
        lines.append(f"your list left out {kept}: open as before; list it as done when it is done")
        lines.append(how_to_drop(definition.omitted[0]))
    if definition.unlisted:
        lines.append(
            f"{definition.unlisted} items did not fit, {MOST_ITEMS} is the most; list fewer"
        )
    last = definition.round
    if last is not None:
        lines.append(f"verification: {shown(last)} is {last.status}")
    follows = next_item(definition, definition.missing)
    lines.append(f"next: {escape_line(follows.text)}" if follows else "next: nothing is open")
    return "\n".join(lines)


def _unlisted(definition: Definition) -> list[str]:
    """What is planned and missing without an item that says so."""
    covered = {a.path for item in definition.items for a in item.artifacts}
    alone = [a for a in definition.missing if a.path not in covered]
    if not alone:
        return []
    return [f"planned, not built: {shown_list(map(str, alone), 5)}", how_to_drop(str(alone[0]))]


def _given_up(definition: Definition) -> list[str]:
    """What was dropped and what could not be, and a list that was not taken up."""
    shown = definition.dropped[-MOST_SHOWN:]
    lines = [f"[-] {escape_line(d.what)} (dropped: {escape_line(d.reason)})" for d in shown]
    lines += [f"not dropped: {escape_line(text)}" for text in definition.undropped[:MOST_SHOWN]]
    if definition.aside:
        lines.append(
            f"a repair is open: your list ({definition.aside} items) is left aside, and nothing"
            " above was changed by it; send it again once the repair holds"
        )
    return lines


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
    return [i for i in definition.pending if i.kind is kind and may_advance(definition, i)]


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
    absent = [a for a in item.artifacts if not definition.has_built(a)]
    if not absent:
        return ""
    there = [str(a) for a in absent if a.path in definition.existing]
    gone = [str(a) for a in absent if a.path not in definition.existing]
    missing = f"missing: {shown_list(gone, 5)}" if gone else ""
    unchanged = f"not changed yet: {shown_list(there, 5)}" if there else ""
    return f" ({'; '.join(filter(None, (missing, unchanged)))})"
