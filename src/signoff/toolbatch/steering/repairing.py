"""Rules around judging: the repair of what a round found, and rounds that are stale."""

from __future__ import annotations

from signoff.domain.definition import ROUND_BUDGET, Round, RoundStatus
from signoff.gate.rounds import is_over
from signoff.toolbatch.calls import OutcomeKind
from signoff.toolbatch.events import Steered
from signoff.toolbatch.steering.step import next_step, open_work, repair_step
from signoff.toolbatch.steering.wording import brief, listed_briefly, quoted, steered
from signoff.toolbatch.view import View

_AHEAD = frozenset({RoundStatus.PLANNED, RoundStatus.PENDING, RoundStatus.STALE})
_FINDING = 90


def out_of_scope(view: View) -> Steered | None:
    """A change outside of the open repair was blocked: the targets and what is allowed."""
    focus, outcome = view.repair, view.outcome
    if focus is None or outcome is None or outcome.kind is not OutcomeKind.BLOCKED:
        return None
    if outcome.rule != "out_of_scope":
        return None
    outside = next((path for path in view.call.paths if not focus.allows(path)), "")
    why = (
        f"{brief(outside) or 'That'} is outside of the repair of round {focus.round}; "
        f"allowed: {listed_briefly(focus.allowed)}. Only a person can widen it."
    )
    return steered("out_of_scope", view, why, repair_step(view))


def repair_updated(view: View) -> Steered | None:
    """A file was changed in a repair: the next one that is at fault, else judging is due again."""
    focus, outcome = view.repair, view.outcome
    if focus is None or outcome is None or not outcome.ok or not outcome.changed:
        return None
    why = f"{brief(outcome.changed[0])} is changed, so round {focus.round} is due again."
    sure = [target for target in focus.targets if target.sure]
    if len(sure) > 1:
        done = sum(target.visited for target in sure)
        why += f" {done} of {len(sure)} files that it found fault with were changed."
    return steered("repair_updated", view, why, repair_step(view))


def verification_failed(view: View) -> Steered | None:
    """A round is broken and nothing was changed since: the finding and the file to change."""
    last, focus = view.definition.round, view.repair
    if last is None or view.outcome is None or view.outcome.changed:
        return None
    if is_over(view.definition) or (focus is not None and focus.worked_on):
        return None
    if last.status is not RoundStatus.BROKEN and focus is None:
        return None
    # What may fail is counted, not what became stale in between.
    number = f"{view.definition.failed_rounds} of {ROUND_BUDGET}"
    why = f"Round {number} is broken{_finding(view)}."
    return steered("verification_failed", view, why, next_step(view))


def verification_stale(view: View) -> Steered | None:
    """Something changed after a kept round: it has to be judged again."""
    last, outcome = view.definition.round, view.outcome
    if outcome is None or last is None or last.status not in _AHEAD or open_work(view):
        return None
    stale = _stale(view.definition.rounds, last)
    if stale is None or view.repair is not None:
        return None
    because = f": {quoted(stale.because, _FINDING)}" if stale.because else ""
    why = f"Round {stale.number} was kept and is stale{because}. It proves nothing any more."
    return steered("verification_stale", view, why, next_step(view))


def _stale(rounds: tuple[Round, ...], last: Round) -> Round | None:
    if last.status is RoundStatus.STALE:
        return last
    return next(
        (r for r in rounds if r.number == last.supersedes and r.status is RoundStatus.STALE), None
    )


def _finding(view: View) -> str:
    focus = view.repair
    if focus is None:
        return ""
    target = focus.next_target
    findings = (target.findings if target is not None else ()) or focus.findings
    return f": {quoted(findings[0], _FINDING)}" if findings else ""
