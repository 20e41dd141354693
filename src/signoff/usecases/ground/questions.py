"""Open questions for people, read from the ledger, and what ends the run that asks them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from signoff.domain.escalation import Cause, Choice
from signoff.domain.ledger import Entry
from signoff.storage import Ledger
from signoff.usecases.ground.site import PlanPlace


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


def ways_to_end(ledger: Ledger, place: PlanPlace) -> str:
    """What ends the run of a plan, so that an edit of it can be approved."""
    cancel = f"signoff cancel {shlex.quote(str(place.path))}"
    asked = [item for item in open_items(ledger, place.record.id) if Choice.REVISE in item.choices]
    return f"signoff answer {asked[0].id} revise, or {cancel}" if asked else cancel


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
