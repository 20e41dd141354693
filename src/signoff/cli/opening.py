"""What verbs work on: a plan, a session or the folder around here, opened with its settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from signoff.domain.session import SESSION_ID
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.wiring import open_harness


class OpenedPlan(NamedTuple):
    """A plan, and the harness that it is worked on with."""

    harness: Harness
    place: PlanLocation


def open_plan(
    plan: str | None, workspace: Path | None = None, roles: dict[str, str] | None = None
) -> OpenedPlan:
    """Find the plan, then open home, ledger and the configuration of its workspace."""
    cwd = Path.cwd()
    place = find_plan(cwd, plan, workspace, even_gone=True)
    return OpenedPlan(open_harness(dict(os.environ), cwd, place.workspace, roles), place)


def open_signed(plan: str | None, workspace: Path | None = None) -> OpenedPlan:
    """The same for verbs about a sign-off: PLAN may also be the id of an agent's session."""
    if plan is None or not SESSION_ID.fullmatch(plan):
        return open_plan(plan, workspace)
    from signoff.usecases.session_records import signed_place  # noqa: PLC0415 - seldom needed

    harness = open_session_harness(plan)
    return OpenedPlan(harness, signed_place(harness, plan))


def open_session_harness(session: str) -> Harness:
    """With the configuration of the session's own workspace."""
    from signoff.usecases.session_records import find_session_record  # noqa: PLC0415 - seldom needed

    folder = find_session_record(open_here(), session).workspace
    return open_harness(dict(os.environ), Path.cwd(), folder)


def open_here() -> Harness:
    """For verbs that are about no single plan."""
    return open_harness(dict(os.environ), Path.cwd(), None)
