"""How a command ended, and the claims a test makes about it."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

LIMIT_S = 240
_NORMAL = (
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+\+00:00)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "DIGEST"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "RUN"),
    (re.compile(r"\b\d+\.\d s\b"), "SECONDS"),
    (re.compile(r"\b(process|driver) \d+"), r"\1 PID"),
)
# What no terminal may be sent from agents and contracts: controls except newline and tab.
_RAW_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


@dataclass(frozen=True)
class Ended:
    """A command that came to its end; every claim returns it, so that claims can be chained."""

    arguments: tuple[str, ...]
    code: int
    raw_stdout: bytes
    raw_stderr: bytes
    folder: Path

    @property
    def stdout(self) -> str:
        """The result."""
        return self.raw_stdout.decode()

    @property
    def stderr(self) -> str:
        """Everything about the work."""
        return self.raw_stderr.decode()

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.stdout)

    @property
    def json_lines(self) -> list[dict[str, Any]]:
        """One document per line of standard output."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def failure(self) -> dict[str, Any]:
        """The error that `--json` printed."""
        document = json.loads(self.stderr.splitlines()[-1])
        assert document["schema_version"] == 1
        found: dict[str, Any] = document["error"]
        return found

    def exits(self, code: int) -> Ended:
        """It ended with this exit code."""
        assert self.code == code, f"{self.arguments} exited {self.code}, not {code}\n{self._all()}"
        return self

    def prints(self, stdout: str) -> Ended:
        """Standard output is exactly this, ids and times apart."""
        wanted = dedent(stdout).strip("\n")
        assert self.normal(self.stdout).strip("\n") == wanted, self._all()
        return self

    def notes(self, stderr: str) -> Ended:
        """Standard error is exactly this, ids and times apart."""
        wanted = dedent(stderr).strip("\n")
        assert self.normal(self.stderr).strip("\n") == wanted, self._all()
        return self

    def shows(self, *parts: str) -> Ended:
        """Each part is somewhere in what was printed."""
        everything = self.normal(self.stdout + self.stderr)
        for part in parts:
            assert part in everything, f"{part!r} is not in:\n{self._all()}"
        return self

    def hides(self, *parts: str) -> Ended:
        """No part is anywhere in what was printed."""
        for part in parts:
            assert part not in self.stdout + self.stderr, self._all()
        return self

    def fails(self, code: int, *facts: str, hint: str = "") -> Ended:
        """It ended with a clear error: facts, what to do next, nothing on stdout, no traceback."""
        self.exits(code).hides("Traceback", "internal error")
        lines = self.normal(self.stderr).strip("\n").split("\n")
        errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
        assert len(errors) == 1 and lines[-1].startswith("next: "), self._all()
        said = "\n".join(lines[errors[0] : -1])
        for fact in facts:
            assert fact in said, f"{fact!r} is not in the error:\n{self._all()}"
        assert hint in lines[-1] and lines[-1] != "next: ", self._all()
        assert self.stdout == "", self._all()
        return self

    def is_plain(self) -> Ended:
        """No byte that a terminal would obey."""
        for stream in (self.raw_stdout, self.raw_stderr):
            found = _RAW_CONTROL.search(stream)
            assert found is None, (found, stream)
        return self

    def normal(self, text: str) -> str:
        """Folders, times, digests and ids differ from test to test."""
        text = text.replace(str(self.folder.resolve()), "DESK").replace(str(self.folder), "DESK")
        for pattern, word in _NORMAL:
            text = pattern.sub(word, text)
        return text

    def _all(self) -> str:
        return f"--- stdout\n{self.normal(self.stdout)}\n--- stderr\n{self.normal(self.stderr)}"


@dataclass(frozen=True)
class Running:
    """A command that was started and not waited for."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path
    arguments: tuple[str, ...]
    folder: Path

    def until(self, condition: Callable[[], bool]) -> Running:
        """Wait for a condition while the command runs."""
        wait_until(lambda: condition() or self.process.poll() is not None)
        assert condition(), f"it ended first: {self.err.read_text()}"
        return self

    def end(self) -> Ended:
        """Wait for its end."""
        code = self.process.wait(timeout=LIMIT_S)
        out, err = self.out.read_bytes(), self.err.read_bytes()
        return Ended(self.arguments, code, out, err, self.folder)


def wait_until(condition: Callable[[], bool]) -> None:
    """Until it holds; fails after a generous while."""
    give_up = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < give_up, "it never came true"
        time.sleep(0.02)
