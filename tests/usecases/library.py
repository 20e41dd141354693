"""The use cases as a program would call them: no command line, no durable engine, real files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from signoff.domain.ledger import Outcome
from signoff.orchestrator.events import Event
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.run import RunOptions, RunReport, run_plan
from signoff.wiring import open_harness
from tests.cli.plans import Step, plan_text
from tests.unconfined import user_file


class PlainEngine:
    """Drives in the caller's own thread; what the ledger says is all there is to go by."""

    def drive(self, run: str, drive: Callable[[], Outcome | None]) -> Outcome | None:
        """Drive the run once."""
        assert run
        return drive()


@dataclass
class Listener:
    """A reporter that only remembers."""

    events: list[Event] = field(default_factory=list)

    def tell(self, event: Event) -> None:
        """Remember it."""
        self.events.append(event)


@dataclass(frozen=True)
class Library:
    """A workspace with a plan, and the site it is worked on from."""

    folder: Path
    script: str = "echo firm > ground"
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        """Where the agent works."""
        return self.folder / "work"

    def plan(self, *steps: Step) -> Library:
        """Write the plan."""
        self.workspace.mkdir(exist_ok=True)
        (self.workspace / "PLAN.md").write_text(plan_text(steps))
        return self

    def open(self, **variables: str) -> tuple[Harness, PlanLocation]:
        """What every use case gets."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "SIGNOFF_HOME": str(self.folder / "home"),
            "SIGNOFF_CONFIG": user_file(self.folder),
            **variables,
        }
        place = find_plan(self.workspace, "PLAN.md")
        agent = self.folder / "agent.sh"
        agent.write_text(self.script)
        roles = {"coder": f"bash {agent}"}
        return open_harness(environ, self.workspace, place.workspace, roles), place

    def run(
        self, listener: Listener | None = None, cancelled: Callable[[], bool] = lambda: False
    ) -> RunReport:
        """Run or resume the plan, approved without asking."""
        harness, place = self.open()
        told = listener or Listener()
        options = RunOptions(told, PlainEngine, yes=True, cancelled=cancelled)
        return run_plan(harness, place, options)
