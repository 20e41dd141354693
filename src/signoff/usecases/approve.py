"""`approve` and `reject`: a person's decision on exactly what was shown."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from signoff.domain.findings import Finding, Severity
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Plan, PlanStatus
from signoff.domain.verdict import Isolation
from signoff.errors import Held, PlanConflict
from signoff.planfile import parse
from signoff.process import safe_search_path
from signoff.storage import remember_plan
from signoff.usecases.history import read_history
from signoff.usecases.inbox import ways_to_end
from signoff.usecases.marks import write_status
from signoff.usecases.person import refuse_in_attempt, require_person, user_name
from signoff.usecases.site import PlanPlace, Site
from signoff.usecases.verify import require_valid
from signoff.usecases.workbench import enclosure_of, held_out_checks, open_workspace
from signoff.verification import (
    Ignored,
    Pins,
    handoff_files,
    is_counted,
    protected_files,
    steering_of,
    tools_of,
)
from signoff.workspace import read_ignore_rules


@dataclass(frozen=True)
class Proposal:
    """What approval would pin; shown to the person before they decide."""

    place: PlanPlace
    plan: Plan
    pins: Pins
    warnings: tuple[Finding, ...]
    isolation: Isolation


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
    notable = tuple(f for f in findings if f.severity is not Severity.NOTE)
    isolation = enclosure_of(site, place, pins.search_path).isolation
    return Proposal(place, parsed.plan, pins, notable, isolation)


def take_pins(site: Site, place: PlanPlace, plan: Plan, text: str) -> Pins:
    """Everything that a run of this plan obeys, as it is in the workspace now."""
    site.home.keep_apart(place.workspace)
    rules = read_ignore_rules(place.workspace)
    workspace = open_workspace(site, place, rules, plan)
    content = workspace.snapshot(durable=True)
    manifest = workspace.manifest(content.digest)

    def read(path: str) -> bytes:
        return workspace.read(content.digest, path)

    contracts = {s.id: s.contract for s in plan.subjects if s.contract is not None}
    search_path = safe_search_path(site.environ.get("PATH", ""), place.workspace)
    ignored = Ignored(place.workspace, workspace.byproducts)
    steering = {
        i: steering_of(contract, manifest, read, ignored, search_path)
        for i, contract in contracts.items()
    }
    checks = held_out_checks(site)
    return Pins(
        plan_digest=plan.plan_digest,
        plan_text=text,
        settings=site.settings.pinned(),
        config_text=site.config_text(place.workspace),
        search_path=search_path,
        workspace=str(place.workspace),
        ignore_rules=rules.to_data(),
        snapshot=content.digest,
        protected=protected_files(plan, manifest, ignored),
        steering={subject: found for subject, found in steering.items() if found},
        tools={
            name: tool
            for contract in contracts.values()
            for name, tool in tools_of(contract, search_path, place.workspace).items()
        },
        counted=tuple(i for i, c in contracts.items() if is_counted(c) and not c.may_shrink),
        handoff=handoff_files(place.workspace),
        heldout={c.heldout: checks.find(c.heldout).digest for c in contracts.values() if c.heldout},
    )


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
        "by": by,
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
