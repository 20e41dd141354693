"""`ready`: which plans may be started now, which wait for whom, and which may run together."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from signoff.domain.names import name_of_file, shown_name
from signoff.errors import NotReady
from signoff.gate.dependencies import needed_plans
from signoff.gate.ready import PlanReadiness, PlanStanding, PlanState, Readiness, readiness
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.vault.census import Census, PlanFacts, take_census


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


def refuse_unready(site: Site, place: PlanPlace, verb: str) -> None:
    """NotReady when the plan depends on what is not signed off and merged."""
    name = name_of_file(place.path.name)
    if name is None or place.path.parent != place.vault.path or not place.parse().plan.depends_on:
        return
    repository = place.record.repository
    around = Path(repository) if repository is not None else place.vault.path.parent
    known = take_census(replace(site, cwd=around)).by_name
    missing = []
    for needed in needed_plans(place.parse().plan.depends_on):
        standing = known[needed].standing if needed in known else None
        if standing is not PlanStanding.SIGNED_OFF:
            missing.append(f"`{shown_name(needed)}`, which is {standing or 'no plan of the vault'}")
    if missing:
        shown = shown_name(name)
        raise NotReady(
            f"plan `{shown}` depends on {'; '.join(missing)}",
            f"signoff ready shows the order; signoff {verb} {shlex.quote(shown)} --anyway does it",
        )
