"""Workers who ask for plans, run them in worktrees of their own, and are killed at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import signoff
from signoff.domain.globs import Overlaps
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.storage.active import find_vault
from signoff.storage.home import open_database
from signoff.storage.identity import bind_worktree, plan_identity
from signoff.storage.ledger import Ledger
from signoff.usecases.approve import approve, propose
from signoff.usecases.harness import find_plan
from signoff.usecases.history import read_history
from signoff.usecases.merged import merge_entries
from signoff.wiring import open_harness
from tests.cli.plans import plan_text, step
from tests.crash.scene import PATIENCE_S, wait_until
from tests.unconfined import user_file

# Asks, runs what it is given, asks again; a worker has no other memory than its name.
WORKER = """\
while [ ! -e "$STOP" ]; do
  name=$("$PYTHON" -m signoff next 2>> "$ERRORS") && "$PYTHON" -m signoff run "$name" --json
  sleep 0.05
done
"""
AGENT = """\
cat > /dev/null
name=${SIGNOFF_PLAN##*PLAN-}
sleep PACE
echo 1 > "${name%.md}.txt"
"""


@dataclass(frozen=True)
class Job:
    """A plan of the fleet."""

    name: str
    after: tuple[str, ...]
    touches: tuple[str, ...]


def jobs(count: int, chance: random.Random) -> list[Job]:
    """Plans that need earlier ones, and that share files with some others."""
    made: list[Job] = []
    for number in range(count):
        some = chance.sample(made, k=min(len(made), chance.choice((0, 0, 1, 2))))
        shared = chance.choice((None, None, *range(max(1, count // 4))))
        touches = [f"own/{number}/**", *([f"shared/{shared}/**"] if shared is not None else [])]
        made.append(Job(f"p{number}", tuple(job.name for job in some), tuple(touches)))
    return made


@dataclass
class Fleet:
    """A repository with a worktree per plan, and workers; `close` leaves no process behind."""

    folder: Path
    jobs: Sequence[Job]
    database_url: str | None = None
    pace_s: float = 0.1
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    kills: int = 0

    def __post_init__(self) -> None:
        self.main.mkdir(parents=True)
        self.git("init", "--quiet", "-b", "main")
        agent = self.folder / "agent.sh"
        agent.write_text(AGENT.replace("PACE", str(self.pace_s)))
        (self.main / "signoff.toml").write_text(
            f"[roles.coder]\ncommand = {json.dumps(f'bash {agent}')}\n"
        )
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "first")
        self.base = (self.main / ".git" / "refs" / "heads" / "main").read_text().strip()
        (self.main / ".harness").mkdir()
        for job in self.jobs:
            self._prepare(job)
        self.ledger = self._ledger()

    @property
    def main(self) -> Path:
        """The main checkout."""
        return self.folder / "main"

    @property
    def stop(self) -> Path:
        """The file that sends every worker home."""
        return self.folder / "stop"

    def git(self, *arguments: str) -> None:
        """Git as a person uses it."""
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        command = ["git", *who, "-C", str(self.main), *arguments]
        subprocess.run(command, check=True, timeout=PATIENCE_S, env=self.environment())

    def environment(self, **more: str) -> dict[str, str]:
        """What the workers see."""
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("SIGNOFF_", "COV_"))}
        kept["PYTHONPATH"] = str(Path(signoff.__file__).parents[1])
        kept["PYTHON"] = sys.executable
        kept["SIGNOFF_HOME"] = str(self.folder / "home")
        kept["SIGNOFF_CONFIG"] = user_file(self.folder)
        kept["GIT_CONFIG_NOSYSTEM"] = "1"
        if self.database_url is not None:
            kept["SIGNOFF_DATABASE"] = self.database_url
        return {**kept, **more}

    def start(self, name: str) -> None:
        """A worker comes, or comes back."""
        errors = self.folder / f"{name}.err"
        with (self.folder / f"{name}.out").open("ab") as out, errors.open("ab") as err:
            self.workers[name] = subprocess.Popen(
                ["bash", "-c", WORKER],
                cwd=self.main,
                env=self.environment(SIGNOFF_WORKER=name, STOP=str(self.stop), ERRORS=str(errors)),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def strike(self, name: str, *, driver_only: bool) -> None:
        """Kill -9: the worker with its driver, or its driver alone."""
        process = self.workers[name]
        victims = [process.pid] if not driver_only else list(_children(process.pid))
        for pid in victims:
            with suppress(ProcessLookupError, PermissionError):
                if driver_only:
                    os.kill(pid, signal.SIGKILL)
                else:
                    os.killpg(pid, signal.SIGKILL)
                self.kills += 1
        if not driver_only:
            process.wait(timeout=PATIENCE_S)
            self.start(name)

    def merge_what_is_done(self) -> bool:
        """What a person does between; whether every plan is signed off and merged."""
        everything = True
        for record in self.ledger.plans():
            history = read_history(self.ledger, record.id)
            if not history.signed_off:
                everything = False
            elif not merge_entries(history):
                data = {"run": history.run_id, "base": "main", "branch": "b", "commit": self.base}
                self.ledger.append(record.id, [Draft(Kind.PLAN_MERGED, data)])
        return everything

    def entries(self) -> dict[str, list[Entry]]:
        """The ledger of every plan, by name."""
        return {r.name: list(self.ledger.entries(r.id)) for r in self.ledger.plans()}

    def close(self) -> None:
        """Send everybody home, and see that they go."""
        self.stop.touch()
        for process in self.workers.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=PATIENCE_S)
        for process in self.workers.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=PATIENCE_S)
        wait_until(lambda: not list(self._agents()))
        self.ledger.database.close()

    def _agents(self) -> Iterator[int]:
        mark = str(self.folder / "agent.sh").encode()
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (path / "cmdline").read_bytes().split(b"\0"):
                    yield int(path.name)

    def _ledger(self) -> Ledger:
        home = self.folder / "home" / "ledger.sqlite3"
        return Ledger(open_database(self.database_url or f"sqlite://{home}"))

    def _prepare(self, job: Job) -> None:
        """A plan in the vault, approved, with a worktree that is bound to it."""
        head = f"depends_on: {json.dumps(job.after)}\ntouches: {json.dumps(job.touches)}"
        text = plan_text([step("Do it", f"test -s {job.name}.txt")], title=job.name)
        path = self.main / ".harness" / f"PLAN-{job.name}.md"
        path.write_text(text.replace("status: draft", f"status: draft\n{head}", 1))
        tree = self.folder / "trees" / job.name
        self.git("worktree", "add", "--quiet", "-b", f"plan/{job.name}", str(tree))
        environ = self.environment()
        record = plan_identity(path, find_vault(self.main, environ))
        harness = open_harness(environ, self.main, tree)
        harness.ledger.register_plan(record)
        bind_worktree(harness.ledger, record, tree, self.main, "ann")
        place = find_plan(self.main, job.name, environ=environ)
        assert place.workspace == tree
        approve(harness, propose(harness, place), interactive=False)
        harness.ledger.database.close()


def assert_run_once_and_never_beside(fleet: Fleet) -> None:
    """Every promise of the ledger: once to acceptance, after its needs, never two at one file."""
    found = fleet.entries()
    spans = {}
    for job in fleet.jobs:
        log = found[job.name]
        started = [e for e in log if e.kind is Kind.RUN_STARTED]
        finished = [e for e in log if e.kind is Kind.RUN_FINISHED]
        accepted = [e for e in log if e.kind is Kind.STEP_DONE]
        assert (len(started), len(finished), len(accepted)) == (1, 1, 1), job
        assert finished[0].data["outcome"] == "done", job
        assert fleet.ledger.check_chain(log[0].plan).holds
        spans[job.name] = (started[0].at, finished[0].at)
        for needed in job.after:
            merged = [e.at for e in found[needed] if e.kind is Kind.PLAN_MERGED]
            assert merged[0] < started[0].at, (job, needed)
    territory = Overlaps({job.name: job.touches for job in fleet.jobs})
    for one, other in combinations(sorted(spans), 2):
        if other in territory.in_the_way(one):
            first, second = sorted((spans[one], spans[other]))
            assert first[1] < second[0], f"{one} and {other} ran at the same time"


def _children(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            yield from map(int, path.read_text().split())
