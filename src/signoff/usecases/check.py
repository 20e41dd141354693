"""`check`: what CI and pre-commit ask of a vault as a whole; nothing is written, nothing is run."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from signoff.domain.findings import Finding, Severity
from signoff.domain.names import folded, name_of_file, plan_file, shown_name
from signoff.domain.plan import Plan
from signoff.errors import NoVault, SignoffError
from signoff.gate.overlap import Overlaps
from signoff.storage.location import find_vault
from signoff.storage.vault import Vault
from signoff.usecases.conflicts import ConflictKind, find_conflicts
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.history import PlanHistory, pinned_plan, read_history, read_pins
from signoff.usecases.ready import find_ready, needs_findings
from signoff.usecases.verify import find

# Where a file as a whole is meant.
FIRST_LINE = 1


@dataclass(frozen=True)
class Remark:
    """A finding and the file of the vault it is about."""

    file: str
    finding: Finding


@dataclass(frozen=True)
class CheckReport:
    """Everything there is to say about the vault."""

    vault: Path
    plans: tuple[str, ...]
    remarks: tuple[Remark, ...]

    @property
    def clean(self) -> bool:
        """Only errors stop a commit."""
        return not any(r.finding.severity is Severity.ERROR for r in self.remarks)


def check_vault(harness: Harness) -> CheckReport:
    """Names, plans, pins and overlaps; one broken plan hides no other."""
    vault = Vault(find_vault(harness.cwd, harness.environ).folder)
    if not vault.path.is_dir():
        raise NoVault(f"no vault at `{vault.path}`")
    names = vault.list_plans()
    remarks = [*_names(vault)]
    active: dict[str, Plan] = {}
    ready = find_ready(harness).answer.by_name if names else {}
    for name in names:
        try:
            place = find_plan(harness.cwd, str(vault.plan_path(name)), environ=harness.environ)
            found = needs_findings(ready.get(name), place.parse())
            remarks += [Remark(plan_file(name), finding) for finding in found]
            remarks += _plan(harness, place, name, active)
        except SignoffError as error:
            remarks.append(_error(name, error.code, error.message, error.hint))
    remarks += _overlaps(active)
    return CheckReport(vault.path, names, tuple(remarks))


def _names(vault: Vault) -> Iterator[Remark]:
    for conflict in find_conflicts(vault):
        kept = conflict.kind is ConflictKind.KEPT_TEXT
        severity = Severity.WARNING if kept else Severity.ERROR
        said = f"a {conflict.kind} of `{conflict.original.name}`"
        yield _remark(conflict.path.name, severity, "conflict-copy", said, conflict.next)
    apart = {conflict.path.name for conflict in find_conflicts(vault)}
    alike: dict[str, list[str]] = defaultdict(list)
    for file_name in sorted(set(vault.file_names()) - apart):
        name = name_of_file(file_name)
        if name is not None:
            alike[folded(name)].append(file_name)
    for file_name in vault.odd_names():
        said = "looks like a plan and is none"
        yield _remark(file_name, Severity.ERROR, "odd-name", said, _rename(vault, file_name))
    for files in alike.values():
        for other in files[1:]:
            said = f"differs from `{files[0]}` only in case or composition"
            yield _remark(other, Severity.ERROR, "name-clash", said, _rename(vault, other))


def _rename(vault: Vault, file_name: str) -> str:
    return shlex.join(
        ["mv", "-n", str(vault.path / file_name), str(vault.path / plan_file("NAME"))]
    )


def _plan(
    harness: Harness, place: PlanLocation, name: str, active: dict[str, Plan]
) -> Iterator[Remark]:
    parsed = place.parse()
    for finding in find(harness, place, parsed):
        if finding.code == "empty-plan":
            # By its path: an empty file is no plan that a name could stand for.
            hint = shlex.join(["signoff", "edit", str(place.path)])
            yield Remark(plan_file(name), replace(finding, hint=hint))
        elif finding.severity is not Severity.NOTE:
            yield Remark(plan_file(name), finding)
    history = read_history(harness.ledger, place.record.id)
    pinned = _pinned(harness, history)
    if pinned is None:
        yield from _drift(name, history, parsed.plan)
        return
    active[name] = pinned
    if pinned.plan_digest != parsed.plan.plan_digest:
        state = "a run is executing" if history.running else "was approved"
        yield _error(
            name,
            "edited-against-its-pin",
            f"the plan is not the one that {state}",
            f"signoff approve {_quoted(name)}, or signoff reject {_quoted(name)}",
        )


def _drift(name: str, history: PlanHistory, plan: Plan) -> Iterator[Remark]:
    """A sign-off does not un-happen, so this stops no commit; but what stands there is not done."""
    if not history.signed_off or history.run is None:
        return
    if history.run.data["plan_digest"] != plan.plan_digest:
        yield _remark(
            plan_file(name),
            Severity.WARNING,
            "edited-since-sign-off",
            "the plan is not the one that was signed off",
            f"signoff diff {_quoted(name)}, or signoff approve {_quoted(name)}",
        )


def _quoted(name: str) -> str:
    return shlex.quote(shown_name(name))


def _pinned(harness: Harness, history: PlanHistory) -> Plan | None:
    """The plan as pinned, while it is approved or running."""
    if history.running and history.run is not None:
        return pinned_plan(read_pins(harness.ledger, history.run))
    approval = history.approval
    if approval is None or (history.run is not None and history.run.seq > approval.seq):
        return None
    return pinned_plan(read_pins(harness.ledger, approval))


def _overlaps(active: dict[str, Plan]) -> Iterator[Remark]:
    if len(active) < 2:
        return
    territory = Overlaps({name: plan.touches for name, plan in active.items()})
    for name in sorted(active):
        for overlap in territory.overlaps(name):
            if overlap.other > name:
                yield _error(
                    name,
                    "overlap",
                    f"`{overlap.mine}` and `{overlap.theirs}` of `{plan_file(overlap.other)}` "
                    f"both cover `{overlap.path}`, and both plans are active",
                    "narrow `touches`, or finish one before the other is approved",
                )
        if not active[name].touches:
            yield _remark(
                plan_file(name),
                Severity.WARNING,
                "no-touches",
                "is active without `touches`: whether it overlaps with others cannot be told",
                "add `touches` to its frontmatter",
            )


def _error(name: str, code: str, message: str, hint: str) -> Remark:
    return _remark(plan_file(name), Severity.ERROR, code, message, hint)


def _remark(file: str, severity: Severity, code: str, message: str, hint: str) -> Remark:
    return Remark(file, Finding(code, severity, FIRST_LINE, message, hint))
