"""A plan approved in one checkout may run in another of the same repository, if nothing differs.

What was approved is compared with what is found in the worktree: plan, protected files, what steers
the checks, configuration, ignore rules, tools. Anything that differs needs a person again.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from signoff.domain.ledger import Entry
from signoff.domain.names import shown_name
from signoff.domain.plan import Plan
from signoff.errors import NotApproved, UsageError
from signoff.planfile.parse import parse
from signoff.usecases.ground.history import read_pins
from signoff.usecases.ground.pinning import take_pins
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.workbench import open_pinned_workspace
from signoff.verification.ignored import Ignored
from signoff.verification.pins import Pins, differences, protected_files
from signoff.workspace.repository import find_repository


def pins_for(site: Site, place: PlanPlace, pins: Pins, *, running: bool) -> Pins:
    """The approved pins, as they are for the plan's workspace; NotApproved names what differs.

    A run that is not over stays where it was begun.
    """
    if pins.workspace == str(place.workspace):
        return pins
    if running or not _same_repository(place, Path(pins.workspace)):
        raise UsageError(
            f"the plan was approved for `{pins.workspace}`, not for `{place.workspace}`",
            f"signoff run {_quoted(place.path)} --workspace {_quoted(pins.workspace)},"
            " or approve it again",
        )
    here = pins_here(site, place, pins)
    found = differences(pins, here)
    if found:
        raise NotApproved(
            f"what was approved differs in `{place.workspace}`: {'; '.join(found)}",
            f"signoff approve {_quoted(place.path)} --workspace {_quoted(place.workspace)}",
        )
    return here


def require_protected_as_approved(site: Site, place: PlanPlace, plan: Plan, pins: Pins) -> None:
    """Protected files a person edited after approving must not be blamed on the agent."""
    if not pins.protected:
        return
    workspace = open_pinned_workspace(site, place, pins, plan)
    manifest = workspace.manifest(workspace.snapshot().digest)
    now = protected_files(plan, manifest, Ignored(place.workspace, workspace.byproducts))
    paths = sorted(now.keys() | pins.protected.keys())
    changed = [path for path in paths if now.get(path) != pins.protected.get(path)]
    if changed:
        raise NotApproved(
            f"protected files changed since the approval: {', '.join(changed[:10])}",
            f"signoff approve {shlex.quote(str(place.path))}",
        )


def is_reconfigured(site: Site, place: PlanPlace, approval: Entry) -> bool:
    """Whether a person approved other words than the configuration has now, of the same place."""
    pins = read_pins(site.ledger, approval)
    same_place = pins.workspace == str(place.workspace)
    return same_place and pins.config_text != site.config_text(place.workspace)


def refuse_foreign_worktree(site: Site, place: PlanPlace) -> None:
    """A worktree that is bound to one plan is worked on by no other."""
    if place.record.repository is None:
        return
    bound = site.ledger.glance().binding(place.workspace, Path(place.record.repository))
    if bound is None or bound.name is None or bound.plan == place.record.id:
        return
    name = shown_name(place.record.name)
    raise UsageError(
        f"`{place.workspace}` is bound to plan `{bound.name}`, not to `{name}`",
        f"signoff worktree add {_quoted(name)}" if place.record.name else "signoff unbind",
    )


def _quoted(named: str | Path) -> str:
    """As a shell takes it for one word."""
    return shlex.quote(str(named))


def pins_here(site: Site, place: PlanPlace, pins: Pins) -> Pins:
    """What approving the same plan would pin here, with the approved search path and settings."""
    approved = replace(site, environ={**site.environ, "PATH": pins.search_path})
    taken = take_pins(approved, place, parse(pins.plan_text).plan, pins.plan_text)
    return replace(taken, settings=pins.settings)


def _same_repository(place: PlanPlace, approved_for: Path) -> bool:
    here, there = find_repository(place.workspace), find_repository(approved_for)
    return (
        here is not None
        and there is not None
        and here.main == there.main
        and str(here.main) == place.record.repository
        # The folder itself, not one that merely lies in the checkout.
        and here.top == place.workspace
        and there.top == approved_for
    )
