"""`diff`: what changed in the plan since it was approved, and in the workspace since then."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from signoff.domain.ledger import Kind
from signoff.domain.snapshot import Change
from signoff.errors import NoSuchRun, UsageError
from signoff.planfile.diff import unified
from signoff.planfile.digest import plan_digest
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import PlanHistory, approved_by, read_history, read_pins
from signoff.usecases.openwork import approved_workspace
from signoff.usecases.status import how_to_take_edit


@dataclass(frozen=True)
class DiffReport:
    """Two texts: the plan against its pin, the content between two snapshots."""

    place: PlanLocation
    plan: str
    old: str
    new: str
    changes: tuple[Change, ...]
    content: str
    next: str = ""  # how an edit of the plan can be taken


def diff_plan(
    harness: Harness, place: PlanLocation, step: str | None = None, attempt: int | None = None
) -> DiffReport:
    """Since approval, or what one attempt at a step changed."""
    history = read_history(harness.ledger, place.record.id)
    newest = history.in_force
    if newest is None:
        raise NoSuchRun(
            f"plan `{place.name}` was never approved",
            f"signoff approve {shlex.quote(str(place.path))}",
        )
    approved = approved_by(harness.ledger, place, history, newest)
    pins, workspace = approved.pins, approved_workspace(harness, approved)
    if step is None:
        old, new = pins.snapshot, workspace.snapshot().digest
    else:
        began = pins if history.run is None else read_pins(harness.ledger, history.run)
        old, new = _around_attempt(place, history, began.snapshot, step, attempt)
    text = place.read()
    same = plan_digest(text) == pins.plan_digest
    return DiffReport(
        place=place,
        plan="" if same else unified(pins.plan_text, text, place.path.name),
        old=old,
        new=new,
        changes=workspace.diff(old, new),
        content=workspace.text_diff(old, new),
        next="" if same else how_to_take_edit(harness, place, history),
    )


def _around_attempt(
    place: PlanLocation, history: PlanHistory, first: str, step: str, attempt: int | None
) -> tuple[str, str]:
    """The content before and after an attempt; the newest one unless a number is given."""
    before, found = first, None
    for entry in history.entries:
        if entry.run != history.run_id or "snapshot" not in entry.data:
            continue
        if entry.kind is Kind.ATTEMPT_FINISHED:
            if entry.step == step and attempt in (None, entry.attempt):
                found = (before, entry.data["snapshot"])
            before = entry.data["snapshot"]
    if found is None:
        which = f"attempt {attempt} at step `{step}`" if attempt else f"attempt at step `{step}`"
        raise UsageError(
            f"no finished {which} in the newest run", f"signoff log {shlex.quote(str(place.path))}"
        )
    return found
