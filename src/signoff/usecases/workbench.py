"""The workspace of a plan, opened with what was pinned (or would be)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from signoff.domain.digests import digest_bytes
from signoff.domain.plan import Plan
from signoff.orchestrator import PinWatch
from signoff.process import WORKSPACE_VARIABLE, kill_marked
from signoff.settings import REPOSITORY_FILE
from signoff.storage import Holder, hold
from signoff.usecases.site import PlanPlace, Site
from signoff.verification import Pins
from signoff.workspace import IgnoreFile, IgnoreRules, Workspace


def open_workspace(site: Site, place: PlanPlace, rules: IgnoreRules, plan: Plan) -> Workspace:
    """Snapshots of this workspace live in a store of their own in the home folder."""
    writes = {glob for s in plan.subjects if s.contract is not None for glob in s.contract.writes}
    # What a contract says it writes itself is no work content: it counts as a by-product.
    declared = IgnoreFile("", "\n".join(f"/{glob}" for glob in sorted(writes)))
    return Workspace(
        place.workspace,
        site.home.snapshots / _short(place),
        IgnoreRules((*rules.files, declared)) if writes else rules,
        apart=place.apart(),
    )


def open_pinned_workspace(site: Site, place: PlanPlace, pins: Pins, plan: Plan) -> Workspace:
    """The workspace seen through the ignore rules as they were approved."""
    return open_workspace(site, place, IgnoreRules.from_data(pins.ignore_rules), plan)


def workspace_lock(place: PlanPlace) -> str:
    """The lock that keeps one plan at a time in a workspace."""
    return f"workspace-{_short(place)}"


def plan_lock(place: PlanPlace) -> str:
    """The lock that keeps one driver at a time on a plan."""
    return f"plan-{place.record.id}"


@contextmanager
def taken(site: Site, place: PlanPlace, holder: Holder) -> Iterator[None]:
    """Hold the workspace; whatever still works there belongs to a driver that died, and ends.

    A driver that lives would hold the lock.
    """
    with hold(site.home.locks, workspace_lock(place), holder):
        kill_marked(WORKSPACE_VARIABLE, workspace_lock(place))
        yield


def pin_watch(place: PlanPlace, pins: Pins) -> PinWatch:
    """Notices when plan file or configuration are not what was pinned."""
    return PinWatch(
        plan_path=place.path,
        plan_digest=pins.plan_digest,
        plan_text=pins.plan_text,
        config_path=place.workspace / REPOSITORY_FILE,
        config_text=pins.config_text,
    )


def _short(place: PlanPlace) -> str:
    return digest_bytes(str(place.workspace).encode("utf-8", "surrogateescape"))[:24]
