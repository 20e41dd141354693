"""When a batch hands over to judging: everything is there, and the model only circles around it."""

from __future__ import annotations

from signoff.domain.definition import DefinitionStatus, RoundStatus
from signoff.toolbatch.calls import ANSWER, BOOKKEEPING, Nature, OutcomeKind
from signoff.toolbatch.preflight.late import looks, only_judging_left
from signoff.toolbatch.steering.drifting import idles
from signoff.toolbatch.view import View

_ENDLESS = 3  # times the looks that are usual before something is made
_SETTLED = frozenset({DefinitionStatus.DONE, DefinitionStatus.FAILED})


def handed_over(view: View) -> str:
    """Why it is judged now, in words; empty: the model goes on."""
    outcome = view.outcome
    if outcome is None or outcome.is_error or view.definition.status in _SETTLED:
        return ""
    if view.call.tool == ANSWER:
        return "the model says that it is finished" if _may_be_judged(view) else ""
    if outcome.changed:
        return ""
    due = view.repair.worked_on if view.repair is not None else only_judging_left(view)
    last = view.definition.round
    judged = last is not None and last.status is RoundStatus.KEPT
    if not due or judged or view.open_steps:
        return ""
    return _circling(view)


def _may_be_judged(view: View) -> bool:
    """A final answer is judged unless it is plain that it comes too early."""
    return not view.missing and (view.repair is None or view.repair.worked_on)


def _circling(view: View) -> str:
    outcome, counts, limits = view.outcome, view.counts, view.limits
    assert outcome is not None
    state = "everything is built" if view.repair is None else "the repair was worked on"
    if view.call.shape.nature is Nature.ASK and outcome.kind is OutcomeKind.BLOCKED:
        return f"{state} and the model asks"
    # Something new to look at may be work that nobody planned; but not without end.
    if looks(view) and counts.audits > limits.audits:
        return f"{state} and the model keeps looking"
    if (looks(view) or idles(view)) and counts.looks > _ENDLESS * limits.looks:
        return f"{state} and nothing is changed any more"
    if view.call.shape.nature in BOOKKEEPING and counts.bookkeeping_turns >= limits.bookkeeping:
        return f"{state} and only books are kept"
    return ""
