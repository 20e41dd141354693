"""The arena: one case set up in a folder of its own and played against the real product."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from string import Template

from signoff.domain.ledger import Entry
from signoff.domain.verdict import Isolation, Result
from signoff.errors import SignoffError
from signoff.storage.active import VAULT_FOLDER
from signoff.usecases.harness import find_plan
from signoff.wiring import open_harness
from truth.agents import command_line
from truth.case import CHECK_FILES, DECOY, Case, Door, Refused
from truth.doors import CommandLine, Ended, Entrance, Library
from truth.plans import plan, step, with_decoy
from truth.tools import FOLDER, PROGRAMS

SCRIPT_LIMIT_S = 60
ROLES = ("coder", "reviewer")
JOBS = 4
GIT_CONFIG = """\
[user]
	name = An Agent
	email = agent@example.org
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
"""


class SetUpFailed(Exception):
    """The case itself is wrong: its workspace could not be prepared."""


@dataclass(frozen=True)
class Happened:
    """What came of a case."""

    ended: Ended
    unanswered: bool  # the person had more to do, but was not asked
    audit: Result | None  # None when the audit ended in an error
    entries: tuple[Entry, ...]
    unreadable: str  # why the ledger could not be read; empty when it could
    afterwards: str  # why the case's own look at the result failed; empty when it held
    survivors: tuple[str, ...]  # processes that still worked there when all was over


class Arena:
    """play: set up → run → (the person acts → run)… → audit → a last look → no process is left."""

    def __init__(self, base: Path, case: Case, isolation: Isolation):
        self.base = base
        self.case = case
        self.root = base / case.folder
        self.cwd = self.root / case.start_in
        self.environ = self._environ(isolation)
        variables = {name: self.environ[name] for name in ("ROOT", "LOOT", "HOME_FOLDER")}
        command = command_line(case.agent, variables)
        opened = CommandLine if case.door is Door.COMMAND else Library
        roles = dict.fromkeys(ROLES, command)
        if case.lanes:
            roles[DECOY] = "bash -c 'echo note > decoy.txt'"
        self.door: Entrance = opened(
            self.environ, self.cwd, case.plan_path, roles, JOBS if case.lanes else None
        )

    def play(self) -> Happened:
        """Everything, once."""
        try:
            self._set_up()
            plan_id = find_plan(self.cwd, self.case.plan_path).record.id
            ended, unanswered = self._run()
            audit = self.door.audit()
            # What was refused in a lane is not in the workspace to be looked at.
            looks = not (self.case.lanes and isinstance(self.case.expect, Refused))
            afterwards = self._look() if self.case.afterwards and looks else ""
            entries, unreadable = self._entries(plan_id)
        finally:
            survivors = self._end_survivors()
        return Happened(ended, unanswered, audit, entries, unreadable, afterwards, survivors)

    def _environ(self, isolation: Isolation) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("SIGNOFF_", "COV_"))}
        (self.base / "config.toml").write_text(_config(self.case, isolation))
        ours = {
            "HOME": str(self.base / "user"),
            "PATH": search_path(),
            "SIGNOFF_HOME": str(self.base / "home"),
            "SIGNOFF_CONFIG": str(self.base / "config.toml"),
            "ROOT": str(self.root),
            "LOOT": str(self.base / "loot"),
            "HOME_FOLDER": str(self.base / "home"),
            "PACKAGES": str(FOLDER),
        }
        own = {n: Template(v).safe_substitute(ours) for n, v in self.case.environ.items()}
        return {**kept, **ours, **own}

    def _set_up(self) -> None:
        for folder in (self.root, self.base / "loot", self.base / "user"):
            folder.mkdir()
        (self.base / "user/.gitconfig").write_text(GIT_CONFIG)
        for name, text in {**CHECK_FILES, **self.case.files}.items():
            place = self.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode() if isinstance(text, str) else text)
        in_vault = f"{VAULT_FOLDER}/PLAN-{self.case.plan_path}.md" in self.case.files
        if self.cwd.is_dir() and not in_vault:
            self._write_plan()
        if self.case.prepare:
            self._shell(self.case.prepare, self.root)
        if not (self.cwd / self.case.plan_path).exists() and not in_vault:
            self._write_plan()

    def _write_plan(self) -> None:
        case, place = self.case, self.cwd / self.case.plan_path
        text = case.plan or plan(step("Write the product", case.contract, case.fields))
        if case.lanes and isinstance(text, str):
            text = with_decoy(text)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)

    def _run(self) -> tuple[Ended, bool]:
        ended = self.door.run()
        for act in self.case.person:
            if not ended.waits:
                return ended, True
            if act.does:
                self._shell(act.does, self.root)
            self.door.answer(act.choice)
            ended = self.door.run()
        return ended, False

    def _look(self) -> str:
        try:
            self._shell(self.case.afterwards, self.root if self.root.is_dir() else self.base)
        except SetUpFailed as failure:
            return str(failure)
        return ""

    def _shell(self, script: str, cwd: Path) -> None:
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", script],
            cwd=cwd,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SCRIPT_LIMIT_S,
            check=False,
        )
        if done.returncode != 0:
            said = (done.stdout + done.stderr).decode("utf-8", "replace")
            raise SetUpFailed(f"exit {done.returncode} of:\n{script.strip()}\n{said[-1000:]}")

    def _entries(self, plan_id: str) -> tuple[tuple[Entry, ...], str]:
        """Opened from outside the workspace, whatever an agent made of its configuration."""
        try:
            harness = open_harness(self.environ, self.base, self.base)
            return tuple(harness.ledger.entries(plan_id)), ""
        except SignoffError as error:
            return (), error.message

    def _end_survivors(self) -> tuple[str, ...]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                if (process / "cwd").readlink().is_relative_to(self.base):
                    words = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(f"{process.name}: {words.decode('utf-8', 'replace')[:200]}")
                    os.kill(int(process.name), signal.SIGKILL)
        return tuple(found)


def search_path() -> str:
    """The person's, with the Python that runs this in front: it has signoff, and perhaps pytest."""
    return f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}:{PROGRAMS}"


def clear(base: Path) -> None:
    """Remove a case's folder, read-only parts included."""

    def open_up(function: object, path: str, error: object) -> None:
        del function, error
        with suppress(OSError):
            Path(path).parent.chmod(0o700)
            Path(path).chmod(0o700)
        with suppress(OSError):
            Path(path).rmdir() if Path(path).is_dir() else Path(path).unlink()

    shutil.rmtree(base, onerror=open_up)
    shutil.rmtree(base, ignore_errors=True)


def _config(case: Case, isolation: Isolation) -> str:
    """The home lies in a temporary folder, which a sandbox hides; a person's own would be seen."""
    seen = 'readable = ["~"]'
    return f'{case.config}\n[sandbox]\nisolation = "{isolation}"\n{seen}\n{case.sandbox}'
