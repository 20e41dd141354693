"""`next`: hand a free worker the next plan, and let nobody else have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from signoff.domain.names import shown_name
from signoff.errors import PlanNotFound
from signoff.gate.ready import PlanStanding
from signoff.storage.claims import CLAIM_S, Offer, claim_first, give_back_claim, renew_claim
from signoff.storage.vault import checked_slug
from signoff.usecases.harness import Harness
from signoff.usecases.person import Worker
from signoff.usecases.ready import PlanFacts, ReadyReport, find_ready, presumed_dead, take_census

# Each further look means that somebody else was faster; there is no need to look for ever.
_LOOKS = 20


@dataclass(frozen=True)
class NextReport:
    """What was handed out, if anything, and how all plans stood when it was decided."""

    worker: str
    handed: PlanFacts | None
    term_s: float
    ready: ReadyReport


def hand_out(
    harness: Harness,
    worker: Worker,
    term_s: float = CLAIM_S,
    *,
    unapproved: bool = False,
    left_out: frozenset[str] = frozenset(),
) -> NextReport:
    """Choose without holding anybody up, then claim what still stands; look again if nothing does.

    A worker with a name that was given a plan and has not begun is given it again.
    """
    gone = presumed_dead(harness)
    ready = find_ready(harness)
    for _ in range(_LOOKS):
        own = _own_claim(harness, worker, ready, term_s, unapproved)
        if own is not None:
            return NextReport(worker.name, own, term_s, ready)
        offers = tuple(o for o in _offers(ready, unapproved) if o.name not in left_out)
        answer = claim_first(
            harness.ledger,
            ready.census.scope,
            offers,
            lambda offer: worker.claimant(harness, offer.name),
            term_s,
            gone,
        )
        if answer.offer is not None:
            handed = ready.census.by_name[answer.offer.name]
            return NextReport(worker.name, handed, term_s, ready)
        if not answer.outdated:
            break
        ready = find_ready(harness)
    return NextReport(worker.name, None, term_s, ready)


def give_back(harness: Harness, worker: Worker, name: str) -> bool:
    """Let somebody else have a plan; whether it was this worker's."""
    census = take_census(harness)
    slug = "" if name == shown_name("") else checked_slug(name)
    facts = census.by_name.get(slug)
    if facts is None:
        raise PlanNotFound(f"plan `{name}` is not in `{census.place.folder}`", "signoff ready")
    return give_back_claim(harness.ledger, facts.record.id, worker.owns)


def _own_claim(
    harness: Harness, worker: Worker, ready: ReadyReport, term_s: float, unapproved: bool
) -> PlanFacts | None:
    if not worker.named:
        return None
    wanted = {PlanStanding.APPROVED, PlanStanding.INTERRUPTED}
    wanted |= {PlanStanding.NOT_APPROVED} if unapproved else set()
    for plan in ready.census.plans:
        if plan.claim is None or plan.claim.holder.worker != worker.name:
            continue
        claimant = worker.claimant(harness, plan.name)
        if plan.standing in wanted and renew_claim(
            harness.ledger, ready.census.scope, plan.record.id, claimant, term_s
        ):
            return plan
    return None


def _offers(ready: ReadyReport, unapproved: bool) -> Iterator[Offer]:
    """What nobody keeps back, the most urgent first, and what may run beside it before the rest."""
    known, answers = ready.census.by_name, ready.answer.by_name
    for name in (name for group in ready.answer.together for name in group):
        plan, answer = known[name], answers[name]
        if not plan.listed or not (answer.approved or unapproved):
            continue
        others = {p.record.id for p in known.values() if p.name not in answer.kept_back_by}
        yield Offer(plan.record.id, name, plan.seq, plan.touches, frozenset(others))
