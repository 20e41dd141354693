"""`verify`: static checks of a plan; a clean draft becomes verified."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.agents.troubles import budget_trouble, sandbox_troubles, troubles_of
from signoff.domain.findings import Finding, Severity, SyntaxProblem, Trouble
from signoff.domain.globs import has_wildcard, matches
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Budget, Plan, PlanStatus
from signoff.errors import PlanInvalid
from signoff.planfile.parse import Parsed
from signoff.planfile.verify import verify
from signoff.process.environment import contract_search_path, left_out
from signoff.process.shell import find_tool, installed_modules, syntax_problems
from signoff.settings.loading import Settings
from signoff.settings.roles import HUMAN_ROLE
from signoff.storage.identity import remember_plan
from signoff.storage.vault import Vault
from signoff.usecases.harness import Harness, PlanLocation, file_names
from signoff.usecases.history import fold_run, pinned_plan, read_history, read_pins
from signoff.workspace.checkout import read_small
from signoff.workspace.ignore import IgnoreRules, read_ignore_rules

_MOST_PROGRAM_BYTES = 256 * 1024


class VerifyReport(Struct, frozen=True):
    place: PlanLocation
    plan: Plan
    findings: tuple[Finding, ...]
    status: PlanStatus

    @property
    def ok(self) -> bool:
        """Only errors stop a plan."""
        return not any(f.severity is Severity.ERROR for f in self.findings)


def verify_plan(harness: Harness, place: PlanLocation, *, record: bool = True) -> VerifyReport:
    """Check, record, and show the new status in the file; or only check."""
    parsed = place.parse()
    digest = parsed.plan.plan_digest
    status = read_history(harness.ledger, place.id).status(digest)
    # What was verified is valid bash: it was asked then, of this very text.
    found = find_all(harness, place, parsed, valid_bash=status is not PlanStatus.DRAFT)
    report = VerifyReport(place, parsed.plan, found, status)
    if record and report.ok and status is PlanStatus.DRAFT:
        from signoff.usecases.marks import write_status  # noqa: PLC0415 - drafts only

        place.own_vault()
        remember_plan(harness.ledger, place.record)
        harness.ledger.append(place.id, [Draft(Kind.PLAN_VERIFIED, {"plan_digest": digest})])
        report = replace(report, status=PlanStatus.VERIFIED)
        write_status(harness, place, report.status)
    return report


def find_all(
    harness: Harness, place: PlanLocation, parsed: Parsed, *, valid_bash: bool = False
) -> tuple[Finding, ...]:
    """All findings, with what other plans have to do with them."""
    read = _read_by_checks(harness, place, parsed.plan)
    found = find(harness, place, parsed, read, valid_bash=valid_bash)
    if parsed.plan.depends_on:
        from signoff.usecases.ready import find_needs  # noqa: PLC0415 - looks at every other plan

        found += find_needs(harness, place, parsed)
    return tuple(sorted(found, key=lambda finding: (finding.line, finding.code)))


def find(
    harness: Harness,
    place: PlanLocation,
    parsed: Parsed,
    read_by_checks: Mapping[str, frozenset[str]] | None = None,
    *,
    valid_bash: bool = False,
) -> tuple[Finding, ...]:
    """All findings about a parsed plan in its place, whatever other plans there are."""
    environ, heldout = harness.environ, harness.home.heldout
    path = contract_search_path(environ.get("PATH", ""), place.workspace)
    about = (place.workspace, place.vault, path, harness.settings, environ, heldout)
    return verify(parsed, RealSurroundings(*about, read_by_checks, valid_bash=valid_bash))


def _read_by_checks(harness: Harness, place: PlanLocation, plan: Plan) -> dict[str, frozenset[str]]:
    """Files that unchanged contracts read in the last run, before anybody worked."""
    history = read_history(harness.ledger, place.id)
    if history.run is None:
        return {}
    from signoff.workspace.opened import read_before  # noqa: PLC0415 - watches, by ctypes

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
            f"signoff verify {place.quoted}",
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
        environ: Mapping[str, str] | None = None,
        heldout: Path | None = None,  # where checks lie that no agent sees
        read_by_checks: Mapping[str, Collection[str]] | None = None,
        *,
        valid_bash: bool = False,
    ):
        self._workspace, self._vault, self._settings = workspace, vault, settings
        self._search_path, self._environ = search_path, environ or {}
        self._tools: dict[str, bool] = {}
        checks = heldout.iterdir() if heldout is not None and heldout.is_dir() else ()
        self.heldout_names = frozenset(check.name for check in checks)
        self.role_names = frozenset((*settings.roles, HUMAN_ROLE))
        self.read_by_checks = read_by_checks or {}
        self.waivers_forbidden = settings.policy.forbid_waivers
        self.judge_named = settings.judge is not None
        self._valid_bash = valid_bash

    def file_exists(self, path: str) -> bool:
        return os.path.lexists(self._workspace / path)

    def text_of(self, path: str) -> str:
        """Text of a program, up to a size that a check has; nothing of it is run."""
        found = read_small(self._workspace / path, _MOST_PROGRAM_BYTES) or b""
        return found.decode("utf-8", "replace")

    def matches_glob(self, pattern: str) -> bool:
        if not has_wildcard(pattern):
            return self.file_exists(pattern)
        return any(matches(pattern, path) for path in self._files)

    def is_ignored(self, path: str) -> bool:
        return self._ignore_rules.is_ignored(path) or self._ignore_rules.is_ignored(path, True)

    def topic_exists(self, name: str) -> bool:
        return self._vault.topic_exists(name)

    def tool_exists(self, name: str) -> bool:
        if name not in self._tools:
            self._tools[name] = find_tool(name, self._search_path) is not None
        return self._tools[name]

    def left_out(self, name: str) -> str:
        """Path in the workspace, where the person's search path has it and a contract's has not."""
        own = self._environ.get("PATH", "")
        return left_out(name, own, self._search_path, self._workspace)

    def module_exists(self, name: str) -> bool:
        """True when an interpreter that a contract would find has it, or the workspace itself."""
        own = (self._workspace / name, self._workspace / f"{name}.py")
        libraries = sys.stdlib_module_names | installed_modules(self._search_path)
        return name in libraries or any(map(os.path.lexists, own))

    def role_troubles(self, name: str) -> tuple[Trouble, ...]:
        """Troubles that the first attempt of this role would have."""
        role = self._settings.roles[name]
        found = troubles_of(role, self._search_path, self._workspace, self._environ)
        return (*found, *sandbox_troubles(role, self._settings, self._workspace))

    def budget_trouble(self, name: str, budget: Budget) -> Trouble | None:
        return budget_trouble(self._settings.roles[name], budget, self._settings.prices)

    def syntax_problems(self, texts: Collection[str]) -> Mapping[str, SyntaxProblem]:
        """Bash's complaints about the texts, unless they are known to be valid."""
        return {} if self._valid_bash else syntax_problems(texts)

    @cached_property
    def _ignore_rules(self) -> IgnoreRules:
        return read_ignore_rules(self._workspace)

    @cached_property
    def _files(self) -> list[str]:
        return file_names(self._workspace)
