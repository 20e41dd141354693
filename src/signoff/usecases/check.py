"""`check` and `conflicts`: what CI asks of a whole vault, and the copies that clouds left there."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.conflicts import conflict_copy_of, kept_loser_of
from signoff.domain.findings import Finding, Severity
from signoff.domain.globs import Overlaps
from signoff.domain.names import folded, name_of_file, plan_file, shown_name
from signoff.domain.plan import Plan
from signoff.errors import NoVault, SignoffError
from signoff.storage.active import find_vault
from signoff.storage.vault import Vault
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.history import pinned_plan, read_history, read_pins
from signoff.usecases.ready import find_ready, needs_findings
from signoff.usecases.verify import find

FIRST_LINE = 1


class ConflictKind(StrEnum):
    PLAN_COPY = "plan copy"
    PROGRESS_COPY = "progress copy"
    KEPT_TEXT = "kept text"  # lost a compare-and-swap; nobody's words are thrown away


class Conflict(Struct, frozen=True):
    path: Path
    original: Path
    kind: ConflictKind

    @property
    def next(self) -> str:
        return shlex.join(["diff", str(self.original), str(self.path)])


def find_conflicts(vault: Vault) -> tuple[Conflict, ...]:
    """Every conflict copy and every text that was kept, by name."""
    found = []
    for name in sorted(vault.file_names()):
        copied, kept = conflict_copy_of(name), kept_loser_of(name)
        if copied is not None:
            progress = copied.lower().startswith("progress")
            kind = ConflictKind.PROGRESS_COPY if progress else ConflictKind.PLAN_COPY
            found.append(Conflict(vault.path / name, vault.path / copied, kind))
        elif kept is not None:
            found.append(Conflict(vault.path / name, vault.path / kept, ConflictKind.KEPT_TEXT))
    return tuple(found)


class Remark(Struct, frozen=True):
    file: str
    finding: Finding


class CheckReport(Struct, frozen=True):
    vault: Path
    plans: tuple[str, ...]
    remarks: tuple[Remark, ...]

    @property
    def clean(self) -> bool:
        """True when there is no error: only errors stop a commit."""
        return not any(r.finding.severity is Severity.ERROR for r in self.remarks)


def check_vault(harness: Harness) -> CheckReport:
    """Check names, plans, pins and overlaps; one broken plan hides no other."""
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
        said = "looks like a plan, but cannot be one"
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
    history = read_history(harness.ledger, place.id)
    if history.due is None:
        ran = history.run.data["plan_digest"] if history.run is not None else None
        # A sign-off does not un-happen, so this stops no commit; but what stands there is not done.
        if history.signed_off and ran != parsed.plan.plan_digest:
            yield _remark(
                plan_file(name),
                Severity.WARNING,
                "edited-since-sign-off",
                "the plan is not the one that was signed off",
                f"signoff diff {_quoted(name)}, or signoff approve {_quoted(name)}",
            )
        return
    pinned = active[name] = pinned_plan(read_pins(harness.ledger, history.due))
    if pinned.plan_digest != parsed.plan.plan_digest:
        state = "a run is executing" if history.running else "was approved"
        yield _error(
            name,
            "edited-against-its-pin",
            f"the plan is not the one that {state}",
            f"signoff approve {_quoted(name)}, or signoff reject {_quoted(name)}",
        )


def _quoted(name: str) -> str:
    return shlex.quote(shown_name(name))


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
                    "may cover the same files, and both plans are active",
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
