"""`approve` and `reject`: a person's decision on exactly what was shown."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from signoff.domain.findings import Finding, Severity
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Plan, PlanStatus
from signoff.domain.verdict import Isolation
from signoff.errors import Held, PlanConflict
from signoff.planfile.parse import parse
from signoff.storage.identity import remember_plan
from signoff.usecases.ground.driver import driver_of
from signoff.usecases.ground.escapes import open_sockets, word_of
from signoff.usecases.ground.history import PlanHistory, older_pins, read_history
from signoff.usecases.ground.person import refuse_in_attempt, require_person, user_name
from signoff.usecases.ground.pinning import take_pins
from signoff.usecases.ground.questions import ways_to_end
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.upgrading import OLDER, Upgrade, describe, upgraded
from signoff.usecases.ground.workbench import enclosure_of, learn_secrets
from signoff.usecases.running.marks import write_status
from signoff.usecases.running.rehoming import pins_for
from signoff.usecases.sittings import find_sittings
from signoff.usecases.verify import find_all, require_valid
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
    upgrade: Upgrade | None = None  # what it adds to an approval of an older version


@dataclass(frozen=True)
class Approval:
    """The decision as recorded."""

    place: PlanPlace
    entry: Entry
    status: PlanStatus


def propose(site: Site, place: PlanPlace) -> Proposal:
    """Verify the plan and take everything that approval would pin; nothing is run.

    Work that was begun under an older version's approval goes on: its plan as it was approved,
    with what is pinned since.
    """
    history = read_history(site.ledger, place.record.id)
    older = _older(site, place, history)
    begun = older is not None and (history.running or _worked_on(site, place, older))
    text = older.plan_text if older is not None and begun else place.read()
    parsed = parse(text)
    # What was begun may go on, although today's rules would not let it begin.
    findings = (find_all if begun else require_valid)(site, place, parsed)
    if older is not None and begun:
        pins = upgraded(site, place, pins_for(site, place, older, running=history.running))
    else:
        pins = take_pins(site, place, parsed.plan, text)
    notable = tuple(f for f in findings if f.severity is not Severity.NOTE or f.code in _ASKED)
    isolation = enclosure_of(site, place, pins.search_path).isolation
    sockets = open_sockets(site.settings, site.environ)
    added = describe(older, pins) if older is not None else None
    return Proposal(place, parsed.plan, pins, notable, isolation, sockets, added)


def _older(site: Site, place: PlanPlace, history: PlanHistory) -> Pins | None:
    """The pins of an older version that are in force, whatever became of an open run's file."""
    digest = "" if history.running else place.parse().plan.plan_digest
    return older_pins(site.ledger, history, digest)


def _worked_on(site: Site, place: PlanPlace, pins: Pins) -> bool:
    """Whether an agent's session has worked on the plan as it was approved."""
    sittings = find_sittings(site, place.workspace)
    return any(sitting.plan_digest == pins.plan_digest for sitting in sittings)


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
        driver = driver_of(site, place.record.id)
        driven = driver is not None and driver.alive
        if proposal.upgrade is None or driven or _older(site, place, history) is None:
            raise Held(
                f"run `{history.run_id}` of this plan is not over; it goes by its own pins",
                f"end it, then approve again: {ways_to_end(site.ledger, place)}",
            )
    elif place.parse().plan.plan_digest != proposal.plan.plan_digest:
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
    if proposal.upgrade is not None:
        data["upgraded"] = [*proposal.upgrade.pinned, *proposal.upgrade.refused]
    if history.running:
        (entry,) = site.ledger.append(
            place.record.id, [Draft(Kind.PLAN_AMENDED, data, history.run_id)]
        )
        return Approval(place, entry, PlanStatus.IN_PROGRESS)
    place.own_vault()
    remember_plan(site.ledger, place.record)
    (entry,) = site.ledger.append(place.record.id, [Draft(Kind.PLAN_APPROVED, data)])
    write_status(site, place, PlanStatus.APPROVED)
    return Approval(place, entry, PlanStatus.APPROVED)


def approve_unasked(
    site: Site,
    proposal: Proposal,
    yes: bool,
    tell: Callable[[str], None],
    warn: Callable[[tuple[Finding, ...]], None],
) -> Entry:
    """By `--yes`, else by the user's policy; what nobody was shown is told."""
    if proposal.upgrade is not None:
        tell(f"plan `{proposal.place.name}` {OLDER}, and is approved again; {proposal.upgrade}")
    policy = None if yes else "auto_approve"
    entry = approve(site, proposal, interactive=False, policy=policy).entry
    warn(proposal.warnings)
    return entry


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
    learn_secrets(site, place.record.id)
    data = {"note": note, "by": user_name()}
    (entry,) = site.ledger.append(place.record.id, [Draft(Kind.PLAN_REJECTED, data)])
    write_status(site, place, PlanStatus.DRAFT)
    return Approval(place, entry, PlanStatus.DRAFT)
