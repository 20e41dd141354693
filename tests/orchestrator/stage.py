"""A plan approved for real, and drives of it with an agent that follows a script."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from signoff.domain.ledger import Choice, Draft, Entry, Kind, Outcome
from signoff.domain.redaction import NOTHING_SECRET
from signoff.gate.gate import GateReport, evaluate
from signoff.gate.state import State
from signoff.orchestrator.drive import Drive
from signoff.orchestrator.events import Appended, Event
from signoff.orchestrator.openrun import OpenRun
from signoff.orchestrator.projection import PlanFileProjection
from signoff.planfile.parse import parse
from signoff.settings.loading import settings_from_pin
from signoff.storage.records import Fence, Holder
from signoff.usecases.approve import approve, propose
from signoff.usecases.harness import Harness, PlanLocation, find_plan
from signoff.usecases.inbox import answer
from signoff.usecases.openwork import open_judge, pin_watch
from signoff.usecases.questions import open_items
from signoff.usecases.workspaces import open_pinned_workspace
from signoff.verification.check_runner import CheckRunner
from signoff.verification.guards import Guards
from signoff.verification.pins import Pins
from signoff.wiring import open_harness
from tests.orchestrator.scripted_agent import Act, ScriptedAgent
from tests.unconfined import user_file

Script = Mapping[tuple[str, int], Act]


def step(number: int | str, contract: str, *fields: str, target: str = "coder") -> str:
    """One step of a plan file; `fields` are further lines."""
    lines = [f"### {number}. Step {number}", "", f"**target:** {target}", *fields]
    lines += ["**task:**", f"Do {number}.", "", "**contract:**", "```shell", contract, "```"]
    return "\n".join([*lines, "exit_code == 0", ""])


def post(number: int, contract: str | None) -> str:
    """One postcondition."""
    fence = "" if contract is None else f"\n   ```shell\n   {contract}\n   ```"
    return f"{number}. Promise {number}{fence}\n"


def write(name: str, text: str = "done\n") -> Act:
    """An act that writes a file."""

    def act(workspace: Path) -> None:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return act


@dataclass
class Recorder:
    """A reporter that keeps what it was told, and may act on it."""

    events: list[Event] = field(default_factory=list)
    on_event: Callable[[Event], None] = lambda _: None

    def tell(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    @property
    def kinds(self) -> list[str]:
        """The entries told, as `kind step`."""
        told = [e.entry for e in self.events if isinstance(e, Appended)]
        return [f"{entry.kind} {entry.step or ''}".strip() for entry in told]


class Stage:
    """One workspace, one plan; `drive` is what one driver process would do."""

    def __init__(
        self, base: Path, steps: list[str], posts: list[str] | None = None, head: str = ""
    ):
        self.base = base
        self.root = base / "work"
        self.root.mkdir()
        self.plan = self.root / "PLAN.md"
        text = f"---\nstatus: draft\n---\n\n# A plan\n\n{head}\n\n## Steps\n\n" + "\n".join(steps)
        if posts:
            text += "\n## Postconditions\n\n" + "\n".join(posts)
        self.plan.write_text(text)
        environ = {n: v for n, v in os.environ.items() if not n.startswith("SIGNOFF_")}
        environ |= {"SIGNOFF_HOME": str(base / "home"), "SIGNOFF_CONFIG": user_file(base)}
        self.environ = environ
        self.reporter = Recorder()
        self.run = secrets.token_hex(4)
        self.plan_id = self.place.record.id  # an agent may take the file away
        self.cancelled: Callable[[], bool] = lambda: False
        self._pins: Pins | None = None
        self._agent: ScriptedAgent | None = None

    @property
    def harness(self) -> Harness:
        """Opened afresh, as every process does."""
        return open_harness(self.environ, self.root, self.root, {"coder": "true", "tester": "true"})

    @property
    def place(self) -> PlanLocation:
        return find_plan(self.root, str(self.plan), self.root)

    @property
    def agent(self) -> ScriptedAgent:
        """The agent of the last drive."""
        assert self._agent is not None
        return self._agent

    def write(self, name: str, text: str = "done\n") -> None:
        """Put a file into the workspace."""
        write(name, text)(self.root)

    def drive(self, script: Script | None = None, **changes: Any) -> Outcome | None:
        """Approve the first time, then drive until the run is over or waits."""
        return Drive(self.work(script, **changes)).drive()

    def work(self, script: Script | None = None, **changes: Any) -> OpenRun:
        """What the next driver of the run works with; `changes` replace parts of it."""
        harness, place = self.harness, self.place
        fence = self._begin(harness, place)
        assert self._pins is not None
        plan = parse(self._pins.plan_text).plan
        workspace = open_pinned_workspace(harness, place, self._pins, plan)
        self._agent = ScriptedAgent(script or {})
        bench = CheckRunner(self._pins.search_path, harness.environ, self.cancelled)
        work = OpenRun(
            plan_id=place.record.id,
            run=self.run,
            plan=plan,
            plan_path=self.plan,
            pins=self._pins,
            settings=settings_from_pin(self._pins.settings),
            state=State(plan, self.run),
            root=self.root,
            exchange=harness.home.logs / "attempts",
            ledger=harness.ledger,
            fence=fence,
            workspace=workspace,
            judge=open_judge(harness, place, self._pins, workspace, bench, NOTHING_SECRET),
            guards=Guards(self._pins, workspace),
            agent=self._agent,
            projection=PlanFileProjection(self.plan),
            watch=pin_watch(place, self._pins),
            reporter=self.reporter,
            read_topic=lambda _: None,
            cancelled=self.cancelled,
        )
        return replace(work, **changes)

    def entries(self, kind: Kind | None = None) -> list[Entry]:
        """The run's ledger."""
        found = self.harness.ledger.entries(self.plan_id)
        return [e for e in found if kind is None or e.kind is kind]

    def story(self) -> list[str]:
        """The run's ledger in short: kind, step, and what counts about it."""
        return [_short(e) for e in self.entries() if e.run is not None]

    def gate(self) -> GateReport:
        """What the gate says now."""
        work = self.work()
        drive = Drive(work)
        drive.catch_up()
        return evaluate(drive.state, work.workspace.snapshot().digest)

    def questions(self) -> list[str]:
        """What waits for a person."""
        return [item.question for item in open_items(self.harness.ledger)]

    def answer(self, choice: Choice, note: str = "") -> None:
        """Answer the oldest question as a person would."""
        harness = self.harness
        answer(harness, open_items(harness.ledger)[0].id, choice, note, interactive=True)

    def heading(self, number: int | str) -> str:
        """The step's heading in the plan file."""
        wanted = f"### {number}."
        return next(ln for ln in self.plan.read_text().split("\n") if ln.startswith(wanted))

    def status(self) -> str:
        """The status line in the plan file."""
        text = self.plan.read_text()
        return next(ln for ln in text.split("\n") if ln.startswith("status:"))

    def _begin(self, harness: Harness, place: PlanLocation) -> Fence:
        holder = Holder.current(str(self.plan))
        if self._pins is not None:
            return harness.ledger.take_over(self.run, holder)
        proposal = propose(harness, place)
        entry = approve(harness, proposal, interactive=False).entry
        self._pins = proposal.pins
        fence = harness.ledger.begin_run(place.record.id, self.run, holder)
        data = {"pins": entry.data["pins"], "plan_digest": entry.data["plan_digest"]}
        started = Draft(Kind.RUN_STARTED, data, run=self.run)
        harness.ledger.append(place.record.id, [started], fence=fence)
        return fence


def _short(entry: Entry) -> str:
    words = [str(entry.kind), entry.step or ""]
    if entry.kind is Kind.VERDICT:
        words += [entry.data["phase"], entry.data["result"]]
        words += ["reused"] if entry.data["reused_from"] else []
    elif entry.kind is Kind.ESCALATION_OPENED:
        words.append(entry.data["cause"])
    elif entry.kind is Kind.RUN_FINISHED:
        words.append(entry.data["outcome"])
    elif entry.attempt is not None:
        words.append(str(entry.attempt) + (" lost" if entry.data.get("lost") else ""))
    return " ".join(word for word in words if word)
