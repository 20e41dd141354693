"""The list of things to do, kept in step with the derived plan: claims in, the truth out.

An entry that names files to make is about the steps that make them. Any other is an item: done when
the model says so, or when a call changes a file that it names. An entry with a reason in `dropped`
gives an item, or a planned file by its path, up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from signoff.domain.session import MOST_PARTS, Artifact, ClaimStatus, normal
from signoff.domain.text import escape_line, shown_list
from signoff.gate.gate import how_to_drop
from signoff.gate.task import Item, Task
from signoff.toolbatch.calls import CallResult
from signoff.toolbatch.paths import paths_in, planned_by
from signoff.toolbatch.taskplan import LONGEST_ITEM, Part, TaskPlan, plain

MOST_LISTED = 2 * MOST_PARTS  # of one list that are looked at
MOST_SHOWN = 40
LONGEST_REASON = 500

_TEXT_KEYS = ("text", "content")
_TICKED = re.compile(r"\s*(?:[-*+]\s+)?\[(?P<mark>[ xX])\]\s*")
_MARKER = re.compile(r"(?:[-*+•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s*)+")


class Listed(Struct, frozen=True):
    """One entry of a list as the model sent it; `dropped` is why it is given up, if it is."""

    text: str
    done: bool = False
    dropped: str | None = None


class Taken(Struct, frozen=True):
    """Effect of a list: what it left out, gave up in vain, or was too long for."""

    omitted: tuple[str, ...] = ()
    undropped: tuple[str, ...] = ()
    unlisted: int = 0
    aside: int = 0


def item_key(text: str) -> str:
    """Key of an item: equal whatever its case, spacing, list marks or full stop."""
    words = normal(_MARKER.sub("", plain(text), count=1)).rstrip(".!;: ")
    return " ".join(word for word in words.split() if word != "the")


def entries_of(sent: Any) -> tuple[Listed, ...]:
    """The entries of a list, however the model shaped it; what is none is left out."""
    if isinstance(sent, str):
        sent = sent.split("\n")
    if not isinstance(sent, Sequence):
        return ()
    found = (_entry(entry) for entry in sent[:MOST_LISTED])
    return tuple(entry for entry in found if entry.text)


def take_list(plan: TaskPlan, sent: Any, *, repairing: bool = False) -> Taken:
    """Record what a list asks for, ticks and gives up.

    One that is sent during a repair would tidy away what the repair is about: it is left aside.
    """
    entries = entries_of(plan.books.redactor.data(sent))
    if not plan.derives:
        return Taken()
    undropped = tuple(
        f"{entry.text}: {why}"
        for entry in entries
        if entry.dropped is not None and (why := _drop(plan, entry.text, entry.dropped))
    )
    wanted = [entry for entry in entries if entry.dropped is None]
    if repairing:
        return Taken((), undropped, aside=len(wanted))
    if plan.is_own:
        return Taken((), undropped)  # steps of a plan are ticked with the plan's own tools
    unlisted = _plan_more(plan, wanted)
    listed = {item_key(entry.text): entry for entry in wanted}
    for item in plan.task().pending:
        entry = listed.get(item_key(item.text))
        if entry is not None and entry.done:
            plan.claim(item.id, ClaimStatus.DONE)
    gone = {item_key(entry.text) for entry in entries}
    omitted = [i.text for i in plan.task().pending if item_key(i.text) not in gone]
    return Taken(tuple(omitted), undropped, unlisted)


def _plan_more(plan: TaskPlan, wanted: Sequence[Listed]) -> int:
    """New files and items behind the known ones; how many did not fit."""
    task = plan.task()
    known = (*task.planned, *(Artifact.of(d.what) for d in task.dropped if "/" in d.what))
    texts = [entry.text[:LONGEST_ITEM] for entry in wanted]
    about = planned_by(texts, plan.root, known, task.touched)
    items = {item_key(item.text) for item in task.items}
    given_up = {item_key(drop.what) for drop in task.dropped}
    new: dict[str, Part] = {}
    for text, files in zip(texts, about, strict=True):
        key = item_key(text)
        for file in files:
            part = Part.making(file, text if len(files) == 1 else "")
            new.setdefault(str(file), part)
        if not files and key and key not in items | given_up:
            new.setdefault(key, Part(plain(text)))
    planned = {str(artifact) for artifact in task.planned}
    more = [part for part in new.values() if part.path not in planned]
    return plan.add(more) if more else 0


def _drop(plan: TaskPlan, what: str, reason: str) -> str:
    """Give up an open item or a planned file; why not, where it cannot be."""
    task, reason = plan.task(), reason.strip()[:LONGEST_REASON]
    named = what.strip("`'\" ").removeprefix("./").rstrip("/")
    state = plan.books.look()
    tasks = {s.id: getattr(s, "task", "") for s in state.subjects}
    found = [i.id for i in task.pending if item_key(i.text) == item_key(what)]
    found += [
        subject
        for subject, path in state.task_files.items()
        if path.rstrip("/") == named or item_key(tasks.get(subject, "")) == item_key(what)
    ]
    if named in {artifact.path for artifact in plan.declared}:
        return "the plan declares it, and only a person changes that"
    if not found:
        return "nothing that is planned and open is called that"
    if not reason:
        return "say why in `dropped`"
    for subject in found:
        plan.claim(subject, ClaimStatus.DROPPED, reason)
    return ""


def complete(plan: TaskPlan, result: CallResult) -> Item | None:
    """The first open item that names a file which the call changed, ticked; None: there is none."""
    for item in plan.task().pending if result.ok and not plan.is_own else ():
        named = [path.removeprefix("./").rstrip("/") for path in paths_in(item.text)]
        whole = [(f"/{path}/", f"/{name}/") for path in result.changed for name in named]
        if any(name in path for path, name in whole):
            plan.claim(item.id, ClaimStatus.DONE, f"{result.call.tool} changed what it names")
            return item
    return None


def show(task: Task, missing: Sequence[Artifact], taken: Taken) -> str:
    """The reconciled list, as the result of the todo tool."""
    pending, done = task.pending, [item for item in task.items if item.done]
    there = [artifact for artifact in task.planned if artifact not in missing]
    lines = [f"todo: {len(done) + len(there)} done, {len(pending) + len(missing)} open"]
    lines += [f"[x] {escape_line(text)}" for text in _texts(there, done)[-MOST_SHOWN:]]
    still = _texts(missing, pending)
    lines += [f"[ ] {escape_line(text)}" for text in still[:MOST_SHOWN]]
    if len(still) > MOST_SHOWN:
        lines.append(f"… and {len(still) - MOST_SHOWN} more open ones")
    lines += [
        f"[-] {escape_line(drop.what)} (dropped: {escape_line(drop.reason)})"
        for drop in task.dropped[-MOST_SHOWN:]
    ]
    lines += _remarks(taken)
    if task.round is not None:
        lines.append(f"verification: {task.round} is {task.round.status}")
    if still and not taken.omitted:
        lines.append(how_to_drop(still[0]))
    lines.append(f"next: {escape_line(still[0])}" if still else "next: nothing is open")
    return "\n".join(lines)


def _texts(files: Sequence[Artifact], items: Sequence[Item]) -> list[str]:
    return [*map(str, files), *(item.text for item in items)]


def _remarks(taken: Taken) -> list[str]:
    lines = [f"not dropped: {escape_line(text)}" for text in taken.undropped[:MOST_SHOWN]]
    if taken.aside:
        lines.append(
            f"a repair is open: your list ({taken.aside} items) is left aside, and nothing above"
            " was changed by it; send it again once the repair holds"
        )
    if taken.omitted:
        kept = shown_list((escape_line(text) for text in taken.omitted), MOST_SHOWN)
        lines.append(f"your list left out {kept}: open as before; list it as done when it is done")
        lines.append(how_to_drop(taken.omitted[0]))
    if taken.unlisted:
        lines.append(f"{taken.unlisted} items did not fit, {MOST_PARTS} is the most; list fewer")
    return lines


def _entry(entry: Any) -> Listed:
    if isinstance(entry, str):
        ticked = _TICKED.match(entry)
        if ticked is None:
            return Listed(entry.strip())
        return Listed(entry[ticked.end() :].strip(), ticked["mark"] != " ")
    if not isinstance(entry, Mapping):
        return Listed("")
    text = next((entry[k] for k in _TEXT_KEYS if isinstance(entry.get(k), str)), "").strip()
    why = entry.get("dropped")
    if why:
        return Listed(text, dropped=why.strip() if isinstance(why, str) else "")
    return Listed(text, entry.get("done") is True or entry.get("status") in ("done", "completed"))
