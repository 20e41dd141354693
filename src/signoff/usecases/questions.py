"""Open questions for people, read from the ledger, and what ends the run that asks them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from signoff.domain.ledger import Cause, Choice, Kind
from signoff.storage.ledger import Ledger
from signoff.usecases.harness import PlanLocation, is_surely_gone


class InboxItem(Struct, frozen=True):
    id: str
    plan: str
    plan_id: str
    path: str
    step: str | None
    question: str
    context: dict[str, Any]
    choices: tuple[Choice, ...]
    at: str
    cause: Cause | None  # None: no question, but work that awaits sign-off
    workspace: str = ""  # of the run that asks; empty where no run does
    host: str = ""  # where that is

    @property
    def gone(self) -> bool:
        """True when nobody can work there any more: the run's folder is known not to exist."""
        here = self.host == os.uname().nodename
        return bool(self.workspace) and here and is_surely_gone(Path(self.workspace))


def open_items(ledger: Ledger, plan_id: str | None = None) -> tuple[InboxItem, ...]:
    """Every open question, oldest first; runs that are over ask nothing any more."""
    known = {record.id: record for record in ledger.plans()}
    beginning_of = cache(lambda plan, run: _beginning(ledger, plan, run))
    items = []
    for entry in ledger.open_escalations(plan_id):
        if ledger.run_is_over(entry.plan, entry.run or ""):
            continue
        record = known.get(entry.plan)
        name = (record.name or "PLAN") if record else entry.plan
        began = beginning_of(entry.plan, entry.run) if entry.run else {}
        data = entry.data
        items.append(
            InboxItem(
                id=data["id"],
                plan=name,
                plan_id=entry.plan,
                path=record.path if record else "",
                step=entry.step,
                question=data["question"],
                context=data["context"],
                choices=tuple(Choice(c) for c in data["choices"]),
                at=entry.at,
                cause=Cause(data["cause"]),
                workspace=str(began.get("workspace", "")),
                host=str(began.get("host", "")),
            )
        )
    return tuple(items)


def ways_to_end(ledger: Ledger, place: PlanLocation) -> str:
    """The command that ends the run of a plan, so that an edit of it can be approved."""
    cancel = f"signoff cancel {place.quoted}"
    asked = [item for item in open_items(ledger, place.id) if Choice.REVISE in item.choices]
    return f"signoff answer {asked[0].id} revise, or {cancel}" if asked else cancel


def _beginning(ledger: Ledger, plan: str, run: str) -> Mapping[str, Any]:
    """Record of the run's beginning: where, and on which machine."""
    began = next(iter(ledger.entries(plan, run=run)), None)
    return began.data if began is not None and began.kind is Kind.RUN_STARTED else {}
