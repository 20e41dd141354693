"""When a batch hands over to judging: everything is there, and the model only circles around it."""

from __future__ import annotations

from signoff.domain.definition import DefinitionStatus
from signoff.toolbatch.calls import ANSWER, BOOKKEEPING, Nature, OutcomeKind
from signoff.toolbatch.preflight.late import looks, only_judging_left
from signoff.toolbatch.view import View

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
    if view.repair is not None:
        return "every target of the repair was worked on" if view.repair.worked_on else ""
    if not only_judging_left(view):
        return ""
    return _circling(view)


def _may_be_judged(view: View) -> bool:
    """A final answer is judged unless it is plain that it comes too early."""
    return not view.missing and (view.repair is None or view.repair.worked_on)


def _circling(view: View) -> str:
    outcome, counts, limits = view.outcome, view.counts, view.limits
    assert outcome is not None
    if view.call.shape.nature is Nature.ASK and outcome.kind is OutcomeKind.BLOCKED:
        return "everything is built and the model asks"
    if looks(view) and counts.audits > limits.audits - (outcome.kind is OutcomeKind.BLOCKED):
        return "everything is built and the model keeps looking"
    if view.call.shape.nature in BOOKKEEPING and counts.bookkeeping_turns >= limits.bookkeeping:
        return "everything is built and only books are kept"
    return ""
