"""Whether a workspace holds the content that was signed off, or content judged again since."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from signoff.domain.ledger import Kind
from signoff.domain.plan import Plan
from signoff.errors import SignoffError
from signoff.usecases.ground.history import PlanHistory, pinned_plan, read_history, read_pins
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.workbench import open_pinned_workspace
from signoff.usecases.proofs.rejudging import Finding
from signoff.usecases.status import Content, StatusReport
from signoff.verification.pins import Pins

_WANTING = {Finding.BROKEN, Finding.UNKNOWN, Finding.UNPROVED}


def look_at_content(site: Site, report: StatusReport) -> StatusReport:
    """The same report, with the workspace compared with what was signed off."""
    place, signed_on = report.place, report.signed_off_on
    history = read_history(site.ledger, place.record.id)
    assert history.run is not None and signed_on is not None, "it is signed off"
    pins = read_pins(site.ledger, history.run)
    try:
        now = _digest_now(site, place, pins, pinned_plan(pins), signed_on)
    except SignoffError:
        return replace(report, content=Content(differs=None))
    if now == signed_on:
        return replace(report, content=Content(differs=False))
    return replace(report, content=Content(True, _judged_again(history, now)))


def _digest_now(site: Site, place: PlanPlace, pins: Pins, plan: Plan, signed_on: str) -> str | None:
    """Walks the workspace; None for another folder in which something signed is not even there."""
    if pins.workspace != str(place.workspace):
        there = replace(place, workspace=Path(pins.workspace))
        signed = open_pinned_workspace(site, there, pins, plan).manifest(signed_on)
        if not all(os.path.lexists(place.workspace / path) for path in signed):
            return None
    return open_pinned_workspace(site, place, pins, plan).digest_now().digest


def _judged_again(history: PlanHistory, content: str | None) -> str | None:
    """When an audit last found no contract wanting on this content, unless a later one did."""
    audits = [e for e in history.entries if e.kind is Kind.AUDITED]
    here = [e for e in audits if e.data["snapshot"] == content]
    return here[-1].at if here and not _WANTING & set(here[-1].data["lines"].values()) else None
