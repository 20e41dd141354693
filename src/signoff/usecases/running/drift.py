"""Whether a workspace still holds the content that was signed off."""

from __future__ import annotations

from signoff.domain.plan import Plan
from signoff.errors import SignoffError
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.workbench import open_pinned_workspace
from signoff.verification.pins import Pins


def has_drifted(
    site: Site, place: PlanPlace, pins: Pins, plan: Plan, signed_on: str
) -> bool | None:
    """Walks the workspace; None when it could not be read, which is no reason to fail."""
    try:
        return open_pinned_workspace(site, place, pins, plan).snapshot().digest != signed_on
    except SignoffError:
        return None
