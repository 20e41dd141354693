"""`answer ID allow`: the line that lets a step change more files, written and pinned."""

from __future__ import annotations

from dataclasses import replace

from signoff.domain.ledger import Draft, Entry, Kind
from signoff.errors import NothingToAnswer
from signoff.orchestrator.watch import PinWatch
from signoff.planfile.amend import with_may_change
from signoff.planfile.parse import parse
from signoff.usecases.edit import read_to_edit, replace_text
from signoff.usecases.ground.history import read_history, read_pins
from signoff.usecases.ground.questions import Item
from signoff.usecases.ground.site import Site, find_plan


def amend_plan(site: Site, item: Item, question: Entry, by: str) -> Draft:
    """Write the line into the plan file, and pin the approved plan with the same line.

    Only a plan file that still says what was approved is amended: nobody allows by the way what
    an agent wrote into it.
    """
    place = find_plan(site.cwd, item.path, environ=site.environ)
    step = (item.step or "").partition("[")[0]  # the items of a list have one step in the plan
    paths = tuple(question.data["allow"])
    approval = read_history(site.ledger, question.plan).approval
    before = read_to_edit(site, place)
    text = with_may_change(place.read(), step, paths)
    pins = read_pins(site.ledger, approval) if approval is not None else None
    approved = with_may_change(pins.plan_text, step, paths) if pins is not None else None
    if approval is None or pins is None or approved is None or text is None:
        raise _by_hand(item, step, paths, "cannot be added to the plan")
    plan = parse(approved).plan
    if parse(text).plan.plan_digest != plan.plan_digest:
        raise _by_hand(item, step, paths, "is not added: the plan file is not what was approved")
    replace_text(site, place, text.encode("utf-8", "surrogateescape"), before.digest)
    amended = replace(pins, plan_text=approved, plan_digest=plan.plan_digest)
    data = {
        **approval.data,
        "plan_digest": plan.plan_digest,
        "pins": site.ledger.put_blob(amended.to_bytes()),
        "by": by,
        "subject": step,
        "may_change": list(paths),
        "seen": PinWatch.digest_of_edit(plan.plan_digest, pins.config_text),
    }
    return Draft(Kind.PLAN_AMENDED, data, question.run)


def _by_hand(item: Item, step: str, paths: tuple[str, ...], why: str) -> NothingToAnswer:
    line = f"**may_change:** {', '.join(paths)}"
    return NothingToAnswer(
        f"`{line}` {why}",
        f"write it into step {step} yourself, then signoff answer {item.id} revise",
    )
