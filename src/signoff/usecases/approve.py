"""`approve` and `reject`: a person's decision on exactly what was shown; `answer ID allow`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.findings import Finding, Severity
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import Plan, PlanStatus
from signoff.domain.verdict import Isolation
from signoff.errors import Held, NothingToAnswer, PlanConflict
from signoff.planfile.marks import with_may_change
from signoff.planfile.outline import plan_digest
from signoff.planfile.parse import parse
from signoff.storage.identity import remember_plan
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.history import PlanHistory, driver_of, older_pins, read_history, read_pins
from signoff.usecases.marks import write_status
from signoff.usecases.openwork import enclosure_of, learn_secrets
from signoff.usecases.person import (
    PageDecision,
    open_sockets,
    refuse_in_attempt,
    require_person,
    user_name,
    word_of,
)
from signoff.usecases.pinning import OLDER, Upgrade, describe, pins_for, take_pins, upgraded
from signoff.usecases.questions import InboxItem, ways_to_end
from signoff.usecases.sessions import find_session_records
from signoff.usecases.verify import find_all, require_valid
from signoff.verification.guards import PinWatch
from signoff.verification.pins import Pins

# Notes that ask for a decision which is cheapest now: afterwards an attempt was paid for.
_ASKED = frozenset({"propose-may-change", "propose-touches"})


class Proposal(Struct, frozen=True):
    """Pins that approval would set; shown to the person before they decide."""

    place: PlanLocation
    plan: Plan
    pins: Pins
    warnings: tuple[Finding, ...]
    isolation: Isolation
    open_sockets: tuple[str, ...] = ()  # ways out of the agents' sandbox
    upgrade: Upgrade | None = None  # what it adds to an approval of an older version


class Approval(Struct, frozen=True):
    place: PlanLocation
    entry: Entry
    status: PlanStatus


def propose(harness: Harness, place: PlanLocation) -> Proposal:
    """Verify the plan and take everything that approval would pin; nothing is run.

    Work that was begun under an older version's approval goes on: its plan as it was approved,
    with what is pinned since.
    """
    history = read_history(harness.ledger, place.id)
    older = _older(harness, place, history)
    begun = older is not None and (
        history.running
        or any(
            s.plan_digest == older.plan_digest
            for s in find_session_records(harness, place.workspace)
        )
    )
    text = older.plan_text if older is not None and begun else place.read()
    parsed = parse(text)
    # What was begun may go on, although today's rules would not let it begin.
    findings = (find_all if begun else require_valid)(harness, place, parsed)
    if older is not None and begun:
        pins = upgraded(harness, place, pins_for(harness, place, older, running=history.running))
    else:
        pins = take_pins(harness, place, parsed.plan, text)
    notable = tuple(f for f in findings if f.severity is not Severity.NOTE or f.code in _ASKED)
    isolation = enclosure_of(harness, place, pins.search_path).isolation
    sockets = open_sockets(harness.settings, harness.environ)
    added = describe(older, pins) if older is not None else None
    return Proposal(place, parsed.plan, pins, notable, isolation, sockets, added)


def _older(harness: Harness, place: PlanLocation, history: PlanHistory) -> Pins | None:
    """The pins of an older version that are in force, whatever became of an open run's file."""
    digest = "" if history.running else place.digest()
    return older_pins(harness.ledger, history, digest)


def approve(
    harness: Harness,
    proposal: Proposal,
    *,
    interactive: bool,
    policy: str | None = None,
    page: PageDecision | None = None,
) -> Approval:
    """Record the approval of exactly this proposal; stale ones are refused."""
    # A policy is the user's own word, given before: only an agent of a run cannot use it.
    ask = require_person if policy is None else refuse_in_attempt
    by = ask(harness.environ, harness.home.path)
    place = proposal.place
    history = read_history(harness.ledger, place.id)
    if history.running:
        driver = driver_of(harness, place.id)
        driven = driver is not None and driver.alive
        if proposal.upgrade is None or driven or _older(harness, place, history) is None:
            raise Held(
                f"run `{history.run_id}` of this plan is not over, and goes on as it was approved",
                f"end it, then approve again: {ways_to_end(harness.ledger, place)}",
            )
    elif place.digest() != proposal.plan.plan_digest:
        raise PlanConflict("the plan changed while it was shown", f"signoff approve {place.quoted}")
    pins = harness.ledger.put_blob(proposal.pins.to_bytes())
    data = {
        "plan_digest": proposal.plan.plan_digest,
        "pins": pins,
        "snapshot": proposal.pins.snapshot,
        **word_of(by, proposal.open_sockets, page),
        "interactive": interactive,
        "policy": policy,
    }
    if proposal.upgrade is not None:
        data["upgraded"] = [*proposal.upgrade.pinned, *proposal.upgrade.refused]
    onto = page.onto if page is not None else None
    if history.running:
        draft = Draft(Kind.PLAN_AMENDED, data, history.run_id)
        (entry,) = harness.ledger.append(place.id, [draft], onto=onto)
        return Approval(place, entry, PlanStatus.IN_PROGRESS)
    place.own_vault()
    remember_plan(harness.ledger, place.record)
    (entry,) = harness.ledger.append(place.id, [Draft(Kind.PLAN_APPROVED, data)], onto=onto)
    write_status(harness, place, PlanStatus.APPROVED)
    return Approval(place, entry, PlanStatus.APPROVED)


def approve_unasked(
    harness: Harness,
    proposal: Proposal,
    yes: bool,
    tell: Callable[[str], None],
    warn: Callable[[tuple[Finding, ...]], None],
) -> Entry:
    """Approve by `--yes`, else by the user's policy; tell what nobody was shown."""
    if proposal.upgrade is not None:
        tell(f"plan `{proposal.place.name}` {OLDER}, and is approved again; {proposal.upgrade}")
    policy = None if yes else "auto_approve"
    entry = approve(harness, proposal, interactive=False, policy=policy).entry
    warn(proposal.warnings)
    return entry


def reject(harness: Harness, place: PlanLocation, note: str) -> Approval:
    """Record a person's no; the plan is a draft again."""
    require_person(harness.environ, harness.home.path)
    history = read_history(harness.ledger, place.id)
    if history.running:
        raise Held(
            f"run `{history.run_id}` of this plan is not over", ways_to_end(harness.ledger, place)
        )
    place.own_vault()
    remember_plan(harness.ledger, place.record)
    learn_secrets(harness, place.id)
    data = {"note": note, "by": user_name()}
    (entry,) = harness.ledger.append(place.id, [Draft(Kind.PLAN_REJECTED, data)])
    write_status(harness, place, PlanStatus.DRAFT)
    return Approval(place, entry, PlanStatus.DRAFT)


def amend_plan(harness: Harness, item: InboxItem, question: Entry, by: str) -> Draft:
    """Write the line into the plan file, and pin the approved plan with the same line.

    Only a plan file that still says what was approved is amended: nobody allows by the way what
    an agent wrote into it.
    """
    from signoff.usecases.create import read_to_edit, replace_text  # noqa: PLC0415 - seldom asked

    place = find_plan(harness.cwd, item.path, environ=harness.environ)
    step = (item.step or "").partition("[")[0]  # the items of a list have one step in the plan
    paths = tuple(question.data["allow"])
    approval = read_history(harness.ledger, question.plan).approval
    before = read_to_edit(harness, place)
    text = with_may_change(place.read(), step, paths)
    pins = read_pins(harness.ledger, approval) if approval is not None else None
    approved = with_may_change(pins.plan_text, step, paths) if pins is not None else None
    if approval is None or pins is None or approved is None or text is None:
        raise _by_hand(item, step, paths, "cannot be added to the plan")
    plan = parse(approved).plan
    if plan_digest(text) != plan.plan_digest:
        raise _by_hand(item, step, paths, "is not added: the plan file is not what was approved")
    replace_text(harness, place, text.encode("utf-8", "surrogateescape"), before.digest)
    amended = replace(pins, plan_text=approved, plan_digest=plan.plan_digest)
    data = {
        **approval.data,
        "plan_digest": plan.plan_digest,
        "pins": harness.ledger.put_blob(amended.to_bytes()),
        "by": by,
        "subject": step,
        "may_change": list(paths),
        "seen": PinWatch.digest_of_edit(plan.plan_digest, pins.config_text),
    }
    return Draft(Kind.PLAN_AMENDED, data, question.run)


def _by_hand(item: InboxItem, step: str, paths: tuple[str, ...], why: str) -> NothingToAnswer:
    line = f"**may_change:** {', '.join(paths)}"
    return NothingToAnswer(
        f"`{line}` {why}",
        f"write it into step {step} yourself, then signoff answer {item.id} revise",
    )
