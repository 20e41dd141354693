"""`blocked`, decided by a second model: what it is told, and what comes of its ruling.

It rules once about a step: an agent that could ask until somebody gives in would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Postcondition, Step
from signoff.domain.text import escape_line, tail
from signoff.gate.state import State

MOST_CALLS = 30
LONGEST_TAIL = 1_000
LONGEST_REASON = 600


@dataclass(frozen=True)
class BlockedClaim:
    """What somebody who did not do the work is told about a step that is called blocked."""

    objective: str
    step: str
    contract: str
    verdict: str  # what the harness saw of its check last
    calls: tuple[str, ...]  # what was tried since the step began
    reason: str
    evidence: str


@dataclass(frozen=True)
class Ruling:
    """What a second model made of it; without a clear answer a person decides."""

    model: str
    accepted: bool | None
    reason: str
    tokens: int = 0
    usd: float = 0.0

    @property
    def said(self) -> str:
        """In one line, for whoever reads it."""
        verb = {True: "accepted", False: "refused", None: "did not decide"}[self.accepted]
        return f"`{self.model}` {verb}: {escape_line(self.reason)[:LONGEST_REASON]}"

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        reason = escape_line(self.reason)[:LONGEST_REASON]
        return {"model": self.model, "accepted": self.accepted, "reason": reason}


class Adjudicator(Protocol):
    """A second model; never raises for what a model or its server does."""

    def rule(self, claim: BlockedClaim) -> Ruling:
        """Whether the step is really blocked."""


def claim_of(state: State, step: Step | Postcondition, reason: str, evidence: str) -> BlockedClaim:
    """The step, what was tried, and what the agent says about it."""
    record, plan = state.record(step.id), state.plan
    tried = [
        f"{call.name} ({'worked' if call.ok else 'failed'})"
        for seq, call in state.session.calls.values()
        if seq > record.claim.counts_from
    ]
    verdict = record.latest
    seen = "" if verdict is None else f"{verdict.result}: {verdict.message}"
    if verdict is not None and verdict.output_tail:
        seen += f"\n{tail(verdict.output_tail, LONGEST_TAIL)}"
    return BlockedClaim(
        objective=plan.title if plan is not None else "",
        step=step.task or step.title if isinstance(step, Step) else step.text,
        contract=step.contract.command if step.contract is not None else "",
        verdict=seen,
        calls=tuple(tried[-MOST_CALLS:]),
        reason=reason,
        evidence=evidence,
    )


def used_by(ruling: Ruling) -> Draft:
    """What asking took; it counts like everything that the session uses."""
    data = {"tokens": ruling.tokens, "usd": ruling.usd, "model": ruling.model}
    return Draft(Kind.SESSION_USAGE, data)
