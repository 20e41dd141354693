"""The report of a session: what was claimed, what was proved, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.domain.plan import Cost, Step
from signoff.domain.session import ClaimStatus, SessionStanding
from signoff.gate.gate import GateReport, session_standing
from signoff.gate.record import Rewrite
from signoff.gate.state import State


@dataclass(frozen=True)
class SessionReport:
    """Everything there is to say about a session; computed from its entries and the content."""

    id: str
    author: str
    objective: str
    standing: SessionStanding
    gate: GateReport
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


def make_report(session_id: str, state: State, gate: GateReport, spent: Cost) -> SessionReport:
    """The report as of now."""
    session, plan = state.session, state.plan
    claims = {i: record.claim for i, record in state.records.items()}
    given_up = (ClaimStatus.BLOCKED, ClaimStatus.UNATTAINABLE)
    steps = {s.id for s in (plan.steps if plan else ()) if isinstance(s, Step)}
    verified = len(steps.intersection(gate.proved))
    return SessionReport(
        id=session_id,
        author=session.started.author if session.started is not None else "",
        objective=plan.title if plan is not None else "",
        standing=session_standing(state, gate),
        gate=gate,
        claimed=tuple(i for i, claim in claims.items() if claim.status is ClaimStatus.DONE),
        proved=gate.proved,
        waived=gate.waived,
        blocked=tuple(i for i, claim in claims.items() if claim.status in given_up),
        reopened=tuple(i for i, claim in claims.items() if claim.reopened),
        refusals=session.refusals,
        rewrites=tuple(session.rewrites),
        dropped=(*(d for r in session.rewrites for d in r.dropped), *session.dropped),
        weakened=tuple(w for r in session.rewrites for w in r.weakened),
        strayed=tuple(session.strayed),
        shared_evidence=_shared(state),
        children=tuple(session.shares),
        questions=tuple(state.questions),
        spent=spent,
        per_verified_step=_per(spent, verified),
        self_set=gate.self_set,
    )


def _per(spent: Cost, steps: int) -> Cost | None:
    return Cost(round(spent.tokens / steps), round(spent.usd / steps, 9)) if steps else None


def _shared(state: State) -> tuple[str, ...]:
    """Evidence texts that stand behind several claims: allowed, but worth a look."""
    seen: dict[str, int] = {}
    for claim in (record.claim for record in state.records.values()):
        if claim.status is ClaimStatus.DONE and claim.evidence and claim.basis is not None:
            seen[claim.evidence] = seen.get(claim.evidence, 0) + 1
    return tuple(text for text, times in seen.items() if times > 1)
