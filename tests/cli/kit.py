"""A person's desk for black-box tests: files, a plan, scripted agents, and the real command.

    desk.agent("echo hello > hello.txt").plan(step("Say hello", "test -s hello.txt"))
    desk.run("--yes").exits(0).prints("…")

Every desk has a folder, a home and a configuration of its own; agents and tools lie outside the
workspace. Every agent keeps what it was given (prompt, environment, arguments) for the test to see.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.cli.ended import LIMIT_S, Ended, Running
from tests.cli.plans import Step, plan_text
from tests.cli.terminal import play_at_terminal
from tests.unconfined import UNCONFINED
from tests.warm import SOURCE, run_to_end

# What every scripted agent does first: keep what it was given, outside the workspace.
PRELUDE = """\
life="${0%/*}/life"
number=$(ls "$life" | wc -l)
until mkdir "$life/$number" || [ ! -e "$life/$number" ]; do number=$((number + 1)); done
seat="$life/$number"
cat > "$seat/prompt"
env > "$seat/env"
printf '%s\\n' "$@" > "$seat/args"
attempt=${SIGNOFF_ATTEMPT##*:}
"""


@dataclass(frozen=True)
class Attempt:
    """What an agent was really given, in its own words."""

    prompt: str
    env: Mapping[str, str]
    args: tuple[str, ...]

    @property
    def step(self) -> str:
        """The step it was started for."""
        return self.env["SIGNOFF_STEP"]


@dataclass
class Desk:
    """One workspace and everything around it; `close` leaves no process behind."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for place in (self.workspace, self.tools, self.agents / "life", self.folder / "person"):
            place.mkdir(parents=True)

    @property
    def workspace(self) -> Path:
        """Where the agents work."""
        return self.folder / "work"

    @property
    def plan_path(self) -> Path:
        """The plan file."""
        return self.workspace / "PLAN.md"

    @property
    def home(self) -> Path:
        """Where signoff keeps its state."""
        return Path(self.variables.get("SIGNOFF_HOME", str(self.folder / "home")))

    @property
    def ledger_file(self) -> Path:
        """The embedded database."""
        return self.home / "ledger.sqlite3"

    @property
    def tools(self) -> Path:
        """A folder at the front of the search path."""
        return self.folder / "tools"

    @property
    def agents(self) -> Path:
        """The scripts of the agents, and what they keep."""
        return self.folder / "agents"

    def variable(self, **values: str) -> Self:
        """Set variables of the person's environment."""
        self.variables.update(values)
        return self

    def file(self, path: str, text: str = "") -> Self:
        """Write a file of the workspace."""
        place = self.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return self

    def read(self, path: str) -> str:
        """A file of the workspace as it is now."""
        return (self.workspace / path).read_text()

    def plan(self, *steps: Step | str, **parts: Any) -> Self:
        """Write the plan: steps, or one whole text."""
        whole = len(steps) == 1 and isinstance(steps[0], str)
        text = (
            str(steps[0])
            if whole
            else plan_text([s for s in steps if not isinstance(s, str)], **parts)
        )
        self.plan_path.write_text(text)
        return self

    def edit_plan(self, old: str, new: str) -> Self:
        """Change the plan file as a person would."""
        text = self.plan_path.read_text()
        assert old in text, text
        self.plan_path.write_text(text.replace(old, new))
        return self

    def agent(self, script: str, role: str = "coder", words: str = "", **settings: Any) -> Self:
        """Write an agent's script and name it in signoff.toml."""
        path = self.agents / f"{role}.sh"
        path.write_text(PRELUDE + script + "\n")
        lines = [f"command = {json.dumps(f'bash {path} {words}'.strip())}"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        self.roles[role] = "\n".join([f"[roles.{role}]", *lines, ""])
        return self.file("signoff.toml", "\n".join(self.roles.values()))

    def person(self, config: str) -> Self:
        """The person's own configuration; without a word about the sandbox, there is none.

        Without a word about the policy, plans of which nothing was red first are done all the same:
        most tests are about something else.
        """
        own = config if "[sandbox]" in config else f"{config}\n{UNCONFINED}"
        own = own if "[policy]" in own else f'{own}\n[policy]\nheld_before = "allow"\n'
        (self.folder / "config.toml").write_text(own)
        return self

    def tool(self, name: str, script: str) -> Self:
        """A stand-in executable on the search path, outside the workspace."""
        path = self.tools / name
        path.write_text(f"#!/usr/bin/env bash\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        return self

    def git(self) -> Self:
        """Make the workspace a repository."""
        command = ["git", "init", "--quiet", str(self.workspace)]
        subprocess.run(command, check=True, timeout=LIMIT_S, env=self.environment())
        return self

    def signoff(self, *arguments: str, cwd: Path | None = None) -> Ended:
        """Run a command to its end, with nobody at the terminal."""
        command, place = self.command(arguments), cwd or self.workspace
        done = run_to_end(command, place, self.environment(), LIMIT_S)
        return Ended(tuple(arguments), done.returncode, done.stdout, done.stderr, self.folder)

    def about_plan(self, verb: str, *arguments: str) -> Ended:
        """A command about the plan."""
        return self.signoff(verb, "PLAN.md", *arguments)

    def run(self, *arguments: str) -> Ended:
        """`signoff run PLAN.md`."""
        return self.about_plan("run", *arguments)

    def start(self, *arguments: str) -> Running:
        """Start a command and do not wait for it."""
        number = len(self._running)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                self.command(arguments),
                cwd=self.workspace,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        self._running.append(process)
        return Running(process, out, err, tuple(arguments), self.folder)

    def at_terminal(self, *arguments: str, typed: str = "") -> Ended:
        """Run a command at a terminal; both streams come back as what the terminal showed."""
        shown, code = play_at_terminal(
            self.command(arguments), self.workspace, self.environment(), typed
        )
        return Ended(tuple(arguments), code, shown, b"", self.folder)

    def log(self) -> list[dict[str, Any]]:
        """The ledger, entry by entry."""
        return self.about_plan("log", "--json").exits(0).json_lines

    def kinds(self, step: str | None = None) -> list[str]:
        """The kinds of all entries, or of those about one step."""
        return [e["kind"] for e in self.log() if step is None or e["step"] == step]

    def entries(self, kind: str) -> list[dict[str, Any]]:
        """The entries of one kind."""
        return [e for e in self.log() if e["kind"] == kind]

    def status(self) -> dict[str, Any]:
        """`status --json`."""
        found: dict[str, Any] = self.about_plan("status", "--json").json
        return found

    def inbox(self) -> list[dict[str, Any]]:
        """`inbox --json`."""
        found: list[dict[str, Any]] = self.signoff("inbox", "--json").exits(0).json["items"]
        return found

    def answer(self, choice: str, *arguments: str) -> Ended:
        """Answer the one open question."""
        (item,) = self.inbox()
        return self.signoff("answer", item["id"], choice, *arguments).exits(0)

    def attempts(self) -> list[Attempt]:
        """Every agent that was really started, in order."""
        seats = sorted((self.agents / "life").iterdir(), key=lambda p: int(p.name))
        return [_attempt(seat) for seat in seats]

    def dispatched(self) -> list[str]:
        """The steps that agents were started for, in order."""
        return [attempt.step for attempt in self.attempts()]

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command line that starts the product."""
        return [sys.executable, "-m", "signoff", *arguments]

    def environment(self) -> dict[str, str]:
        """Nothing of the caller's own settings gets in."""
        if not (self.folder / "config.toml").exists():
            self.person("")
        return {
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "HOME": str(self.folder / "person"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": SOURCE,
            "SIGNOFF_HOME": str(self.folder / "home"),
            "SIGNOFF_CONFIG": str(self.folder / "config.toml"),
            **self.variables,
        }

    def processes(self) -> list[int]:
        """Living processes that were started from this desk's agents or tools."""
        marks = (os.fsencode(self.agents), os.fsencode(self.tools))
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (path / "cmdline").read_bytes().split(b"\0")
                if any(word.startswith(marks) for word in words):
                    found.append(int(path.name))
        return found

    def close(self) -> None:
        """End what is still running, and fail if an agent was left behind."""
        for process in self._running:
            if process.poll() is None:
                process.terminate()  # a driver then ends what it started
                process.wait(timeout=LIMIT_S)
        left = self.processes()
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert not left, f"agents were left behind: {left}"


def _attempt(seat: Path) -> Attempt:
    lines = (seat / "env").read_text(errors="replace").splitlines()
    pairs = (line.split("=", 1) for line in lines if "=" in line)
    args = (seat / "args").read_text().splitlines()
    return Attempt((seat / "prompt").read_text(errors="replace"), dict(pairs), tuple(args))
