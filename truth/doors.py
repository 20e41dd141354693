"""The ways into the product: as a library in this process, and the real command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from signoff.domain.ledger import Choice, Outcome
from signoff.domain.verdict import Result
from signoff.errors import Exit, SignoffError
from signoff.orchestrator.events import Event
from signoff.usecases.audit import audit_plan
from signoff.usecases.harness import Harness, find_plan
from signoff.usecases.inbox import answer
from signoff.usecases.questions import open_items
from signoff.usecases.run import RunOptions, run_plan
from signoff.wiring import open_harness

COMMAND_LIMIT_S = 120
RESULT_OF: Mapping[int, Result] = {
    Exit.YES: Result.KEPT,
    Exit.NOT_DONE: Result.BROKEN,
    Exit.CANNOT_JUDGE: Result.UNKNOWN,
}


class Ended(NamedTuple):
    """How a run ended or paused: the exit code says which; an error has a code and a message."""

    exit_code: int
    error: str = ""
    message: str = ""

    @property
    def waits(self) -> bool:
        """Whether a person is asked."""
        return self.exit_code == Exit.WAITING and not self.error

    def __str__(self) -> str:
        said = f", error `{self.error}`: {self.message}" if self.error else ""
        return f"exit {self.exit_code}{said}"


class Entrance(Protocol):
    """What a case needs of the product."""

    def run(self) -> Ended:
        """Run or resume the plan."""

    def answer(self, choice: Choice) -> None:
        """Answer the oldest question."""

    def audit(self) -> Result | None:
        """What an audit says; None when it ends in an error."""


class _Direct:
    """The drive without the durable engine, which is slow to load and proved elsewhere."""

    def drive(self, run: str, drive: Callable[[], Outcome | None]) -> Outcome | None:
        del run
        return drive()


class _Silence:
    """Nobody watches."""

    def tell(self, event: Event) -> None:
        del event


@dataclass(frozen=True)
class Library:
    """The use cases, called as the command line calls them."""

    environ: Mapping[str, str]
    cwd: Path
    plan: str
    roles: Mapping[str, str]
    jobs: int | None = None

    def run(self) -> Ended:
        """`signoff run --yes`."""
        try:
            place = find_plan(self.cwd, self.plan)
            options = RunOptions(_Silence(), _Direct, yes=True, roles=self.roles, jobs=self.jobs)
            outcome = run_plan(self._harness(), place, options).outcome
        except SignoffError as error:
            return Ended(int(error.exit_code), error.code, error.message)
        if outcome is None:
            return Ended(int(Exit.WAITING))
        return Ended(int(Exit.YES if outcome is Outcome.DONE else Exit.NOT_DONE))

    def answer(self, choice: Choice) -> None:
        """`signoff answer`."""
        harness = self._harness()
        answer(harness, open_items(harness.ledger)[0].id, choice, "", interactive=True)

    def audit(self) -> Result | None:
        """`signoff audit`."""
        try:
            return audit_plan(self._harness(), find_plan(self.cwd, self.plan)).result
        except SignoffError:
            return None

    def _harness(self) -> Harness:
        workspace = find_plan(self.cwd, self.plan).workspace
        return open_harness(self.environ, self.cwd, workspace, self.roles)


@dataclass(frozen=True)
class CommandLine:
    """The real commands, each in a process of its own."""

    environ: Mapping[str, str]
    cwd: Path
    plan: str
    roles: Mapping[str, str]
    jobs: int | None = None

    def run(self) -> Ended:
        """`signoff run --yes`."""
        roles = [word for name, line in self.roles.items() for word in ("--role", f"{name}={line}")]
        jobs = [f"--jobs={self.jobs}"] if self.jobs is not None else []
        done = self._signoff("run", self.plan, "--yes", "--json", *jobs, *roles)
        return Ended(done.returncode, *_error(done.stderr))

    def answer(self, choice: Choice) -> None:
        """`signoff answer`."""
        oldest = json.loads(self._signoff("inbox", "--json").stdout)["items"][0]
        self._signoff("answer", oldest["id"], choice.value).check_returncode()

    def audit(self) -> Result | None:
        """`signoff audit`."""
        done = self._signoff("audit", self.plan, "--json")
        return RESULT_OF.get(done.returncode) if _error(done.stderr) == ("", "") else None

    def _signoff(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "signoff", *words],
            cwd=self.cwd if self.cwd.is_dir() else Path("/"),
            env=dict(self.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMMAND_LIMIT_S,
            check=False,
        )


def _error(stderr: str) -> tuple[str, str]:
    """Code and message: errors are one JSON document on standard error, notes stand before it."""
    for line in reversed(stderr.splitlines()):
        if line.startswith("{"):
            error = json.loads(line).get("error", {"code": "", "message": ""})
            return str(error["code"]), str(error["message"])
    return "", ""
