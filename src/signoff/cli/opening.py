"""Open the subject of a verb, with its settings: a plan, a session or the folder around here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from signoff.domain.session import SESSION_ID
from signoff.errors import UsageError
from signoff.places import as_shown
from signoff.settings.roles import HUMAN_ROLE, LOOP, PRESET_PREFIX
from signoff.usecases.harness import Harness, PlanLocation, find_plan, require_used
from signoff.wiring import open_harness, open_to_look


class OpenedPlan(NamedTuple):
    """A plan, and the harness that it is worked on with."""

    harness: Harness
    place: PlanLocation


def open_plan(
    plan: str | None,
    workspace: Path | None = None,
    roles: dict[str, str] | None = None,
    *,
    staged: bool = True,
) -> OpenedPlan:
    """Find the plan, then open home, ledger and the configuration of its workspace.

    Verbs that work on a plan, not only look at it, do not take one that is only staged.
    """
    cwd = Path.cwd()
    place = find_plan(cwd, plan, workspace, even_gone=True, staged=staged)
    if roles:
        require_used(place, roles)
    return OpenedPlan(open_harness(dict(os.environ), cwd, place.workspace, roles), place)


@contextmanager
def look_at_plan(
    plan: str | None, workspace: Path | None, roles: dict[str, str]
) -> Iterator[OpenedPlan]:
    """Open a plan by the files alone: nothing is written, and no home is needed."""
    cwd = Path.cwd()
    environ = as_shown(os.environ)
    place = find_plan(cwd, plan, workspace, environ=environ, staged=True)
    require_used(place, roles)
    with open_to_look(environ, cwd, place.workspace, roles) as harness:
        yield OpenedPlan(harness, place)


def agent_roles(
    plan: str | None, workspace: Path | None, agent: str | None, model: str | None
) -> dict[str, str]:
    """Every role of the plan, played by a known client; none where none was named."""
    if agent is None:
        if model is not None:
            raise UsageError("--model goes with --agent", "signoff run --agent NAME --model NAME")
        return {}
    if agent == LOOP and model is None:
        raise UsageError(
            "`--agent loop` names no model, and signoff's own loop works with any",
            "signoff run --agent loop --model PROVIDER:NAME",
        )
    place = find_plan(Path.cwd(), plan, workspace, even_gone=True)
    targets = () if place.gone else place.parse().plan.roles
    played = f"{PRESET_PREFIX}{agent} {model or ''}".strip()
    return {name: played for name in targets if name != HUMAN_ROLE}


def open_signed(plan: str | None, workspace: Path | None = None) -> OpenedPlan:
    """Open a plan for verbs about a sign-off: PLAN may also be the id of an agent's session."""
    if plan is None or not SESSION_ID.fullmatch(plan):
        return open_plan(plan, workspace)
    from signoff.usecases.sessions import signed_place  # noqa: PLC0415 - seldom needed

    harness = open_session_harness(plan)
    return OpenedPlan(harness, signed_place(harness, plan))


def open_session_harness(session: str) -> Harness:
    """Open the harness with the configuration of the session's own workspace."""
    from signoff.usecases.sessions import find_session_record  # noqa: PLC0415 - seldom needed

    folder = find_session_record(open_here(), session).workspace
    return open_harness(dict(os.environ), Path.cwd(), folder)


def open_here() -> Harness:
    """Open the harness for verbs that are about no single plan."""
    return open_harness(dict(os.environ), Path.cwd(), None)
