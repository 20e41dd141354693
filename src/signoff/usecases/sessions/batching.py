"""How the calls of a session are run: the user's limits, and where what must last is kept."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import signoff
from signoff.agents.loop.acting import Batching
from signoff.agents.session import PlanSession
from signoff.process.shell import find_tool
from signoff.toolbatch.deriving import CHECKER
from signoff.toolbatch.judging import Court
from signoff.toolbatch.keeping import HaltRecord, LedgerBook
from signoff.toolbatch.kept import LedgerShelf
from signoff.toolbatch.moments import WorkspaceSnapshots
from signoff.toolbatch.paths import declared
from signoff.toolbatch.view import BatchLimits
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.sessions.watching import WorkspaceWatch


def batching_of(
    site: Site,
    session: PlanSession | None,
    watch: WorkspaceWatch | None,
    search_path: str,
    bound: PlanPlace | None = None,
) -> Batching:
    """With a session, on its chain of the ledger; without one, for as long as the process lives."""
    policy = (session.policy if session is not None else site.settings.agent).batches
    chosen: dict[str, Any] = dict(policy.limits)
    limits = BatchLimits(**chosen)
    if session is None:
        return Batching(policy.steering, limits)
    steps = bound.parse().plan.steps if bound is not None else ()
    court = Court(session.workspace, session.checks, checker=checker_command(search_path))
    return Batching(
        steering=policy.steering,
        limits=limits,
        planned=declared(path for step in steps for path in step.produces),
        book=LedgerBook(site.ledger, session.id),
        shelf=LedgerShelf(site.ledger, session.id),
        snapshots=WorkspaceSnapshots(watch.workspace) if watch is not None else None,
        # A person's contracts decide about a person's plan, and nothing beside them.
        court=None if bound is not None else court,
        subscribers=(HaltRecord(site.ledger, session.id),),
    )


def checker_command(search_path: str) -> str:
    """How contracts run checkers; not on their search path, signoff starts as this process did.

    Never from the folder it starts in: an agent could have put another one there.
    """
    if find_tool("signoff", search_path) is not None:
        return CHECKER
    source = Path(signoff.__file__).parents[1]
    words = [f"PYTHONPATH={shlex.quote(str(source))}", shlex.quote(sys.executable), "-P", "-m"]
    return " ".join([*words, CHECKER])
