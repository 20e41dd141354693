"""A workspace, a plan and a home of their own, and the real command line run in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import signoff
from signoff.domain.verdict import Isolation

IDLE_AGENT = "bash --noprofile --norc -c true"
WORKING_AGENT = "bash --noprofile --norc -c ': > made/$SIGNOFF_STEP'"
SMALL_WORKSPACE_FILES = 20

Contract = Callable[[int], str]


class Window(NamedTuple):
    """The part of a run between its first verdict and its end."""

    seconds: float
    processes: int


def holds_already(number: int) -> str:
    """A contract of its own for each step that nothing has to be done for."""
    return f"test -d . && test ! -e absent-{number}"


def wants_work(number: int) -> str:
    """A contract that holds once the agent has made its file."""
    return f"test -f made/{number}"


def plan_text(steps: int, contract: Contract, needs: str = "") -> str:
    """A plan whose steps differ only in their number."""
    needed = f"**needs:** {needs}\n" if needs else ""
    body = "\n".join(
        f"### {n}. Step {n}\n\n**target:** coder\n{needed}**task:**\nDo part {n}.\n\n"
        f"**contract:**\n```shell\n{contract(n)}\n```\nexit_code == 0\n"
        for n in range(1, steps + 1)
    )
    return f"# A plan of {steps} steps\n\n## Steps\n\n{body}"


class Scene:
    """Everything below one folder; the command line is a separate process, as for a person."""

    def __init__(
        self,
        folder: Path,
        steps: int,
        contract: Contract,
        agent: str,
        isolation: Isolation | None = Isolation.NONE,
        *,
        jobs: int = 1,
        needs: str = "",
    ):
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self._bytecode = folder.parent / "bytecode"
        self.agent = agent
        self._jobs = jobs
        (self.workspace / "src").mkdir(parents=True)
        (self.workspace / "made").mkdir()
        for number in range(SMALL_WORKSPACE_FILES):
            (self.workspace / "src" / f"part-{number}.txt").write_text(f"{number}\n" * 20)
        (self.workspace / "PLAN.md").write_text(plan_text(steps, contract, needs))
        # The floor is bare spawns, so as a rule there is no sandbox; what one costs is `judging`.
        # Lanes need one; None is what a user has who configures nothing.
        default = jobs > 1 or isolation is None
        self._config = folder / "config.toml"
        # Its contracts hold before the work: what is measured is the harness.
        policy = '[policy]\nheld_before = "allow"\n'
        sandbox = "" if default else f'[sandbox]\nisolation = "{isolation}"\n'
        self._config.write_text(policy + sandbox)

    @property
    def env(self) -> dict[str, str]:
        """The caller's, with this package, a home of the scene's own, and compiled modules kept.

        An installed program does not compile itself at every start, whatever the caller's
        environment says.
        """
        package = Path(str(signoff.__file__)).resolve().parents[1]
        ours = {
            "SIGNOFF_HOME": str(self.home),
            "SIGNOFF_CONFIG": str(self._config),
            "PYTHONPATH": str(package),
            "PYTHONPYCACHEPREFIX": str(self._bytecode),
        }
        kept = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
        return kept | ours

    def argv(self, verb: str, *options: str) -> tuple[str, ...]:
        """The command line of one verb about the plan."""
        return (sys.executable, "-m", "signoff", verb, "PLAN.md", *options)

    def start_run(self) -> subprocess.Popen[str]:
        """`signoff run` with its events on a pipe."""
        return subprocess.Popen(
            self.argv(
                *("run", "--yes", "--json", "--jobs", str(self._jobs)),
                *("--role", f"coder={self.agent}"),
            ),
            cwd=self.workspace,
            env=self.env,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self) -> None:
        """Run the plan to its end, which must be a sign-off."""
        process = self.start_run()
        process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"a run for the benchmark ended with exit code {process.returncode}")

    def entries(self) -> list[dict[str, Any]]:
        """The ledger, as `signoff log --json` prints it."""
        done = subprocess.run(
            self.argv("log", "--json"),
            cwd=self.workspace,
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]


def window_of(entries: list[dict[str, Any]]) -> Window:
    """From the ledger's own times, so that start-up does not count; all processes that ran in it.

    A verdict that was reused started none.
    """
    first = next(i for i, e in enumerate(entries) if e["kind"] == "verdict")
    last = next(e for e in entries if e["kind"] == "run.finished")
    processes = sum(
        e["kind"] == "attempt.finished"
        or (e["kind"] == "verdict" and e["data"].get("reused_from") is None)
        for e in entries[first + 1 :]
    )
    began, ended = (datetime.fromisoformat(e["at"]) for e in (entries[first], last))
    return Window((ended - began).total_seconds(), processes)
