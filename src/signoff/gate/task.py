"""A task as a model's runtime sees it: views of the derived plan's state, and nothing of its own.

What is planned, what the list has open, what was given up, what the last round of judging said.
Whether it is done is for the gate to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from signoff.domain.plan import Step
from signoff.domain.session import ROUND_BUDGET, Artifact, ClaimStatus
from signoff.domain.verdict import Result
from signoff.gate.record import Judged
from signoff.gate.state import State
from signoff.gate.subjects import is_derived

SOMETHING = "."  # stands for files that a call changed and nobody saw


class RoundStatus(StrEnum):
    """Sum of the newest verdicts about a task's checks."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    STALE = "stale"  # it was kept, and something changed since


class Item(Struct, frozen=True):
    """One thing of the list that nothing decides: it is done when the model says so."""

    id: str
    text: str
    done: bool = False


class Drop(Struct, frozen=True):
    """A part that the model gave up; `asked`: a person's words ask for it."""

    what: str
    reason: str
    asked: bool = False


class Against(Struct, frozen=True):
    """A check that does not hold, and what it said; `unknown`: nobody could tell."""

    command: str
    detail: str = ""
    unknown: bool = False


class Round(Struct, frozen=True):
    """One judging of all checks of the task; `changed`: files changed since."""

    status: RoundStatus
    number: int = 1
    against: tuple[Against, ...] = ()
    changed: bool = False

    def __str__(self) -> str:
        return f"round {min(self.number, ROUND_BUDGET)} of {ROUND_BUDGET}"


class Task(Struct, frozen=True):
    """State of a task."""

    objective: str = ""
    planned: tuple[Artifact, ...] = ()
    items: tuple[Item, ...] = ()
    dropped: tuple[Drop, ...] = ()
    touched: tuple[str, ...] = ()
    round: Round | None = None
    failed_rounds: int = 0

    @property
    def pending(self) -> tuple[Item, ...]:
        """Items that are open."""
        return tuple(item for item in self.items if not item.done)

    @property
    def is_over(self) -> bool:
        """True when only a person can go on: every round that may fail has failed."""
        return self.failed_rounds >= ROUND_BUDGET


def task_of(state: State, declared: Iterable[Artifact] = ()) -> Task:
    """The view of a session's state; `declared` are the artifacts of a person's plan."""
    parts = [s for s in state.subjects if is_derived(state, s)]
    claims = {s.id: state.record(s.id).claim for s in parts}
    given_up = {i for i, claim in claims.items() if claim.status is ClaimStatus.DROPPED}
    basis = state.task.fact.task if state.task is not None else None
    asked = frozenset(basis.asked) if basis is not None else frozenset()
    planned = [Artifact.of(path) for i, path in state.task_files.items() if i not in given_up]
    return Task(
        objective=state.task.plan.title if state.task is not None else "",
        planned=tuple(dict.fromkeys((*declared, *planned))),
        items=tuple(
            Item(s.id, s.task, claims[s.id].status is ClaimStatus.DONE)
            for s in parts
            if isinstance(s, Step) and s.contract is None and s.id not in given_up
        ),
        dropped=tuple(
            Drop(
                state.task_files.get(s.id) or s.wording,
                claims[s.id].notes,
                s.id in asked or not isinstance(s, Step),
            )
            for s in parts
            if s.id in given_up
        ),
        touched=tuple(path for path in state.session.touched if path != SOMETHING),
        round=_round(state),
        failed_rounds=len(state.session.failed_on),
    )


def _round(state: State) -> Round | None:
    """The newest verdicts of all checks; None before anything was judged."""
    checks = {s.id: s.contract for s in state.subjects if s.id in state.task_checks}
    latest = {i: state.record(i).latest for i in checks}
    judged = [verdict for verdict in latest.values() if verdict is not None]
    if not judged:
        return None
    changed = max(verdict.seq for verdict in judged) < state.session.changed_at
    against = tuple(
        Against(contract.command, _detail(verdict), verdict.result is Result.UNKNOWN)
        for i, contract in checks.items()
        if contract is not None and (verdict := latest[i]) is not None and not verdict.kept
    )
    failed = len(state.session.failed_on)
    if any(not found.unknown for found in against):
        return Round(RoundStatus.BROKEN, failed, against, changed)
    if against or len(judged) < len(checks):
        return Round(RoundStatus.UNKNOWN, failed, against, changed)
    kept = RoundStatus.STALE if changed else RoundStatus.KEPT
    return Round(kept, failed + 1, (), changed)


def _detail(verdict: Judged) -> str:
    return f"{verdict.message}\n{verdict.output_tail}".strip()


def asked_drops(state: State) -> tuple[str, ...]:
    """Parts that a person asked for and the model gave up, with its reasons."""
    return tuple(f"{drop.what}: {drop.reason}" for drop in task_of(state).dropped if drop.asked)
