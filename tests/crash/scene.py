"""A plan, a scripted agent and the real command line, all in one temporary folder.

The plan makes a run go everywhere a driver can die: a step that is claimed before it is done, a
`for_each` list, a step that breaks an earlier one, a final sweep and a postcondition.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import signoff
from tests.unconfined import user_file

PATIENCE_S = 120.0
TOKENS_EACH, USD_EACH = 10, 0.25
# How often a run without any crash dispatches each step: the lie, the work and the repair of 1.
ATTEMPTS = {"1": 3, "2[a]": 1, "2[b]": 1, "3": 1}

PLAN = """\
---
type: plan
status: draft
---

# Build a house

## Steps

### 1. Lay the ground

**target:** coder
**task:**
Write ground.txt.

**contract:**
```shell
grep -qx firm ground.txt
```
exit_code == 0
**on_fail:** retry(9), then escalate

### 2. Write {item}

**target:** coder
**for_each:**
```shell
cat list.txt
```
**task:**
Write rooms/{item}.

**contract:**
```shell
test -s rooms/{item}
```
exit_code == 0
**on_fail:** retry(9), then escalate

### 3. Put the roof on

**target:** coder
**task:**
Write roof.txt.

**contract:**
```shell
test -s roof.txt
```
exit_code == 0
**on_fail:** retry(9), then escalate

## Postconditions

1. The house stands
   ```shell
   test -s ground.txt && test -s roof.txt && test "$(ls rooms | wc -l)" -eq 2
   ```
"""

# Every attempt leaves a daemon behind that cleared its environment and left its session.
AGENT = """\
life="${0%/*}/life"
cat > /dev/null
echo "$SIGNOFF_ATTEMPT" >> "$life/journal"
setsid env -i TAIL -f "$life/journal" > /dev/null 2>&1 < /dev/null &
echo '{"tokens": 10, "usd": 0.25}' > "$SIGNOFF_USAGE_FILE"
sleep PACE
case "$SIGNOFF_STEP" in
1)
  if [ -e "$life/lied" ]; then echo firm > ground.txt; else : > "$life/lied"; fi ;;
2*)
  mkdir -p rooms
  room="${SIGNOFF_STEP#2[}"
  echo walls > "rooms/${room%]}" ;;
3)
  [ -e "$life/broke" ] || { : > "$life/broke"; rm -f ground.txt; }
  echo tiles > roof.txt ;;
esac
echo "I am done."
"""


@dataclass(frozen=True)
class Ended:
    """One command that came to its end, or to ours."""

    code: int
    stdout: str
    stderr: str

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Ledger entries that `run --json` acknowledged; a line cut off by the kill is none."""
        return [line for line in _json_lines(self.stdout) if "seq" in line]

    @property
    def report(self) -> dict[str, Any]:
        """How `run --json` says it stands at the end: the same as `status --json`."""
        reports = [line["report"] for line in _json_lines(self.stdout) if "report" in line]
        assert len(reports) == 1, self
        found: dict[str, Any] = reports[0]
        return found

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.stdout)


@dataclass
class Running:
    """A command that was started and not waited for."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def acknowledged(self) -> int:
        """How many entries it wrote so far; cheap enough to be asked all the time."""
        return self.out.read_bytes().count(b'"seq": ')

    def entries(self) -> list[dict[str, Any]]:
        """What it acknowledged so far."""
        return [line for line in _json_lines(self.out.read_text()) if "seq" in line]

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition while the command runs."""
        wait_until(lambda: condition() or self.process.poll() is not None)
        assert condition(), f"it ended first: {self.end()}"

    def end(self) -> Ended:
        """Wait for its end."""
        code = self.process.wait(timeout=PATIENCE_S)
        return Ended(code, self.out.read_text(), self.err.read_text())


@dataclass
class Scene:
    """Everything one test needs; `close` leaves no process behind."""

    folder: Path
    database_url: str | None = None
    home: Path = field(default=Path())
    plan_text: str = PLAN
    agent_text: str = AGENT
    pace_s: float = 0.0
    _started: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = self.folder / "home" if self.home == Path() else self.home
        self.workspace.mkdir(parents=True)
        self.life.mkdir()
        (self.workspace / "list.txt").write_text("a\nb\n")
        self.plan.write_text(self.plan_text)
        tail = shutil.which("tail") or "tail"
        agent = self.agent_text.replace("TAIL", tail).replace("PACE", str(self.pace_s))
        self.agent.write_text(agent)

    @property
    def workspace(self) -> Path:
        """Where the agent works."""
        return self.folder / "work"

    @property
    def plan(self) -> Path:
        """The plan file."""
        return self.workspace / "PLAN.md"

    @property
    def agent(self) -> Path:
        """The agent's script, outside the workspace."""
        return self.folder / "agent.sh"

    @property
    def life(self) -> Path:
        """What the agent itself remembers, and what names its processes."""
        return self.folder / "life"

    def start(
        self, *arguments: str, crash_at: str | None = None, plan: Path | None = None
    ) -> Running:
        """Start a signoff command about the plan."""
        verb, *rest = arguments
        about = [verb, str(plan or self.plan), "--workspace", str(self.workspace)]
        return self._start([*about, *rest], crash_at)

    def start_run(self, crash_at: str | None = None, plan: Path | None = None) -> Running:
        """The command that runs the plan, and resumes it."""
        role = f"coder=bash {self.agent}"
        return self.start("run", "--yes", "--json", "--role", role, crash_at=crash_at, plan=plan)

    def run(self, crash_at: str | None = None) -> Ended:
        """Run or resume to the end."""
        return self.start_run(crash_at).end()

    def command(self, *arguments: str) -> Ended:
        """Any other command, to its end."""
        return self.start(*arguments).end()

    def answer(self, question: str, choice: str) -> Ended:
        """A person's answer."""
        return self._start(["answer", question, choice]).end()

    def log(self) -> list[dict[str, Any]]:
        """The ledger."""
        ended = self.command("log", "--json")
        assert ended.code == 0, ended
        return ended.entries

    def journal(self) -> list[str]:
        """The attempts that agents were really started for, in their own words."""
        path = self.life / "journal"
        return path.read_text().split() if path.exists() else []

    def processes(self) -> list[int]:
        """Agents and their daemons that are alive."""
        agent, life = str(self.agent).encode(), str(self.life).encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (path / "cmdline").read_bytes().split(b"\0")
                if agent in words or any(word.startswith(life) for word in words):
                    found.append(int(path.name))
        return found

    def kill_agents(self) -> None:
        """What a power cut does to them."""
        while pids := self.processes():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """End everything this scene started."""
        for running in self._started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        self.kill_agents()

    def _start(self, arguments: list[str], crash_at: str | None = None) -> Running:
        """As leader of a process group of its own, with its output in files."""
        number = len(self._started)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "signoff", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=self._environment(crash_at),
                start_new_session=True,
            )
        running = Running(process, out, err)
        self._started.append(running)
        return running

    def _environment(self, crash_at: str | None) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("SIGNOFF_", "COV_"))}
        # The commands start in other folders; a relative PYTHONPATH would lead nowhere.
        kept["PYTHONPATH"] = str(Path(signoff.__file__).parents[1])
        kept["SIGNOFF_HOME"] = str(self.home)
        kept["SIGNOFF_CONFIG"] = user_file(self.folder)
        if self.database_url is not None:
            kept["SIGNOFF_DATABASE"] = self.database_url
        if crash_at is not None:
            kept["SIGNOFF_CRASH_AT"] = crash_at
        return kept


def wait_until(condition: Callable[[], bool]) -> None:
    """Until it holds; fails after a generous while."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up, "it never came true"
        time.sleep(0.01)


def _json_lines(text: str) -> list[dict[str, Any]]:
    lines = []
    for line in text.split("\n")[:-1]:
        with suppress(ValueError):
            lines.append(json.loads(line))
    return lines
