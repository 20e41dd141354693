"""The definition of done as a fold: facts in, one after the other; where the task stands out.

Nobody sets a status. It is done only with a kept round that nothing touched since and that has an
observation for every check, with every planned artifact there, and with no item open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from signoff.domain.definition import (
    MOST_ARTIFACTS,
    MOST_COMMANDS,
    MOST_ITEMS,
    MOST_TOUCHED,
    ROUND_BUDGET,
    Artifact,
    Definition,
    DefinitionStatus,
    Item,
    RoundStatus,
)
from signoff.domain.definition_facts import (
    Abandoned,
    ArtifactsSeen,
    Dropped,
    Fact,
    ItemCompleted,
    ItemsListed,
    ProjectSeen,
    RoundBegun,
    RoundDecided,
    RoundPlanned,
    Stated,
    TakenUp,
    Touched,
    from_data,
    to_data,
)
from signoff.domain.session import shown_list
from signoff.gate import dropping, rounds
from signoff.gate.dropping import LONGEST_ITEM, LONGEST_REASON, cut, item_key

__all__ = [
    "LONGEST_ITEM",
    "UNSTATED",
    "Abandoned",
    "ArtifactsSeen",
    "Dropped",
    "Fact",
    "ItemCompleted",
    "ItemsListed",
    "ProjectSeen",
    "RoundBegun",
    "RoundDecided",
    "RoundPlanned",
    "Stated",
    "TakenUp",
    "Touched",
    "apply",
    "apply_all",
    "from_data",
    "is_built",
    "item_key",
    "nothing_left",
    "to_data",
]

LONGEST_STATEMENT = 8_000
MOST_STATEMENTS = 10  # the first and the latest; the ledger has them all
_SHOWN = 5

_BLANK_LINES = re.compile(r"\n\s*\n")


def apply(definition: Definition, fact: Fact) -> Definition:
    """The definition after one more fact; whatever the fact, it never raises."""
    return _settled(_HANDLERS[type(fact)](definition, fact))


def apply_all(definition: Definition, facts: Iterable[Fact]) -> Definition:
    """The same for several."""
    for fact in facts:
        definition = apply(definition, fact)
    return definition


def is_built(definition: Definition, item: Item) -> bool:
    """Whether everything that it plans is there; true of an item that plans nothing."""
    return all(artifact.path in definition.existing for artifact in item.artifacts)


def nothing_left(definition: Definition) -> bool:
    """Whether every artifact is there and no item is open."""
    return not definition.pending and not definition.missing


def _stated(definition: Definition, fact: Stated) -> Definition:
    text = _BLANK_LINES.sub("\n", fact.statement.strip())[:LONGEST_STATEMENT].strip()
    said = definition.statement.split("\n\n") if definition.statement else []
    asks_more = bool(text) and text not in said
    before = definition
    if asks_more:
        whole = "\n\n".join((*said[:1], *(*said[1:], text)[1 - MOST_STATEMENTS :]))
        # Only people state tasks, and whoever asks for more lets the work go on.
        definition = replace(definition, statement=whole, abandoned="", failed_rounds=0)
    # What the same words plan on another day, when other files are there, is not what was asked.
    if asks_more or fact.declared or not text:
        definition = _planned_by(definition, fact)
    wanted = rounds.united(definition.checks, fact.checks)
    more = max(0, len(wanted) - MOST_COMMANDS)
    definition = replace(
        definition,
        checks=wanted[:MOST_COMMANDS],
        overflow=max(definition.overflow, more),
        unread=max(definition.unread, fact.unread),
    )
    if asks_more:
        return rounds.widen_open(rounds.outdate(definition, "more was asked for"))
    if definition.checks != before.checks:
        definition = _after_more_checks(definition)
    return rounds.widen_open(definition)


def _planned_by(definition: Definition, fact: Stated) -> Definition:
    """What a person or a plan asks for; what was dropped comes back when it is asked for anew."""
    definition = _with_artifacts(definition, fact.artifacts)
    definition, more = _with_items(definition, _known(definition), fact.items)
    planned = [a.path for a in definition.artifacts]
    names = {a.path for a in fact.artifacts} | {a.path for i in fact.items for a in i.artifacts}
    keys = [item_key(cut(item.text)) for item in fact.items]
    definition = replace(definition, overflow=max(definition.overflow, more))
    if fact.declared:
        new = (*(path for path in planned if path in names), *keys)
        declared = tuple(dict.fromkeys((*definition.declared, *new)))
        return replace(definition, declared=declared)
    asked = {*definition.asked, *names}
    return replace(definition, asked=tuple(path for path in planned if path in asked))


def _after_more_checks(definition: Definition) -> Definition:
    last = definition.round
    why = "more must hold than was judged"
    speaks = last is not None and last.status in (RoundStatus.KEPT, RoundStatus.RUNNING)
    return rounds.after_change(definition, why) if speaks else definition


def _with_artifacts(definition: Definition, added: Iterable[Artifact]) -> Definition:
    by_path = {a.path: a for a in definition.artifacts}
    for artifact in added:
        by_path.setdefault(artifact.path, artifact)
    every = tuple(by_path.values())
    more = max(0, len(every) - MOST_ARTIFACTS)
    return replace(
        definition, artifacts=every[:MOST_ARTIFACTS], overflow=max(definition.overflow, more)
    )


def _known(definition: Definition) -> dict[str, Item]:
    return {item_key(item.text): item for item in definition.items}


def _with_items(
    definition: Definition, by_key: dict[str, Item], added: Iterable[Item]
) -> tuple[Definition, int]:
    """New items behind the known ones, and how many did not fit, they or what they plan.

    Finished items that cannot reopen make room.
    """
    new: dict[str, Item] = {}
    for item in added:
        text = cut(item.text)
        key = item_key(text)
        if key and key not in by_key:
            new.setdefault(key, replace(item, text=text, done=False))
    surplus = len(by_key) + len(new) - MOST_ITEMS
    closed = [k for k, i in by_key.items() if i.done and not i.artifacts]
    for key in closed[: max(0, surplus)]:
        del by_key[key]
    planned = {a.path: a for a in definition.artifacts}
    for key, item in new.items():
        wanted = {a.path: a for a in item.artifacts}
        if len(by_key) < MOST_ITEMS and len(planned.keys() | wanted.keys()) <= MOST_ARTIFACTS:
            by_key[key] = item
            planned |= {path: a for path, a in wanted.items() if path not in planned}
    lost = sum(key not in by_key for key in new)
    definition = replace(
        definition, items=tuple(by_key.values()), artifacts=tuple(planned.values())
    )
    return definition, lost


def _listed(definition: Definition, fact: ItemsListed) -> Definition:
    """A list replaces nothing: it adds, it claims, and what it leaves out stays."""
    definition = replace(definition, undropped=(), aside=len(fact.items) if fact.aside else 0)
    if fact.aside:
        return definition
    listed = {item_key(cut(i.text)): i for i in reversed(fact.items)}
    listed.pop("", None)
    known = _known(definition)
    omitted = tuple(i.text for k, i in known.items() if not i.done and k not in listed)
    definition, unlisted = _with_items(definition, known, reversed(listed.values()))
    items = []
    for item in definition.items:
        claim = listed.get(item_key(item.text))
        claimed = claim is not None and claim.done
        done = item.done or (claimed and is_built(definition, item))
        items.append(replace(item, done=done))
    return replace(definition, items=tuple(items), omitted=omitted, unlisted=unlisted)


def _completed(definition: Definition, fact: ItemCompleted) -> Definition:
    key = item_key(cut(fact.text))
    items = tuple(
        replace(i, done=True)
        if not i.done and item_key(i.text) == key and is_built(definition, i)
        else i
        for i in definition.items
    )
    return replace(definition, items=items)


def _touched(definition: Definition, fact: Touched) -> Definition:
    """Files were changed, or nobody knows what was."""
    new = dict.fromkeys(fact.paths)
    earlier = [path for path in definition.touched if path not in new]
    definition = replace(definition, touched=(*earlier, *new)[-MOST_TOUCHED:])
    what = shown_list(fact.paths, _SHOWN) or "the workspace"
    return rounds.after_change(definition, f"{fact.tool or 'a call'} changed {what}")


def _seen(definition: Definition, fact: ArtifactsSeen) -> Definition:
    """Somebody looked which planned artifacts are there."""
    there = frozenset(path.rstrip("/") for path in fact.existing)
    planned = tuple(a.path for a in definition.artifacts)
    gone = [path for path in definition.existing if path not in there]
    definition = replace(definition, existing=tuple(path for path in planned if path in there))
    if not gone:
        return definition
    verb = "is" if len(gone) == 1 else "are"
    return rounds.after_change(definition, f"{shown_list(gone, _SHOWN)} {verb} gone")


def _planned(definition: Definition, fact: RoundPlanned) -> Definition:
    return rounds.plan_round(definition, fact.checks, fact.because[:LONGEST_REASON])


def _begun(definition: Definition, _fact: RoundBegun) -> Definition:
    return rounds.begin_round(definition)


def _abandoned(definition: Definition, fact: Abandoned) -> Definition:
    reason = fact.reason.strip()[:LONGEST_REASON] or "no reason was given"
    return rounds.skip_open(replace(definition, abandoned=reason), f"given up: {reason}")


def _project_seen(definition: Definition, fact: ProjectSeen) -> Definition:
    """Whoever looks again after the work began may see what the work made of the project."""
    untouched = definition.began_with is None and not definition.touched
    return replace(definition, began_with=fact.checks) if untouched else definition


def _taken_up(definition: Definition, _fact: TakenUp) -> Definition:
    return replace(definition, abandoned="", failed_rounds=0)


_HANDLERS: dict[type, Callable[[Definition, Any], Definition]] = {
    Stated: _stated,
    ItemsListed: _listed,
    Touched: _touched,
    ItemCompleted: _completed,
    ArtifactsSeen: _seen,
    RoundPlanned: _planned,
    RoundBegun: _begun,
    RoundDecided: rounds.decide_round,
    Abandoned: _abandoned,
    Dropped: dropping.drop,
    ProjectSeen: _project_seen,
    TakenUp: _taken_up,
}


def _settled(definition: Definition) -> Definition:
    """What follows from the facts: items that are done, whether a round is due, the status."""
    definition = dropping.taken_up(definition)
    definition = replace(definition, items=_settled_items(definition))
    last = definition.round
    if last is not None and last.status in rounds.WAITING:
        due = bool(last.checks) and nothing_left(definition)
        status = RoundStatus.PENDING if due else RoundStatus.PLANNED
        settled = replace(last, status=status)
        definition = replace(definition, rounds=(*definition.rounds[:-1], settled))
    still = {i.text for i in definition.pending}
    omitted = tuple(text for text in definition.omitted if text in still)
    undone = _undone(definition)
    return replace(definition, omitted=omitted, undone=undone, status=_status(definition, undone))


def _settled_items(definition: Definition) -> tuple[Item, ...]:
    """What plans files is done while they are there; the rest when the model said so."""
    return tuple(
        replace(item, done=is_built(definition, item)) if item.artifacts else item
        for item in definition.items
    )


def _undone(definition: Definition) -> tuple[str, ...]:
    """Everything between the task and done, in words for a person."""
    found = []
    if definition.abandoned:
        found.append(f"it was given up: {definition.abandoned}")
    if definition.failed_rounds >= ROUND_BUDGET:
        found.append(f"all {ROUND_BUDGET} rounds that may fail have failed; a person has to look")
    if definition.missing:
        found.append(f"missing: {shown_list(map(str, definition.missing), _SHOWN)}")
    if definition.dropped and not definition.touched:
        found.append("what was planned was dropped, and nothing was made")
    if definition.pending:
        found.append(f"open: {shown_list((i.text for i in definition.pending), _SHOWN)}")
    if definition.unlisted or definition.overflow:
        more = definition.unlisted + definition.overflow
        found.append(f"{more} more than the limits allow were asked for and are not kept track of")
    found += _unproved(definition)
    return tuple(found)


def _unproved(definition: Definition) -> list[str]:
    last = definition.round
    if last is None:
        return ["nothing was verified yet"]
    if last.status is not RoundStatus.KEPT:
        why = f": {last.because}" if last.because else ""
        bare = "" if last.checks else "; unverifiable: no check can be derived"
        return [f"{rounds.shown(last)} is {last.status}{why}{bare}"]
    lacking = rounds.gaps(definition)
    return [f"not judged: {shown_list(lacking, _SHOWN)}"] if lacking else []


def _status(definition: Definition, undone: tuple[str, ...]) -> DefinitionStatus:
    last = definition.round
    if rounds.is_over(definition):
        return DefinitionStatus.FAILED
    if not undone:
        return DefinitionStatus.DONE
    if last is not None and last.status in (RoundStatus.PENDING, RoundStatus.RUNNING):
        return DefinitionStatus.VERIFYING
    answers = rounds.FAILED | {RoundStatus.KEPT}
    latest = next((r.status for r in reversed(definition.rounds) if r.status in answers), None)
    if latest in rounds.FAILED:
        return DefinitionStatus.FIXING
    begun = definition.touched or definition.rounds or definition.completed
    return DefinitionStatus.IN_PROGRESS if begun else DefinitionStatus.DRAFT


UNSTATED = _settled(Definition(""))  # where every fold begins
