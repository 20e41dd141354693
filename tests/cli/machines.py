"""Machines for tests of workers: each with a home and a configuration of its own, one database
and one bare git repository for all of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from signoff.process.sandboxes import best_isolation
from tests.cli.ended import LIMIT_S, Ended, Running
from tests.cli.kit import Desk

LEASE_S = 6  # less than this, and a busy machine misses its own signs of life


@dataclass
class Machine:
    """A worker's machine."""

    name: str
    desk: Desk
    running: list[Running] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Everything that only this machine has."""
        return self.desk.folder / f"machine-{self.name}"

    def environment(self) -> dict[str, str]:
        """The person's, with a home, a configuration and a name of its own."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "user").mkdir(exist_ok=True)
        return {
            **self.desk.environment(),
            "HOME": str(self.folder / "user"),
            "SIGNOFF_HOME": str(self.folder / "home"),
            "SIGNOFF_WORKER": self.name,
        }

    def signoff(self, *arguments: str) -> Ended:
        """A command on this machine."""
        done = subprocess.run(
            [sys.executable, "-m", "signoff", *arguments],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        return Ended(arguments, done.returncode, done.stdout, done.stderr, self.desk.folder)

    def key(self) -> str:
        """The key that `worker enroll` prints here."""
        self.environment()
        return str(self.signoff("worker", "enroll", "--json").exits(0).json["key"])

    def trust(self) -> Machine:
        """Have the person trust it."""
        self.desk.signoff("worker", "trust", self.name, self.key()).exits(0)
        return self

    def join(self, *arguments: str) -> Running:
        """Start its worker."""
        environment = self.environment()
        number = len(self.running)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        words = ("worker", "--lease", str(LEASE_S), *arguments)
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "signoff", *words],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        self.running.append(Running(process, out, err, words, self.desk.folder))
        self.desk._running.append(process)
        return self.running[-1]


def fleet(desk: Desk, url: str) -> Callable[[str], Machine]:
    """Let the desk's person have workers: a database, a remote for content, and a sandbox."""
    remote = desk.folder / "content.git"
    command = ["git", "init", "--quiet", "--bare", str(remote)]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    desk.variable(SIGNOFF_DATABASE=url)
    sandbox = f'isolation = "{best_isolation(None)}"\nwritable = ["{desk.agents}"]\n'
    desk.git().person(f'[content]\nremote = "{remote}"\n[sandbox]\n{sandbox}')
    return lambda name: Machine(name, desk)
