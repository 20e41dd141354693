"""What one fact did to a definition of done, in sentences: the timeline that people read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from signoff.domain.definition import Definition, DefinitionStatus, Round, RoundStatus, Support
from signoff.domain.definition_facts import (
    Abandoned,
    Dropped,
    Fact,
    ItemsListed,
    Stated,
    TakenUp,
    Touched,
)
from signoff.domain.session import shown_list
from signoff.gate.rounds import shown

_SHOWN = 5
T = TypeVar("T")


@dataclass(frozen=True)
class Note:
    """One thing that changed; `reason` is a stable word for machines."""

    reason: str
    text: str
    round: Round | None = None


def notes(before: Definition, fact: Fact, after: Definition) -> tuple[Note, ...]:
    """Everything that a fact changed; nothing when it changed nothing worth telling."""
    return (
        *_of_the_fact(before, fact, after),
        *_of_items(before, after),
        *_of_artifacts(before, after),
        *(_of_round(r) for r in changed_rounds(before, after)),
        *_of_status(before, after),
    )


def changed_rounds(before: Definition, after: Definition) -> tuple[Round, ...]:
    """Rounds that are new or stand differently, in their order."""
    known = {r.number: r for r in before.rounds}
    return tuple(r for r in after.rounds if _stands(known.get(r.number)) != _stands(r))


def _stands(round_: Round | None) -> tuple[RoundStatus, int] | None:
    return None if round_ is None else (round_.status, len(round_.checks))


def _of_the_fact(before: Definition, fact: Fact, after: Definition) -> Iterator[Note]:
    if isinstance(fact, Stated) and after.statement != before.statement:
        yield Note("task_stated", f"the task: {_first_line(fact.statement)}")
    if after.unread > before.unread:
        text = f"the last {after.unread} characters of the task were not read for planned files"
        yield Note("task_unread", text)
    if after.overflow > before.overflow:
        text = f"{after.overflow} more were asked for than can be kept track of"
        yield Note("task_overflow", text)
    if isinstance(fact, Dropped):
        yield _of_drop(fact, before, after)
    if isinstance(fact, ItemsListed) and fact.aside:
        yield Note("list_left_aside", f"a list of {after.aside} came during a repair: left aside")
    if isinstance(fact, Touched):
        what = shown_list(fact.paths, _SHOWN) or "the workspace"
        yield Note("files_changed", f"{fact.tool or 'a call'} changed {what}")
    if isinstance(fact, ItemsListed) and after.omitted:
        kept = shown_list(after.omitted, _SHOWN)
        yield Note("items_kept", f"the list left out {kept}; open as before")
    if isinstance(fact, TakenUp):
        yield Note("task_taken_up", "a person lets the work go on")
    if isinstance(fact, Abandoned):
        yield Note("task_abandoned", f"given up: {after.abandoned}")


def _of_drop(fact: Dropped, before: Definition, after: Definition) -> Note:
    if after.dropped == before.dropped:
        why = after.undropped[-1] if after.undropped else fact.what
        return Note("drop_refused", f"not dropped: {_first_line(why)}")
    drop = after.dropped[-1]
    asked = ", which the task asks for" if drop.asked else ""
    return Note(
        "dropped", f"dropped: `{_first_line(drop.what)}`{asked}; {_first_line(drop.reason)}"
    )


def _of_items(before: Definition, after: Definition) -> Iterator[Note]:
    was = {item.text: item.done for item in before.items}
    new = [i.text for i in after.items if i.text not in was]
    done = [i.text for i in after.items if i.done and not was.get(i.text, False)]
    again = [i.text for i in after.items if not i.done and was.get(i.text, False)]
    for reason, texts, word in (
        ("items_added", new, "to do"),
        ("items_completed", done, "done"),
        ("items_reopened", again, "open again"),
    ):
        if texts:
            yield Note(reason, f"{word}: {shown_list(texts, _SHOWN)}")


def _of_artifacts(before: Definition, after: Definition) -> Iterator[Note]:
    planned = [str(a) for a in _new(before.artifacts, after.artifacts)]
    for reason, paths, word in (
        ("artifacts_planned", planned, "planned"),
        ("artifacts_seen", _new(before.existing, after.existing), "there"),
        ("artifacts_gone", _new(after.existing, before.existing), "gone"),
    ):
        if paths:
            yield Note(reason, f"{word}: {shown_list(paths, _SHOWN)}")


def _new(before: Iterable[T], after: Iterable[T]) -> list[T]:
    known = frozenset(before)
    return [one for one in after if one not in known]


def _of_round(round_: Round) -> Note:
    parts = [f"{shown(round_)} (number {round_.number}) is {round_.status}"]
    opens = round_.status in (RoundStatus.PLANNED, RoundStatus.PENDING)
    if opens and round_.supersedes is not None:
        parts.append(f", in place of number {round_.supersedes}")
    if round_.because and round_.status is not RoundStatus.KEPT:
        parts.append(f": {round_.because}")
    if opens:
        commands = shown_list((c.command for c in round_.checks), _SHOWN)
        parts.append(f"; to be judged by {commands}" if commands else "; nothing to judge it by")
    against = [s for s in round_.seen if s.status in (Support.CONTRADICTS, Support.MISSING)]
    if against:
        said = "; ".join(_first_line(s.detail) or s.subject for s in against[:_SHOWN])
        parts.append(f"; {said}")
    return Note(f"round_{round_.status}", "".join(parts), round_)


def _of_status(before: Definition, after: Definition) -> Iterator[Note]:
    if after.status is before.status:
        return
    ends = (DefinitionStatus.DONE, DefinitionStatus.FAILED)
    why = f": {'; '.join(after.undone)}" if after.status in ends and after.undone else ""
    yield Note("status_changed", f"{before.status} → {after.status}{why}")


def _first_line(text: str) -> str:
    return next((line.strip()[:200] for line in text.split("\n") if line.strip()), "")
