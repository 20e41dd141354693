"""A small honest plan, and a hostile agent: a real process, driven as `signoff run` drives it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from signoff.domain.ledger import Choice, Entry, Kind, Outcome
from signoff.orchestrator.events import Event
from signoff.storage.ledger import Ledger
from signoff.usecases.harness import Harness, find_plan
from signoff.usecases.inbox import answer
from signoff.usecases.questions import open_items
from signoff.usecases.run import RunOptions, RunReport, run_plan
from signoff.wiring import open_harness
from tests.unconfined import user_file
from tests.warm import SOURCE, run_to_end

PLAN = """\
---
type: plan
status: draft
---

# Make it work
{budget}
## Steps

### 1. Write the product

**target:** coder
{fields}**task:**
Write product.txt.

**contract:**
```shell
{contract}
```
exit_code == 0
**on_fail:** {on_fail}
"""
CONTRACT = "bash tests/check.sh"
CHECK = "cat product.txt; grep -qx works product.txt\n"
HONEST = "echo works > product.txt"


class Direct:
    """The drive without the durable engine, which is slow to load and proved elsewhere."""

    def drive(self, run: str, drive: Callable[[], Outcome | None]) -> Outcome | None:
        del run
        return drive()


class Silence:
    """Nobody watches."""

    def tell(self, event: Event) -> None:
        del event


class Arena:
    """The workspace holds a protected check and no product; the agent's script lies outside."""

    def __init__(
        self,
        base: Path,
        contract: str = CONTRACT,
        fields: str = "**protects:**\n- tests/**\n",
        on_fail: str = "escalate",
        budget: str = "",
    ):
        self.base = base
        self.root = base / "work"
        self.home = base / "home"
        self.loot = base / "loot"  # what the agent carries off, for the test to look at
        for folder in (self.root / "tests", self.loot, base / "user"):
            folder.mkdir(parents=True)
        (self.root / "tests/check.sh").write_text(CHECK)
        (self.root / "tests/data.txt").write_text("data\n")
        self.plan = self.root / "PLAN.md"
        self.plan.write_text(
            PLAN.format(contract=contract, fields=fields, on_fail=on_fail, budget=budget)
        )
        self.agent = base / "agent.sh"
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("SIGNOFF_", "COV_"))}
        self.environ = kept | {
            "HOME": str(base / "user"),
            "PYTHONPATH": SOURCE,
            "SIGNOFF_HOME": str(self.home),
            "SIGNOFF_CONFIG": user_file(base),
        }
        self.plan_id = find_plan(self.root, str(self.plan), self.root).record.id

    @property
    def role(self) -> dict[str, str]:
        return {"coder": f"bash '{self.agent}'"}

    def harness(self) -> Harness:
        return open_harness(self.environ, self.root, self.root, self.role)

    def ledger(self) -> Ledger:
        """Opened from outside the workspace, whatever an agent made of its configuration."""
        return open_harness(self.environ, self.base, self.base).ledger

    def attack(self, script: str) -> RunReport:
        """Run or resume the plan with an agent that does this; variables name what it may want."""
        head = f"ROOT='{self.root}' LOOT='{self.loot}' HOME_FOLDER='{self.home}'\n"
        signoff_command = f"signoff() {{ '{sys.executable}' -m signoff \"$@\"; }}\n"
        python = f"export PYTHONPATH='{self.environ['PYTHONPATH']}'\n"
        self.agent.write_text(f"{head}{signoff_command}{python}{script}\n")
        place = find_plan(self.root, str(self.plan), self.root)
        options = RunOptions(Silence(), Direct, yes=True, roles=self.role)
        return run_plan(self.harness(), place, options)

    def entries(self, kind: Kind) -> list[Entry]:
        """What the ledger recorded of this kind."""
        return [e for e in self.ledger().entries(self.plan_id) if e.kind is kind]

    def verdict(self) -> dict[str, Any]:
        """The newest verdict after an attempt."""
        judged = [e.data for e in self.entries(Kind.VERDICT) if e.data["phase"] == "attempt"]
        return judged[-1]

    def entries_of_attempt(self) -> dict[str, Any]:
        """How the newest attempt itself ended."""
        return self.entries(Kind.ATTEMPT_FINISHED)[-1].data

    def nothing_accepted(self) -> bool:
        """Whether no step was accepted and nothing was signed off."""
        ended = [e.data["outcome"] for e in self.entries(Kind.RUN_FINISHED)]
        return not self.entries(Kind.STEP_DONE) and "done" not in ended

    def questions(self) -> list[str]:
        """What waits for a person."""
        return [item.question for item in open_items(self.ledger())]

    def answer(self, choice: Choice) -> None:
        """A person answers the oldest question."""
        harness = self.harness()
        answer(harness, open_items(harness.ledger)[0].id, choice, "", interactive=True)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The real command line, as a person uses it."""
        command = [sys.executable, "-m", "signoff", *arguments]
        place = self.root if self.root.is_dir() else self.base
        done = run_to_end(command, place, self.environ, 250)
        out, err = done.stdout.decode(), done.stderr.decode()
        return subprocess.CompletedProcess(command, done.returncode, out, err)
