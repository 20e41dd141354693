"""Judging everything of a signed-off plan again, on whatever content lies there now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from signoff.domain.plan import Contract, Postcondition, Step
from signoff.domain.verdict import Phase
from signoff.gate.gate import evaluate
from signoff.gate.state import State
from signoff.gate.subjects import Standing, StepState
from signoff.verification.evidence import Case
from signoff.verification.guards import Guards, Produced
from signoff.verification.judge import Judge


class Finding(StrEnum):
    """How one subject came out."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    NOT_RERUN = "not re-run"
    WAIVED = "waived"
    ACCEPTED = "accepted"
    UNPROVED = "unproved"
    CITED = "cited"  # an agent's evidence, looked up; nothing was judged


@dataclass(frozen=True)
class Line:
    """One step or postcondition, judged again."""

    subject: str
    title: str
    finding: Finding
    message: str


def judge_again(
    state: State,
    judge: Judge,
    guards: Guards,
    produced: Produced,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Line, ...]:
    """Every step and postcondition once more; what may run once only is named instead."""
    gate = evaluate(state, state.snapshot)
    lines: list[Line] = []
    for step, standing in zip(state.schedule.steps, gate.steps, strict=True):
        lines.append(_line(step, standing, _case(step, state, guards, produced), judge, tell))
    posts = state.schedule.plan.postconditions
    for post, standing in zip(posts, gate.postconditions, strict=True):
        lines.append(_line(post, standing, _case(post, state, guards, produced), judge, tell))
    return tuple(lines)


def _case(
    subject: Step | Postcondition, state: State, guards: Guards, produced: Produced
) -> Case | None:
    if subject.contract is None:
        return None
    record = state.record(subject.id)
    guard = guards.of(subject, produced, state.products, record.allowed)
    return Case(
        subject.id,
        subject.contract,
        Phase.AUDIT,
        guard,
        baseline=record.baseline,
        read_sets=record.read_sets,
    )


def _line(
    subject: Step | Postcondition,
    standing: Standing,
    case: Case | None,
    judge: Judge,
    tell: Callable[[str], None],
) -> Line:
    """A waived or unproved subject is never called kept, whatever its contract says now."""
    title = standing.title
    if standing.state is StepState.WAIVED:
        return Line(subject.id, title, Finding.WAIVED, "a person went on without it")
    if standing.state is StepState.ACCEPTED:
        said = f"{standing.accepted_by} said so of what was signed off; nothing was judged"
        return Line(subject.id, title, Finding.ACCEPTED, said)
    if case is None:
        return Line(subject.id, title, Finding.UNPROVED, "it has no contract")
    if standing.state is not StepState.DONE:
        return Line(subject.id, title, Finding.UNPROVED, f"it is {standing.state} in the ledger")
    if case.contract.judged_once:
        return Line(subject.id, title, Finding.NOT_RERUN, why_not_rerun(case.contract))
    tell(subject.id)
    verdict = judge.judge(case)
    return Line(subject.id, title, Finding(verdict.result.value), verdict.message)


def why_not_rerun(contract: Contract) -> str:
    """What may happen only once is not done again for an audit."""
    return f"judged once (effects: {contract.effects}, holds: {contract.holds})"
