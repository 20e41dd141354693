"""What became of the plan file and signoff.toml since approval, and what of that still counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from signoff.domain.escalation import Cause, Choice
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Plan
from signoff.errors import PlanNotFound, PlanUnreadable
from signoff.orchestrator.watch import PinWatch
from signoff.planfile.digest import plan_digest
from signoff.settings.loading import read_config_text, says_the_same
from signoff.usecases.ground.history import PlanHistory
from signoff.usecases.ground.site import PlanPlace
from signoff.usecases.ground.workbench import pin_watch
from signoff.verification.pins import Pins


@dataclass(frozen=True)
class Edits:
    """`difference` is what makes it another plan than the approved one; `notes` are only told."""

    difference: str = ""
    notes: tuple[str, ...] = ()


def edits_since(place: PlanPlace, pins: Pins, plan: Plan, history: PlanHistory) -> Edits:
    """Judge the configuration by what it means to this plan, and by what a person said to it."""
    watch = pin_watch(place, pins)
    edit = watch.edited()
    if edit is None:
        return Edits()
    config = read_config_text(watch.config_path)
    note = "" if config == pins.config_text else _why_harmless(config, place, pins, plan, history)
    if note:
        # As if it had been pinned like this: what is left is about the plan file.
        edit = replace(watch, config_text=config).edited()
    return Edits(edit[1] if edit is not None else "", (note,) if note else ())


def _why_harmless(
    config: str, place: PlanPlace, pins: Pins, plan: Plan, history: PlanHistory
) -> str:
    """Why an edited configuration does not speak against the sign-off; empty when it does."""
    if says_the_same(pins.config_text, config, {step.target for step in plan.steps}):
        return "signoff.toml was edited since approval; nothing that this plan uses differs"
    answers = _answered_with_retry(history)
    # It was noticed together with the plan file, as that was approved or as it is now.
    for digest in (pins.plan_digest, _digest_now(place)):
        answer = answers.get(PinWatch.digest_of_edit(digest, config))
        if answer is not None:
            said = f"{answer.data['by']} answered retry to that ({answer.data['id']})"
            return f"signoff.toml is not what was approved, and {said}; the run went by the pins"
    return ""


def _digest_now(place: PlanPlace) -> str | None:
    try:
        return plan_digest(place.read())
    except (PlanNotFound, PlanUnreadable):
        return None


def _answered_with_retry(history: PlanHistory) -> dict[str, Entry]:
    """The edits that a person saw during the run and said to go on after, by their digest."""
    noticed = ""
    asked: dict[str, str] = {}
    answered: dict[str, Entry] = {}
    for entry in history.entries:
        data = entry.data
        if entry.run != history.run_id:
            continue
        if entry.kind is Kind.PLAN_EDITED:
            noticed = data["digest"]
        elif entry.kind is Kind.ESCALATION_OPENED and data["cause"] == Cause.PLAN_EDITED:
            asked[data["id"]] = noticed
        elif entry.kind is Kind.ESCALATION_ANSWERED and data["choice"] == Choice.RETRY:
            answered[asked.get(data["id"], "")] = entry
    return answered
