"""`ready`: which plans may be started now, which wait for whom, and which may run together."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from signoff.domain.findings import Finding, Severity
from signoff.domain.names import name_of_file, shown_name
from signoff.errors import NotReady
from signoff.gate.dependencies import needed_plans
from signoff.gate.ready import (
    PlanReadiness,
    PlanStanding,
    PlanState,
    Readiness,
    ReasonKind,
    readiness,
)
from signoff.planfile.parse import Parsed
from signoff.usecases.site import PlanPlace, Site
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


def find_needs(site: Site, place: PlanPlace, parsed: Parsed) -> tuple[Finding, ...]:
    """What is wrong with a plan's `depends_on`, going by the other plans of its vault."""
    name = _name_in_vault(place)
    if name is None or not parsed.plan.depends_on:
        return ()
    around = _around(site, place)
    return needs_findings(find_ready(around).answer.by_name.get(name), parsed)


def needs_findings(answer: PlanReadiness | None, parsed: Parsed) -> tuple[Finding, ...]:
    """The same, from an answer that is known: a ring is an error, nobody's name a warning."""
    reasons = answer.reasons if answer is not None else ()
    return tuple(
        _needs_finding(parsed, str(reason), circular=reason.kind is ReasonKind.CYCLE)
        for reason in reasons
        if reason.kind in (ReasonKind.CYCLE, ReasonKind.DANGLING)
    )


def _needs_finding(parsed: Parsed, said: str, *, circular: bool) -> Finding:
    lines = (i for i, text in enumerate(parsed.lines, 1) if text.startswith("depends_on"))
    line = next(lines, 1)
    text = parsed.lines[line - 1].rstrip("\r")
    if circular:
        hint = "take one of them out of `depends_on`: none of these plans can ever start"
        return Finding("circular-dependency", Severity.ERROR, line, f"the plan {said}", hint, text)
    hint = "correct the name, or write that plan: until then this one does not start"
    return Finding("unknown-dependency", Severity.WARNING, line, f"the plan {said}", hint, text)


def refuse_unready(site: Site, place: PlanPlace, verb: str) -> None:
    """NotReady when the plan depends on what is not signed off and merged."""
    name = _name_in_vault(place)
    if name is None or not place.parse().plan.depends_on:
        return
    known = take_census(_around(site, place)).by_name
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


def _name_in_vault(place: PlanPlace) -> str | None:
    """The name by which other plans may need it; None of a file that lies elsewhere."""
    return name_of_file(place.path.name) if place.path.parent == place.vault.path else None


def _around(site: Site, place: PlanPlace) -> Site:
    """As if asked from where the plan's vault is the vault."""
    repository = place.record.repository
    return replace(site, cwd=Path(repository) if repository else place.vault.path.parent)
