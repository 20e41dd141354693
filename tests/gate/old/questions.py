"""What questions and people's answers do to where a run stands; only answers of people count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signoff.domain.escalation import Cause, Choice
from signoff.domain.ledger import Entry
from tests.gate.old.record import Advice, Vouched

if TYPE_CHECKING:
    from tests.gate.old.state import RunState

# The person may have repaired what these are about.
_LOOK_AGAIN = frozenset(
    {
        Cause.CONTRACT,
        Cause.TAMPERED,
        Cause.REPEATED,
        Cause.AGENT_ANSWER,
        Cause.INFRASTRUCTURE,
        Cause.INFLUENCED,
    }
)


def escalation_opened(state: RunState, entry: Entry) -> None:
    """The first question under an id stands."""
    if entry.data["id"] in state.escalations:
        return
    state.escalations[entry.data["id"]] = entry
    state.escalations_opened += 1
    if entry.step is not None:
        state.record(entry.step).escalation = entry.data["id"]


def escalation_answered(state: RunState, entry: Entry) -> None:
    """Counts only for an open question, and only if it offered this choice."""
    opened = state.escalations.get(entry.data["id"])
    choice = Choice(entry.data["choice"])
    if opened is None or choice not in opened.data["choices"]:
        return
    if choice is Choice.ALLOW and not opened.data.get("allow"):
        return
    del state.escalations[entry.data["id"]]
    if opened.step is not None:
        state.record(opened.step).escalation = None
    if choice is Choice.REVISE:
        state.revised = True
    elif choice is Choice.ABORT:
        state.aborted = True
    elif choice is Choice.WAIVE and opened.step is not None:
        state.record(opened.step).waivers.add(entry.data["id"])
    elif choice is Choice.ACCEPT and _is_for_a_person(state, opened.step):
        vouched = Vouched(str(entry.data.get("by", "")), str(opened.data.get("snapshot", "")))
        state.record(opened.step or "").vouched = vouched
    elif choice is Choice.ALLOW and opened.step is not None:
        record = state.record(opened.step)
        # From the question itself: what was not asked about is not allowed either.
        record.allowed = (*record.allowed, *opened.data["allow"])
        _answered_retry(state, opened, "")
    elif choice is Choice.RETRY:
        _answered_retry(state, opened, str(entry.data.get("note", "")).strip())


def step_waived(state: RunState, entry: Entry) -> None:
    """Counts only when a person answered `waive` to a question about this very step."""
    record = state.record(entry.step or "")
    if entry.data.get("escalation") in record.waivers:
        record.waived = True


def _is_for_a_person(state: RunState, subject: str | None) -> bool:
    """Only a postcondition without a contract: where one can be judged, nobody's word counts."""
    posts = state.schedule.plan.postconditions
    return any(post.id == subject and post.contract is None for post in posts)


def _answered_retry(state: RunState, opened: Entry, note: str) -> None:
    cause = Cause(opened.data["cause"])
    if cause is Cause.BUDGET:
        state.budget_grants += 1
    if opened.step is None:
        return
    record = state.record(opened.step)
    if note:
        asked = record.answer_reason if cause is Cause.AGENT_ANSWER else ""
        record.advice = (*record.advice, Advice(asked, note))
    record.forgive()
    if cause in _LOOK_AGAIN and record.attempts:
        # The person may have repaired it: judge before an agent could overwrite that.
        record.unjudged, record.looking_again = record.attempts, True
    elif cause is Cause.INFRASTRUCTURE:
        record.before = record.held_before = None
    elif cause is Cause.HANDOFF:
        record.handoff = ()
    elif cause is Cause.HUMAN:
        record.unjudged, record.in_flight = record.attempts, None
    elif cause is Cause.HELD_BEFORE:
        record.held_before_accepted = True
    elif cause is Cause.POSTCONDITION:
        record.latest = None
