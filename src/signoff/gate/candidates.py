"""Pick one of several candidates for a step, by the plan's rule, from the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping

from signoff.domain.facts import AttemptFinished, UsageTold
from signoff.domain.plan import PickBy, Step
from signoff.domain.verdict import FailureClass
from signoff.gate.record import CandidateAttempt


def chosen(step: Step, several: Mapping[int, CandidateAttempt], *, all_in: bool) -> int | None:
    """The candidate to pick: of those kept, by the plan's rule; when none is, a broken one."""
    judged = {attempt: c.verdict for attempt, c in several.items() if c.verdict is not None}
    kept = [attempt for attempt, verdict in judged.items() if verdict.kept]
    if kept and step.pick is PickBy.FIRST:
        return min(kept, key=lambda attempt: judged[attempt].seq)
    if not all_in or len(judged) < len(several):
        return None
    if step.pick is PickBy.SMALLEST and kept:
        return min(kept, key=lambda attempt: (_ended(several[attempt]).changed_lines, attempt))
    if kept:
        return min(kept, key=lambda attempt: (*_price(several, attempt), attempt))
    # Work that is merely wrong teaches the next attempt more than work that was tampered with.
    wrong = [a for a, verdict in judged.items() if verdict.failure is FailureClass.BROKEN]
    return max(wrong or judged)


def _price(several: Mapping[int, CandidateAttempt], attempt: int) -> tuple[float, float]:
    """Cost of a candidate, in dollars where all of them told theirs, else in tokens."""
    told = {a: _ended(c).usage or UsageTold() for a, c in several.items()}
    in_usd = all(used.usd is not None for used in told.values())
    usd, tokens = told[attempt].usd, told[attempt].tokens
    return (usd or 0.0) if in_usd else 0.0, float("inf") if tokens is None else float(tokens)


def _ended(candidate: CandidateAttempt) -> AttemptFinished:
    assert candidate.ended is not None, "only what ended is judged"
    return candidate.ended
