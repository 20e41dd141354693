"""`verify`: static checks of a plan; a clean draft becomes verified."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from signoff.agents.command import troubles_of
from signoff.domain.findings import Finding, Severity, SyntaxProblem, Trouble
from signoff.domain.globs import has_wildcard, matches
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Plan, PlanStatus
from signoff.errors import PlanInvalid
from signoff.planfile.parse import Parsed
from signoff.planfile.verify import verify
from signoff.process.environment import safe_search_path
from signoff.process.shell import find_tool
from signoff.process.syntax import syntax_problems
from signoff.settings.loading import HUMAN_ROLE, Settings
from signoff.storage.identity import remember_plan
from signoff.storage.vault import Vault
from signoff.usecases.harness import Harness, PlanLocation, file_names
from signoff.usecases.history import fold_run, pinned_plan, read_history, read_pins
from signoff.verification.evidence import read_before


@dataclass(frozen=True)
class VerifyReport:
    """What static verification found."""

    place: PlanLocation
    plan: Plan
    findings: tuple[Finding, ...]
    status: PlanStatus

    @property
    def ok(self) -> bool:
        """Only errors stop a plan."""
        return not any(f.severity is Severity.ERROR for f in self.findings)


def verify_plan(harness: Harness, place: PlanLocation) -> VerifyReport:
    """Check, record, and show the new status in the file."""
    parsed = place.parse()
    digest = parsed.plan.plan_digest
    status = read_history(harness.ledger, place.record.id).status(digest)
    report = VerifyReport(place, parsed.plan, find_all(harness, place, parsed), status)
    if report.ok and status is PlanStatus.DRAFT:
        from signoff.usecases.marks import write_status  # noqa: PLC0415 - drafts only

        place.own_vault()
        remember_plan(harness.ledger, place.record)
        harness.ledger.append(place.record.id, [Draft(Kind.PLAN_VERIFIED, {"plan_digest": digest})])
        report = replace(report, status=PlanStatus.VERIFIED)
        write_status(harness, place, report.status)
    return report


def find_all(harness: Harness, place: PlanLocation, parsed: Parsed) -> tuple[Finding, ...]:
    """All findings, with what other plans have to do with them."""
    read = _read_by_checks(harness, place, parsed.plan)
    found = find(harness, place, parsed, read)
    if parsed.plan.depends_on:
        from signoff.usecases.ready import find_needs  # noqa: PLC0415 - looks at every other plan

        found += find_needs(harness, place, parsed)
    return tuple(sorted(found, key=lambda finding: (finding.line, finding.code)))


def find(
    harness: Harness,
    place: PlanLocation,
    parsed: Parsed,
    read_by_checks: Mapping[str, frozenset[str]] | None = None,
) -> tuple[Finding, ...]:
    """All findings about a parsed plan in its place, whatever other plans there are."""
    path = safe_search_path(harness.environ.get("PATH", ""), place.workspace)
    heldout = harness.home.path / "heldout"
    around = RealSurroundings(
        place.workspace,
        place.vault,
        path,
        harness.settings,
        frozenset(check.name for check in heldout.iterdir()) if heldout.is_dir() else frozenset(),
        harness.environ,
        read_by_checks,
    )
    return verify(parsed, around)


def _read_by_checks(harness: Harness, place: PlanLocation, plan: Plan) -> dict[str, frozenset[str]]:
    """What contracts that are still the same read in the last run, before anybody worked."""
    history = read_history(harness.ledger, place.record.id)
    if history.run is None:
        return {}

    then = pinned_plan(read_pins(harness.ledger, history.run))
    commands = {s.id: s.contract.command for s in then.steps if s.contract is not None}
    records = fold_run(history, then).records
    return {
        step.id: read_before(harness.ledger, records[step.id].read_sets).files
        for step in plan.steps
        if step.contract is not None
        and step.id in records
        and commands.get(step.id) == step.contract.command
    }


def require_valid(harness: Harness, place: PlanLocation, parsed: Parsed) -> tuple[Finding, ...]:
    """The findings, or PlanInvalid naming the first error."""
    findings = find_all(harness, place, parsed)
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


class RealSurroundings:
    """Looks at the disk, and only at names; the texts of contracts are read by bash, not run."""

    def __init__(
        self,
        workspace: Path,
        vault: Vault,
        search_path: str,
        settings: Settings,
        heldout_names: frozenset[str] = frozenset(),
        environ: Mapping[str, str] | None = None,
        read_by_checks: Mapping[str, Collection[str]] | None = None,
    ):
        self._workspace = workspace
        self._vault = vault
        self._search_path = search_path
        self._roles = settings.roles
        self._environ = environ or {}
        self.role_names = frozenset((*settings.roles, HUMAN_ROLE))
        self.heldout_names = heldout_names
        self.read_by_checks = read_by_checks or {}
        self.waivers_forbidden = settings.policy.forbid_waivers
        self._tools: dict[str, bool] = {}

    def file_exists(self, path: str) -> bool:
        """Whether something lies at this path of the workspace."""
        return os.path.lexists(self._workspace / path)

    def matches_glob(self, pattern: str) -> bool:
        """Whether the pattern covers some file of the workspace."""
        if not has_wildcard(pattern):
            return self.file_exists(pattern)
        return any(matches(pattern, path) for path in self._files)

    def topic_exists(self, name: str) -> bool:
        """Whether the vault has this topic."""
        return self._vault.topic_exists(name)

    def tool_exists(self, name: str) -> bool:
        """Whether a command of this name would be found when a contract runs."""
        if name not in self._tools:
            self._tools[name] = find_tool(name, self._search_path) is not None
        return self._tools[name]

    def role_troubles(self, name: str) -> tuple[Trouble, ...]:
        """What the first attempt of this role would stumble over."""
        role = self._roles[name]
        return tuple(troubles_of(role, self._search_path, self._workspace, self._environ))

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """What bash says about them."""
        return syntax_problems(texts)

    @cached_property
    def _files(self) -> list[str]:
        return file_names(self._workspace)
