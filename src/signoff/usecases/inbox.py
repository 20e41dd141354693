"""`inbox` and `answer`: questions for people, and their decisions."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from signoff.domain.escalation import Cause, Choice, Outcome
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.session import SESSION_PREFIX
from signoff.errors import NothingToAnswer
from signoff.storage import Ledger
from signoff.usecases.person import require_person
from signoff.usecases.site import PlanPlace, Site

LOOP = "signoff agent"  # the author of sessions of the built-in loop


@dataclass(frozen=True)
class Item:
    """One open question with everything needed to answer it."""

    id: str
    plan: str
    path: str
    step: str | None
    question: str
    context: dict[str, Any]
    choices: tuple[Choice, ...]
    at: str
    cause: Cause


@dataclass(frozen=True)
class AnswerReport:
    """A decision as recorded."""

    item: Item
    choice: Choice
    note: str
    author: str = ""  # of the session that asked, if one did
    ended: Outcome | None = None  # how the answer ended the run, unless somebody drives it


def open_items(ledger: Ledger, plan_id: str | None = None) -> tuple[Item, ...]:
    """Every open question, oldest first; runs that are over ask nothing any more."""
    known = {record.id: record for record in ledger.plans()}
    items = []
    for entry in ledger.open_escalations(plan_id):
        if ledger.run_is_over(entry.plan, entry.run or ""):
            continue
        record = known.get(entry.plan)
        name = (record.name or "PLAN") if record else entry.plan
        items.append(_item(entry, name, record.path if record else ""))
    return tuple(items)


def answer(
    site: Site, item_id: str, choice: Choice, note: str, *, interactive: bool
) -> AnswerReport:
    """Record a person's decision; a waiver is its own entry, always shown."""
    by = require_person(site.environ, site.home.path)
    found = [e for e in site.ledger.open_escalations() if e.data["id"] == item_id]
    items = {item.id: item for item in open_items(site.ledger)}
    if not found or item_id not in items:
        raise NothingToAnswer(_why_not_open(site.ledger, item_id))
    entry, item = found[0], items[item_id]
    if choice not in item.choices:
        offered = ", ".join(item.choices)
        raise NothingToAnswer(
            f"`{choice}` is not an answer to `{item_id}`", f"choose one of: {offered}"
        )
    data = {
        "id": item_id,
        "choice": choice,
        "note": note,
        "by": by,
        "interactive": interactive,
    }
    drafts = [Draft(Kind.ESCALATION_ANSWERED, data, entry.run, entry.step)]
    if choice is Choice.WAIVE:
        waiver = {"escalation": item_id, "by": by, "note": note}
        drafts.append(Draft(Kind.STEP_WAIVED, waiver, entry.run, entry.step))
    site.ledger.append(entry.plan, drafts)
    ended = _end_run(site, entry) if choice in (Choice.REVISE, Choice.ABORT) else None
    return AnswerReport(item, choice, note, _author(site.ledger, entry.plan), ended)


def _why_not_open(ledger: Ledger, item_id: str) -> str:
    """A question that was answered is told from one that nobody asked."""
    for record in ledger.plans():
        for entry in ledger.entries(record.id):
            if entry.kind is Kind.ESCALATION_ANSWERED and entry.data["id"] == item_id:
                data = entry.data
                said = "withdrawn" if data.get("withdrawn") else f"answered: {data['choice']}"
                return f"question `{item_id}` is {said}, by {data['by']} at {entry.at[:19]}"
    return f"no open question has the id `{item_id}`"


def _end_run(site: Site, entry: Entry) -> Outcome | None:
    """A question without a run is a session's, or about a merge: there is no run to end."""
    if entry.run is None:
        return None
    # What knows how runs end takes longer to load than a list of questions.
    from signoff.usecases.ending import end_decided_run  # noqa: PLC0415

    return end_decided_run(site, entry.plan)


def ways_to_end(ledger: Ledger, place: PlanPlace) -> str:
    """What ends the run of a plan, so that an edit of it can be approved."""
    cancel = f"signoff cancel {shlex.quote(str(place.path))}"
    asked = [item for item in open_items(ledger, place.record.id) if Choice.REVISE in item.choices]
    return f"signoff answer {asked[0].id} revise, or {cancel}" if asked else cancel


def _author(ledger: Ledger, chain: str) -> str:
    if not chain.startswith(SESSION_PREFIX):
        return ""
    began = (e for e in ledger.entries(chain) if e.kind is Kind.SESSION_STARTED)
    return str(next((e.data.get("author", "") for e in began), ""))


def _item(entry: Entry, name: str, path: str) -> Item:
    data = entry.data
    return Item(
        id=data["id"],
        plan=name,
        path=path,
        step=entry.step,
        question=data["question"],
        context=data["context"],
        choices=tuple(Choice(c) for c in data["choices"]),
        at=entry.at,
        cause=Cause(data["cause"]),
    )
