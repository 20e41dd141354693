"""The report of a session: what was claimed, what was proved, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.domain.plan import Cost, Step
from signoff.domain.session import ClaimStatus, SessionStanding
from signoff.gate.session import Proof, SessionGate, standing_of
from signoff.gate.session_state import Rewrite, SessionState


@dataclass(frozen=True)
class SessionReport:
    """Everything there is to say about a session; computed from its entries and the content."""

    id: str
    author: str
    objective: str
    standing: SessionStanding
    gate: SessionGate
    claimed: tuple[str, ...]  # what the agent called done
    proved: tuple[str, ...]  # what is proved on the content as it is now
    waived: tuple[str, ...]
    blocked: tuple[str, ...]
    reopened: tuple[str, ...]
    refusals: int  # final answers that came while the gate was shut
    rewrites: tuple[Rewrite, ...]
    dropped: tuple[str, ...]
    weakened: tuple[str, ...]
    strayed: tuple[str, ...]  # files changed outside what the step in progress declares
    shared_evidence: tuple[str, ...]  # calls and files that back more than one claim
    children: tuple[str, ...]
    questions: tuple[str, ...]  # open, in the inbox
    spent: Cost
    per_verified_step: Cost | None  # None when no step is proved
    self_set: bool

    @property
    def done(self) -> bool:
        """Signed off, with the agent gone, by checks that count."""
        return self.standing is SessionStanding.DONE


def make_report(
    session_id: str, state: SessionState, gate: SessionGate, spent: Cost
) -> SessionReport:
    """The report as of now."""
    items, plan = state.items, state.plan
    given_up = (ClaimStatus.BLOCKED, ClaimStatus.UNATTAINABLE)
    steps = {s.id for s in (plan.steps if plan else ()) if isinstance(s, Step)}
    verified = len(steps & set(gate.ids(Proof.PROVED)))
    return SessionReport(
        id=session_id,
        author=str(state.started.get("author", "")),
        objective=plan.title if plan is not None else "",
        standing=standing_of(state, gate),
        gate=gate,
        claimed=tuple(i for i, item in items.items() if item.status is ClaimStatus.DONE),
        proved=gate.ids(Proof.PROVED),
        waived=gate.waived,
        blocked=tuple(i for i, item in items.items() if item.status in given_up),
        reopened=tuple(i for i, item in items.items() if item.reopened),
        refusals=state.refusals,
        rewrites=tuple(state.rewrites),
        dropped=(*(d for r in state.rewrites for d in r.dropped), *state.dropped),
        weakened=tuple(w for r in state.rewrites for w in r.weakened),
        strayed=tuple(state.strayed),
        shared_evidence=_shared(state),
        children=tuple(state.shares),
        questions=tuple(state.questions),
        spent=spent,
        per_verified_step=_per(spent, verified),
        self_set=gate.self_set,
    )


def _per(spent: Cost, steps: int) -> Cost | None:
    return Cost(round(spent.tokens / steps), round(spent.usd / steps, 9)) if steps else None


def _shared(state: SessionState) -> tuple[str, ...]:
    """Evidence texts that stand behind several claims: allowed, but worth a look."""
    seen: dict[str, int] = {}
    for item in state.items.values():
        if item.status is ClaimStatus.DONE and item.evidence and item.basis is not None:
            seen[item.evidence] = seen.get(item.evidence, 0) + 1
    return tuple(text for text, times in seen.items() if times > 1)
