"""Workspaces of plans, seen through ignore rules; the names of their locks and stores."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from signoff.domain.digests import digest_bytes
from signoff.domain.plan import Plan
from signoff.domain.text import storable_path
from signoff.errors import UsageError
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import ApprovedPlan
from signoff.verification.pins import Pins
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace


def open_workspace(
    harness: Harness,
    place: PlanLocation,
    rules: IgnoreRules,
    plan: Plan,
    apart: frozenset[str] = frozenset(),
) -> Workspace:
    """Open the workspace; its snapshots live in a store of their own in the home folder."""
    writes = {glob for s in plan.subjects if s.contract is not None for glob in s.contract.writes}
    # What a contract says it writes itself is no work content: it counts as a by-product.
    declared = IgnoreFile("", "\n".join(f"/{glob}" for glob in sorted(writes)))
    return Workspace(
        place.workspace,
        harness.home.snapshots / workspace_key(place.workspace),
        IgnoreRules((*rules.files, declared)) if writes else rules,
        apart=place.apart() | apart,
        protects=tuple(dict.fromkeys(glob for step in plan.steps for glob in step.protects)),
    )


def open_pinned_workspace(
    harness: Harness, place: PlanLocation, pins: Pins, plan: Plan
) -> Workspace:
    """The workspace seen through the ignore rules as they were approved.

    In a copy of the approved workspace, the copy of the plan file is no work content either.
    """
    apart = replace(place, workspace=Path(pins.workspace)).apart()
    return open_workspace(harness, place, IgnoreRules.from_data(pins.ignore_rules), plan, apart)


def approved_workspace(harness: Harness, approved: ApprovedPlan) -> Workspace:
    """The pinned workspace of an approved plan."""
    return open_pinned_workspace(harness, approved.place, approved.pins, approved.plan)


def workspace_lock(place: PlanLocation) -> str:
    """The lock that keeps one plan at a time in a workspace."""
    return lock_of_workspace(workspace_key(place.workspace))


def lock_of_workspace(key: str) -> str:
    """Name of a workspace's lock, by the workspace's key."""
    return f"workspace-{key}"


def plan_lock(place: PlanLocation) -> str:
    """The lock that keeps one driver at a time on a plan."""
    return f"plan-{place.id}"


def refuse_own_output(files: Iterable[Path], workspace: Workspace) -> None:
    """Refuse our own output in the workspace: a file that grows as we print is not judged."""
    root = workspace.root
    inside = [str(file.relative_to(root)) for file in files if file.is_relative_to(root)]
    if not inside:
        return
    content = workspace.manifest(workspace.digest_now(quiet=False).digest)
    found = [path for path in inside if path in content]
    if found:
        raise UsageError(
            f"signoff's own output goes to `{storable_path(found[0])}` in the workspace, so the"
            " content would change whenever something is said about it",
            "write it outside the workspace, as in > ../run.log; what was not ignored when it was"
            " approved counts until it is approved again",
        )


def workspace_key(workspace: Path) -> str:
    """Name of a workspace in the home folder."""
    return digest_bytes(str(workspace).encode("utf-8", "surrogateescape"))[:24]
