"""Whether an agent may work on a person's plan in a session; and which plan a session worked on."""

from __future__ import annotations

import shlex

from signoff.domain.plan import PlanStatus
from signoff.errors import Held, NoSuchRun, NotApproved, UsageError
from signoff.usecases.history import read_history
from signoff.usecases.pinning import refuse_foreign_worktree
from signoff.usecases.ready import refuse_unready
from signoff.usecases.sessions.sittings import find_sitting, plan_of
from signoff.usecases.site import PlanPlace, Site


def require_workable(site: Site, place: PlanPlace) -> None:
    """Only a plan that a person approved as it is now, and that is neither running nor done."""
    history = read_history(site.ledger, place.record.id)
    status = history.status(place.parse().plan.plan_digest)
    named = shlex.quote(place.record.name or str(place.path))
    if status is PlanStatus.IN_PROGRESS:
        raise Held(
            f"run `{history.run_id}` of plan `{place.name}` is not over",
            f"signoff run {named}, or signoff cancel {named}",
        )
    if status is PlanStatus.DONE:
        raise UsageError(
            f"plan `{place.name}` is signed off already",
            f"signoff approve {named}, to have it worked on once more",
        )
    if status not in (PlanStatus.APPROVED, PlanStatus.FAILED):
        raise NotApproved(
            f"plan `{place.name}` is not approved as it is now, so nobody works on it",
            f"signoff approve {named}",
        )
    refuse_foreign_worktree(site, place)
    refuse_unready(site, place, "run")


def plan_of_past(site: Site, session: str) -> PlanPlace | None:
    """The person's plan of a session that is resumed."""
    try:
        return plan_of(site, find_sitting(site, session))
    except NoSuchRun:
        return None  # it was begun without a plan, or there is none: its transcript says
