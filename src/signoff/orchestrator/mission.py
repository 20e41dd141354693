"""Everything one run works with: what was pinned, where it works, and whom it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from signoff.agents.assignment import Assignment, Report
from signoff.domain.facts import SessionWork
from signoff.domain.plan import Plan, PlanStatus
from signoff.domain.verdict import Isolation
from signoff.gate.state import State
from signoff.orchestrator.events import Reporter
from signoff.settings.loading import Settings
from signoff.storage.ledger import Ledger
from signoff.storage.records import Fence
from signoff.verification.guards import Guards
from signoff.verification.judge import Judge
from signoff.verification.pins import Pins
from signoff.workspace.workspace import Workspace


class Agent(Protocol):
    """Whoever does the work of an attempt."""

    def work(self, assignment: Assignment) -> Report:
        """Do it, and return when everything that was started has ended."""


class Projection(Protocol):
    """Writes marks and status back into the plan file."""

    unwritten: str  # why the file does not show the latest; empty when it does

    def show(self, state: State, status: PlanStatus, *, now: bool) -> None:
        """Bring the file up to date; unless `now`, at most once in a while."""


class Watch(Protocol):
    """Notices edits behind the pins."""

    def edited(self) -> tuple[str, str] | None:
        """The digest of what is there instead of what was pinned, and the difference; or None."""

    def question(self) -> str:
        """What a person is asked about it."""


@dataclass(frozen=True)
class Mission:
    """One run, ready to be driven."""

    plan_id: str
    run: str
    plan: Plan
    plan_path: Path
    pins: Pins
    settings: Settings
    root: Path
    exchange: Path
    ledger: Ledger
    fence: Fence
    workspace: Workspace
    judge: Judge
    guards: Guards
    agent: Agent
    projection: Projection
    watch: Watch
    reporter: Reporter
    read_topic: Callable[[str], str | None]
    cancelled: Callable[[], bool]
    agent_isolation: Isolation = Isolation.NONE
    session: SessionWork | None = (
        None  # did the steps already; they are judged, and given to nobody
    )
    ousted: Callable[[], bool] = lambda: False  # somebody else holds the plan by now
    make_room: Callable[[], bool] = lambda: False  # gives the home's reserve back to a full disk
