"""`ready`: which plans may be started now, which wait for whom, and which may run together."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.gate import PlanReadiness, PlanState, Readiness, readiness
from signoff.usecases.plans import Census, PlanFacts, take_census
from signoff.usecases.site import Site


@dataclass(frozen=True)
class ReadyReport:
    """Every plan of the vault with its answer."""

    census: Census
    answer: Readiness

    @property
    def plans(self) -> tuple[tuple[PlanFacts, PlanReadiness], ...]:
        """The plans people know of, each with its answer."""
        found = self.answer.by_name
        return tuple((plan, found[plan.name]) for plan in self.census.plans if plan.listed)

    @property
    def anything(self) -> bool:
        """Whether there is work for somebody."""
        return any(answer.state is PlanState.READY for _, answer in self.plans)


def find_ready(site: Site) -> ReadyReport:
    """Look at all plans and ask the rules."""
    census = take_census(site)
    return ReadyReport(census, readiness([plan.candidate() for plan in census.plans]))
