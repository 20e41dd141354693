"""`verify`: static checks of a plan; a clean draft becomes verified."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from signoff.domain.findings import Finding, Severity
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Plan, PlanStatus
from signoff.errors import PlanInvalid
from signoff.planfile.parse import Parsed, parse
from signoff.planfile.verify import verify
from signoff.process.environment import safe_search_path
from signoff.storage.identity import remember_plan
from signoff.usecases.ground.history import fold_run, pinned_plan, read_history, read_pins
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.surroundings import RealSurroundings


@dataclass(frozen=True)
class VerifyReport:
    """What static verification found."""

    place: PlanPlace
    plan: Plan
    findings: tuple[Finding, ...]
    status: PlanStatus

    @property
    def ok(self) -> bool:
        """Only errors stop a plan."""
        return not any(f.severity is Severity.ERROR for f in self.findings)


def verify_plan(site: Site, place: PlanPlace) -> VerifyReport:
    """Check, record, and show the new status in the file."""
    text = place.read()
    parsed = parse(text)
    findings = find_all(site, place, parsed)
    report = VerifyReport(place, parsed.plan, findings, PlanStatus.DRAFT)
    history = read_history(site.ledger, place.record.id)
    digest = parsed.plan.plan_digest
    status = history.status(digest)
    if report.ok and status is PlanStatus.DRAFT:
        from signoff.usecases.running.marks import write_status  # noqa: PLC0415 - seldom needed

        place.own_vault()
        remember_plan(site.ledger, place.record)
        site.ledger.append(place.record.id, [Draft(Kind.PLAN_VERIFIED, {"plan_digest": digest})])
        status = PlanStatus.VERIFIED
        write_status(site, place, status)
    return VerifyReport(place, parsed.plan, findings, status)


def find_all(site: Site, place: PlanPlace, parsed: Parsed) -> tuple[Finding, ...]:
    """All findings, with what other plans have to do with them."""
    read = _read_by_checks(site, place, parsed.plan)
    found = find(site, place, parsed, read)
    if parsed.plan.depends_on:
        from signoff.usecases.ready import find_needs  # noqa: PLC0415 - looks at every other plan

        found += find_needs(site, place, parsed)
    return tuple(sorted(found, key=lambda finding: (finding.line, finding.code)))


def find(
    site: Site,
    place: PlanPlace,
    parsed: Parsed,
    read_by_checks: Mapping[str, frozenset[str]] | None = None,
) -> tuple[Finding, ...]:
    """All findings about a parsed plan in its place, whatever other plans there are."""
    path = safe_search_path(site.environ.get("PATH", ""), place.workspace)
    around = RealSurroundings(
        place.workspace,
        place.vault,
        path,
        site.settings,
        _heldout_names(site),
        site.environ,
        read_by_checks,
    )
    return verify(parsed, around)


def _read_by_checks(site: Site, place: PlanPlace, plan: Plan) -> dict[str, frozenset[str]]:
    """What contracts that are still the same read in the last run, before anybody worked."""
    history = read_history(site.ledger, place.record.id)
    if history.run is None:
        return {}
    from signoff.verification.evidence import read_before  # noqa: PLC0415 - only after a run

    then = pinned_plan(read_pins(site.ledger, history.run))
    commands = {s.id: s.contract.command for s in then.steps if s.contract is not None}
    records = fold_run(history, then).records
    return {
        step.id: read_before(site.ledger, records[step.id].read_sets).files
        for step in plan.steps
        if step.contract is not None
        and step.id in records
        and commands.get(step.id) == step.contract.command
    }


def _heldout_names(site: Site) -> frozenset[str]:
    folder = site.home.path / "heldout"
    return frozenset(entry.name for entry in folder.iterdir()) if folder.is_dir() else frozenset()


def require_valid(site: Site, place: PlanPlace, parsed: Parsed) -> tuple[Finding, ...]:
    """The findings, or PlanInvalid naming the first error."""
    findings = find_all(site, place, parsed)
    errors = [f for f in findings if f.severity is Severity.ERROR]
    if errors:
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise PlanInvalid(
            f"{place.path.name}:{first.line}: {first.message}{more}\n"
            f"  {first.text.strip()}\n  hint: {first.hint}",
            f"signoff verify {shlex.quote(str(place.path))}",
            {"findings": len(errors)},
        )
    return findings
