"""How the calls of a session are run: the user's limits, and where what must last is kept."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import signoff
from signoff.agents.loop.acting import Batching
from signoff.agents.session import PlanSession
from signoff.domain.ledger import Draft, Kind
from signoff.process.shell import find_tool
from signoff.storage.ledger import Ledger
from signoff.toolbatch.checkers import Thresholds
from signoff.toolbatch.deriving import CHECKER, CheckSources
from signoff.toolbatch.events import Event, Responded
from signoff.toolbatch.kept import LedgerShelf
from signoff.toolbatch.moments import WorkspaceSnapshots
from signoff.toolbatch.opening import Parts
from signoff.toolbatch.paths import declared
from signoff.toolbatch.view import BatchLimits
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.sessions.watching import WorkspaceWatch

LONGEST_TEXT = 2_000  # of what a person was told when a turn was halted


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
    parts = Parts(steering=policy.steering, limits=limits)
    if session is None:
        return Batching(parts, policy.confidence)
    steps = bound.parse().plan.steps if bound is not None else ()
    thin = Thresholds(policy.thin_words, policy.thin_sections)
    sources = CheckSources(checker=checker_command(search_path, thin))
    parts = replace(
        parts,
        planned=declared(path for step in steps for path in step.produces),
        derives=bound is None,  # a person's contracts decide about a person's plan
        books=session,
        shelf=LedgerShelf(site.ledger, session.id),
        snapshots=WorkspaceSnapshots(watch.workspace) if watch is not None else None,
        sources=sources if bound is None else None,
        thresholds=thin,
    )
    return Batching(parts, policy.confidence, (HaltRecord(site.ledger, session.id),))


class HaltRecord:
    """A subscriber: a turn that the runtime ended is on record as a failure."""

    def __init__(self, ledger: Ledger, session: str):
        self._ledger, self._session = ledger, session

    def __call__(self, event: Event) -> None:
        """Write it down, if it is one."""
        if isinstance(event, Responded) and event.failed:
            data = {"text": event.text[:LONGEST_TEXT]}
            self._ledger.append(self._session, [Draft(Kind.TURN_HALTED, data)])


def checker_command(search_path: str, thin: Thresholds) -> str:
    """How contracts run checkers; not on their search path, signoff starts as this process did.

    Never from the folder it starts in: an agent could have put another one there.
    """
    asked = f"{CHECKER}{f' --thin-words {thin.words}' if thin.words else ''}"
    asked += f" --thin-sections {thin.sections}" if thin.sections else ""
    if find_tool("signoff", search_path) is not None:
        return asked
    source = Path(signoff.__file__).parents[1]
    words = [f"PYTHONPATH={shlex.quote(str(source))}", shlex.quote(sys.executable), "-P", "-m"]
    return " ".join([*words, asked])
