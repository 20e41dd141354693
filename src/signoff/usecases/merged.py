"""Whether a plan's work is in the base: said by the ledger, never by a branch or a frontmatter."""

from __future__ import annotations

from pathlib import Path

from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Entry, Kind
from signoff.storage import PlanRecord
from signoff.usecases.history import PlanHistory


def signed_off(history: PlanHistory) -> bool:
    """Whether the newest run ended in a sign-off."""
    return history.finished is not None and history.finished.data["outcome"] == Outcome.DONE


def merge_entry(history: PlanHistory) -> Entry | None:
    """The entry that says the newest run's work was merged."""
    for entry in reversed(history.entries):
        if entry.kind is Kind.PLAN_MERGED and entry.data["run"] == history.run_id:
            return entry
    return None


def lived_apart(history: PlanHistory, record: PlanRecord) -> bool:
    """Whether the newest run worked outside the main checkout, on a branch of its own."""
    if history.run is None or record.repository is None:
        return False
    return not Path(history.run.data["workspace"]).is_relative_to(record.repository)


def is_merged(history: PlanHistory, record: PlanRecord) -> bool:
    """Whether the work is signed off and where everybody else's is."""
    if not signed_off(history):
        return False
    return merge_entry(history) is not None or not lived_apart(history, record)
