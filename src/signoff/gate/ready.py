"""Plans that may be started now, and for the others: what they wait for, what blocks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.globs import Overlap, Overlaps, unusable
from signoff.domain.names import shown_name
from signoff.gate.dependencies import Graph, all_needs, depths, needed_plans, rings


class PlanStanding(StrEnum):
    """State of a plan by the ledger, whatever its file says."""

    INVALID = "invalid"  # its file cannot be read as a plan
    NOT_APPROVED = "not approved"
    APPROVED = "approved"
    IN_PROGRESS = "in progress"  # somebody drives it now
    INTERRUPTED = "interrupted"  # begun, and nobody drives it
    WAITING_FOR_PERSON = "waiting for a person"
    FAILED = "failed"
    SIGNED_OFF = "signed off"
    SIGNED_OFF_UNMERGED = "signed off, not merged"


class PlanState(StrEnum):
    """State of a plan for somebody who looks for work."""

    READY = "ready"
    WAITING = "waiting"
    BLOCKED = "blocked"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class ReasonKind(StrEnum):
    """Reasons why a plan is not ready."""

    PLAN = "plan"  # another plan is not signed off
    MERGE = "merge"  # a plan is signed off and not merged
    PERSON = "person"  # a question waits for an answer
    DANGLING = "dangling"  # it depends on what is no plan
    CYCLE = "cycle"  # it depends on itself in the end
    UNREADABLE = "unreadable"
    HELD = "held"  # somebody works on it


class NotReadyReason(Struct, frozen=True):
    """One reason, with the plans it is about; a cycle in full order, `a`, `b`, `a`."""

    kind: ReasonKind
    plans: tuple[str, ...] = ()
    holder: str = ""

    def __str__(self) -> str:
        ring = " → ".join(map(shown_name, self.plans))
        name = f"`{shown_name(self.plans[0])}`" if self.plans else ""
        return {
            ReasonKind.PLAN: f"waits for {name}",
            ReasonKind.MERGE: f"waits for {name} to be merged",
            ReasonKind.PERSON: "waits for a person",
            ReasonKind.DANGLING: f"depends on {name}, and there is no such plan",
            ReasonKind.CYCLE: f"depends on itself: {ring}",
            ReasonKind.UNREADABLE: "its file cannot be read as a plan",
            ReasonKind.HELD: f"held by {self.holder}" if self.holder else "held",
        }[self.kind]


class Candidate(Struct, frozen=True):
    """A plan as it is found; `holder` says who claims it now.

    `depends_on` and `touches` are as the plan writes them. Of a plan that was begun they are those
    that were pinned: its file may have been edited to look harmless.
    """

    name: str
    standing: PlanStanding
    depends_on: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    priority: str = "normal"
    holder: str = ""


class PlanReadiness(Struct, frozen=True):
    """One plan's answer.

    The last four are about ready plans: whom they overlap with among the ready and the occupying
    ones, of whom that cannot be told, and who of the occupying ones keeps them from starting now.
    """

    name: str
    state: PlanState
    reasons: tuple[NotReadyReason, ...] = ()
    approved: bool = False
    resumes: bool = False
    unusable_touches: tuple[str, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    cannot_tell: tuple[str, ...] = ()
    kept_back_by: tuple[str, ...] = ()


class Readiness(Struct, frozen=True, dict=True):
    """Every plan, by name; and ready plans in groups that may run together.

    Each plan of a group may run at the same time as the others of it and as all that occupies
    files now. The first group is what can be started; ready plans in no group are kept back.
    """

    plans: tuple[PlanReadiness, ...]
    together: tuple[tuple[str, ...], ...]

    @cached_property
    def by_name(self) -> dict[str, PlanReadiness]:
        """The plans by name."""
        return {plan.name: plan for plan in self.plans}


_DONE = frozenset({PlanStanding.SIGNED_OFF, PlanStanding.SIGNED_OFF_UNMERGED})
_OCCUPYING = frozenset(
    {PlanStanding.IN_PROGRESS, PlanStanding.INTERRUPTED, PlanStanding.WAITING_FOR_PERSON}
)
_UNAPPROVED = frozenset({PlanStanding.INVALID, PlanStanding.NOT_APPROVED})
_BLOCKING = frozenset({ReasonKind.DANGLING, ReasonKind.CYCLE, ReasonKind.UNREADABLE})
_PRIORITIES = {"high": 0, "normal": 1, "low": 2}


def readiness(candidates: Sequence[Candidate]) -> Readiness:
    """Every plan's answer, from all plans of the vault at once; each name may come once."""
    plans = {plan.name: plan for plan in sorted(candidates, key=lambda plan: plan.name)}
    if len(plans) != len(candidates):
        raise ValueError("two plans have the same name")
    needs = {name: needed_plans(plan.depends_on) for name, plan in plans.items()}
    answers = _answers(plans, needs)
    ready = {name for name in plans if answers[name].state is PlanState.READY}
    there = {n: plans[n].touches for n in plans if n in ready or _occupies(plans[n])}
    territory = Overlaps(there)
    occupants = _occupants(plans, answers, needs)
    for name in ready:
        answers[name] = _among_others(answers[name], territory, occupants)
    depth = depths(needs)
    free = [name for name in ready if not answers[name].kept_back_by]
    urgency = {n: _PRIORITIES.get(p.priority.strip().lower(), 1) for n, p in plans.items()}
    free.sort(key=lambda n: (not answers[n].approved, urgency[n], depth.get(n, 0), n))
    return Readiness(tuple(answers.values()), territory.groups(free))


def _answers(plans: Mapping[str, Candidate], needs: Graph) -> dict[str, PlanReadiness]:
    # What is signed off and merged waits for nobody any more, so it closes no ring.
    unmet = {n: () if plans[n].standing is PlanStanding.SIGNED_OFF else needs[n] for n in plans}
    cycles = rings(unmet)
    return {
        name: _answer(plan, tuple(_reasons(plan, plans, needs[name], cycles.get(name, ()))))
        for name, plan in plans.items()
    }


def _reasons(
    plan: Candidate, plans: Mapping[str, Candidate], needs: tuple[str, ...], ring: tuple[str, ...]
) -> Iterator[NotReadyReason]:
    if plan.standing is PlanStanding.INVALID:
        yield NotReadyReason(ReasonKind.UNREADABLE)
    if plan.standing is PlanStanding.WAITING_FOR_PERSON:
        yield NotReadyReason(ReasonKind.PERSON)
    if ring:
        yield NotReadyReason(ReasonKind.CYCLE, ring)
    for needed in needs:
        other = plans.get(needed)
        if other is None:
            yield NotReadyReason(ReasonKind.DANGLING, (needed,))
        elif other.standing is PlanStanding.SIGNED_OFF_UNMERGED:
            yield NotReadyReason(ReasonKind.MERGE, (needed,))
        elif other.standing is not PlanStanding.SIGNED_OFF and needed not in ring:
            yield NotReadyReason(ReasonKind.PLAN, (needed,))


def _answer(plan: Candidate, reasons: tuple[NotReadyReason, ...]) -> PlanReadiness:
    state = _state(plan, {reason.kind for reason in reasons})
    if state is PlanState.RUNNING:
        reasons = (NotReadyReason(ReasonKind.HELD, holder=plan.holder),)
    elif plan.standing is PlanStanding.SIGNED_OFF_UNMERGED:
        reasons = (NotReadyReason(ReasonKind.MERGE, (plan.name,)),)
    elif state in (PlanState.DONE, PlanState.FAILED):
        reasons = ()
    return PlanReadiness(
        name=plan.name,
        state=state,
        reasons=reasons,
        approved=plan.standing not in _UNAPPROVED,
        resumes=state is PlanState.READY and plan.standing is PlanStanding.INTERRUPTED,
        unusable_touches=unusable(plan.touches),
    )


def _state(plan: Candidate, kinds: set[ReasonKind]) -> PlanState:
    if plan.standing in _DONE:
        return PlanState.DONE
    held = bool(plan.holder) and plan.standing is not PlanStanding.WAITING_FOR_PERSON
    if held or plan.standing is PlanStanding.IN_PROGRESS:
        return PlanState.RUNNING
    if plan.standing is PlanStanding.FAILED:
        return PlanState.FAILED
    if kinds & _BLOCKING:
        return PlanState.BLOCKED
    return PlanState.WAITING if kinds else PlanState.READY


def _occupies(plan: Candidate) -> bool:
    return plan.standing in _OCCUPYING or (bool(plan.holder) and plan.standing not in _DONE)


class _Occupants(Struct, frozen=True):
    """The plans that occupy what they touch, and those of them that stopped.

    What stopped and can be resumed at once is `resumable`; the others are `stuck`, and `awaited`
    is everything that those wait for.
    """

    names: frozenset[str]
    resumable: frozenset[str]
    stuck: frozenset[str]
    awaited: frozenset[str]

    def yielding_to(self, plan: PlanReadiness) -> frozenset[str]:
        """Plans that do not keep this one back, or some would wait for each other for ever.

        Of two that stopped one goes first, and what cannot go on lets through what it waits for.
        """
        if plan.resumes:
            return self.resumable | self.stuck
        return self.stuck if plan.name in self.awaited else frozenset()


def _occupants(
    plans: Mapping[str, Candidate], answers: Mapping[str, PlanReadiness], needs: Graph
) -> _Occupants:
    names = frozenset(name for name in plans if _occupies(plans[name]))
    resumable = frozenset(name for name in names if answers[name].resumes)
    stuck = frozenset(
        name
        for name in names - resumable
        if plans[name].standing is PlanStanding.INTERRUPTED and not plans[name].holder
    )
    return _Occupants(names, resumable, stuck, frozenset(all_needs(needs, stuck)))


def _among_others(
    answer: PlanReadiness, territory: Overlaps, occupants: _Occupants
) -> PlanReadiness:
    """Add the plans with which a ready plan overlaps, and those that keep it from starting now."""
    in_the_way = occupants.names & territory.in_the_way(answer.name)
    return replace(
        answer,
        overlaps=territory.overlaps(answer.name),
        cannot_tell=territory.cannot_tell(answer.name),
        kept_back_by=tuple(sorted(in_the_way - occupants.yielding_to(answer))),
    )
