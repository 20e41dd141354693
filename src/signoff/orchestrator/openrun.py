"""Everything one run works with: what was pinned, where it works, and whom it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from signoff.agents.assignment import Assignment, AttemptReport
from signoff.domain.facts import SessionWork
from signoff.domain.ledger import GENESIS
from signoff.domain.plan import Plan
from signoff.domain.verdict import Isolation
from signoff.gate.state import State
from signoff.orchestrator.events import Reporter
from signoff.orchestrator.projection import PlanFileProjection
from signoff.orchestrator.watch import PinWatch
from signoff.settings.loading import Settings
from signoff.storage.ledger import Ledger
from signoff.storage.records import Fence
from signoff.verification.guards import Guards
from signoff.verification.judge import Judge
from signoff.verification.pins import Pins
from signoff.workspace.workspace import Workspace


class AttemptAgent(Protocol):
    """Whoever does the work of an attempt."""

    def work(self, assignment: Assignment) -> AttemptReport:
        """Do it, and return when everything that was started has ended."""


@dataclass(frozen=True)
class OpenRun:
    """One run, ready to be driven: the plan is held, and this driver's fence is the newest."""

    plan_id: str
    run: str
    plan: Plan
    plan_path: Path
    pins: Pins
    settings: Settings
    state: State  # of this run, as far as the ledger was read; the drive folds the rest
    root: Path
    exchange: Path
    ledger: Ledger
    fence: Fence
    workspace: Workspace
    judge: Judge
    guards: Guards
    agent: AttemptAgent
    projection: PlanFileProjection
    watch: PinWatch
    reporter: Reporter
    read_topic: Callable[[str], str | None]
    cancelled: Callable[[], bool]
    agent_isolation: Isolation = Isolation.NONE
    last_hash: str = GENESIS  # of the last entry that `state` knows
    session: SessionWork | None = None  # did the steps already; they are judged, given to nobody
    ousted: Callable[[], bool] = lambda: False  # somebody else holds the plan by now
    make_room: Callable[[], bool] = lambda: False  # gives the home's reserve back to a full disk
