"""`approve` and `reject`: a person's decision on exactly what was shown."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from signoff.domain.findings import Finding, Severity
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Plan, PlanStatus
from signoff.domain.verdict import Isolation
from signoff.errors import Held, PlanConflict
from signoff.planfile.parse import parse
from signoff.storage.identity import remember_plan
from signoff.usecases.ground.escapes import open_sockets, word_of
from signoff.usecases.ground.history import read_history
from signoff.usecases.ground.person import refuse_in_attempt, require_person, user_name
from signoff.usecases.ground.pinning import take_pins
from signoff.usecases.ground.questions import ways_to_end
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.workbench import enclosure_of
from signoff.usecases.running.marks import write_status
from signoff.usecases.verify import require_valid
from signoff.verification.pins import Pins

# Notes that ask for a decision which is cheapest now: afterwards an attempt was paid for.
_ASKED = frozenset({"propose-may-change"})


@dataclass(frozen=True)
class Proposal:
    """What approval would pin; shown to the person before they decide."""

    place: PlanPlace
    plan: Plan
    pins: Pins
    warnings: tuple[Finding, ...]
    isolation: Isolation
    open_sockets: tuple[str, ...] = ()  # ways out of the agents' sandbox


@dataclass(frozen=True)
class Approval:
    """The decision as recorded."""

    place: PlanPlace
    entry: Entry
    status: PlanStatus


def propose(site: Site, place: PlanPlace) -> Proposal:
    """Verify the plan and take everything that approval would pin; nothing is run."""
    text = place.read()
    parsed = parse(text)
    findings = require_valid(site, place, parsed)
    pins = take_pins(site, place, parsed.plan, text)
    notable = tuple(f for f in findings if f.severity is not Severity.NOTE or f.code in _ASKED)
    isolation = enclosure_of(site, place, pins.search_path).isolation
    sockets = open_sockets(site.settings, site.environ)
    return Proposal(place, parsed.plan, pins, notable, isolation, sockets)


def approve(
    site: Site, proposal: Proposal, *, interactive: bool, policy: str | None = None
) -> Approval:
    """Record the approval of exactly this proposal; stale ones are refused."""
    # A policy is the user's own word, given before: only an agent of a run cannot use it.
    ask = require_person if policy is None else refuse_in_attempt
    by = ask(site.environ, site.home.path)
    place = proposal.place
    history = read_history(site.ledger, place.record.id)
    if history.running:
        raise Held(
            f"run `{history.run_id}` of this plan is not over; it goes by its own pins",
            f"end it, then approve again: {ways_to_end(site.ledger, place)}",
        )
    if place.parse().plan.plan_digest != proposal.plan.plan_digest:
        raise PlanConflict(
            "the plan changed while it was shown", f"signoff approve {shlex.quote(str(place.path))}"
        )
    pins = site.ledger.put_blob(proposal.pins.to_bytes())
    data = {
        "plan_digest": proposal.plan.plan_digest,
        "pins": pins,
        "snapshot": proposal.pins.snapshot,
        **word_of(by, proposal.open_sockets),
        "interactive": interactive,
        "policy": policy,
    }
    place.own_vault()
    remember_plan(site.ledger, place.record)
    (entry,) = site.ledger.append(place.record.id, [Draft(Kind.PLAN_APPROVED, data)])
    write_status(site, place, PlanStatus.APPROVED)
    return Approval(place, entry, PlanStatus.APPROVED)


def reject(site: Site, place: PlanPlace, note: str) -> Approval:
    """Record a person's no; the plan is a draft again."""
    require_person(site.environ, site.home.path)
    history = read_history(site.ledger, place.record.id)
    if history.running:
        raise Held(
            f"run `{history.run_id}` of this plan is not over",
            ways_to_end(site.ledger, place),
        )
    place.own_vault()
    remember_plan(site.ledger, place.record)
    data = {"note": note, "by": user_name()}
    (entry,) = site.ledger.append(place.record.id, [Draft(Kind.PLAN_REJECTED, data)])
    write_status(site, place, PlanStatus.DRAFT)
    return Approval(place, entry, PlanStatus.DRAFT)
