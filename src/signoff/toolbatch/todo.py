"""The list of things to do, kept in step with the definition of done: claims in, the truth out.

An item that names files to make is done while they are there; the fold sees to that. Any other is
done when the model says so, or when a call changes a file that it names. An entry with a reason in
`dropped` gives an item, or a planned file by its path, up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from signoff.domain.definition import MOST_ITEMS, Artifact, Definition, Item
from signoff.domain.session import shown_list
from signoff.domain.text import escape_line
from signoff.gate.definition import (
    LONGEST_ITEM,
    ArtifactsSeen,
    Dropped,
    Fact,
    ItemCompleted,
    ItemsListed,
    Touched,
    apply_all,
)
from signoff.gate.rounds import shown
from signoff.toolbatch.calls import Nature, Outcome, OutcomeKind
from signoff.toolbatch.paths import paths_in, planned_by
from signoff.toolbatch.shellwork import command_of, only_looks

MOST_LISTED = 2 * MOST_ITEMS  # of one list that are looked at
MOST_SHOWN = 40

_TEXT_KEYS = ("text", "content", "title", "task", "description", "item", "name")
_DONE_WORDS = frozenset({"done", "completed", "complete", "finished", "closed"})
_DROPPED_WORDS = frozenset({"dropped", "cancelled", "canceled", "removed", "skipped"})
_TICKED = re.compile(r"\s*(?:[-*+]\s+)?\[(?P<mark>[ xX])\]\s*")


def facts_of(
    definition: Definition,
    outcome: Outcome,
    root: Path,
    existing: Callable[[], tuple[str, ...]],
    *,
    repairing: bool,
) -> tuple[Fact, ...]:
    """What a call means for the definition: files touched or seen, the list as sent, an item."""
    if outcome.kind is not OutcomeKind.EXECUTED:
        return ()
    call, facts = outcome.call, list[Fact]()
    changed = bool(outcome.changed) or _may_have_changed(outcome)
    if changed:
        others = outcome.result.touched if outcome.result is not None else ()
        facts.append(Touched((*outcome.changed, *others), call.id, call.tool))
    if changed or (definition.missing and _may_have_made(outcome)):
        there = existing()
        if there != definition.existing:
            facts.append(ArtifactsSeen(there))
    if call.shape.nature is Nature.LIST and outcome.ok:
        sent = next((call.arguments.get(name) for name in call.shape.payload), None)
        # A list that is sent during a repair would tidy away what the repair is about.
        known = definition.artifacts, definition.touched
        facts.append(listed(sent, root, *known, aside=repairing))
        facts += dropped(sent, call.id)
    return (*facts, *_completed(apply_all(definition, facts), outcome))


def _may_have_made(outcome: Outcome) -> bool:
    """Whether a command may have made files that nobody watches, as ignored ones are."""
    return outcome.call.shape.nature is Nature.SHELL and not only_looks(command_of(outcome.call))


def _may_have_changed(outcome: Outcome) -> bool:
    """Whether a command may have changed files that nobody saw: then nothing is proved any more."""
    call, result = outcome.call, outcome.result
    if result is None or result.touched:
        return result is not None
    unseen = call.shape.nature is Nature.SHELL and not result.content
    return unseen and not only_looks(command_of(call))


def _completed(definition: Definition, outcome: Outcome) -> tuple[Fact, ...]:
    """The first open item without files to make that names a file which the call changed."""
    for item in definition.pending if outcome.ok else ():
        named = [path.removeprefix("./").rstrip("/") for path in paths_in(item.text)]
        whole = [(f"/{path}/", f"/{name}/") for path in outcome.changed for name in named]
        if not item.artifacts and any(name in path for path, name in whole):
            return (ItemCompleted(item.text, outcome.call.id),)
    return ()


def items_of(
    texts: Sequence[str],
    root: Path,
    planned: Sequence[Artifact] = (),
    touched: Sequence[str] = (),
) -> tuple[Item, ...]:
    """Items from their wording, each with the files that it is to make."""
    texts = [text.strip()[:LONGEST_ITEM] for text in texts]
    return tuple(map(Item, texts, planned_by(texts, root, planned, touched)))


def listed(
    items: Any,
    root: Path,
    planned: Sequence[Artifact] = (),
    touched: Sequence[str] = (),
    *,
    aside: bool = False,
) -> ItemsListed:
    """The list of a todo call, however the model shaped it; what is no item is left out.

    `aside`: it was sent during a repair and is not taken up.
    """
    entries = [_entry(entry) for entry in _entries(items) if _reason(entry) is None]
    entries = [(text, done) for text, done in entries if text]
    found = items_of([text for text, _ in entries], root, planned, touched)
    claimed = zip(found, entries, strict=True)
    return ItemsListed(tuple(replace(item, done=done) for item, (_, done) in claimed), aside)


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


def next_item(definition: Definition, missing: Sequence[Artifact]) -> Item | None:
    """What to go on with: the item that makes the first missing file, else the first open one."""
    owners = (i for i in definition.pending if missing and missing[0] in i.artifacts)
    return next(owners, next(iter(definition.pending), None))


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


def _why_open(definition: Definition, item: Item) -> str:
    absent = [str(a) for a in item.artifacts if a.path not in definition.existing]
    return f" (missing: {shown_list(absent, 5)})" if absent else ""
