"""A scripted session of many turns in a process of its own; prints its times and its memory."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai.models.wrapper import WrapperModel

import signoff
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, Turn, say, use
from signoff.toolbatch.calls import CallResult

# What a turn must at least put on disk: the answer, its use, the call and its result.
RECORDS_A_TURN = 4
RECORD = b"x" * 500 + b"\n"


@dataclass
class Watcher:
    """Notes the memory in use and the clock at every call; tells nobody anything."""

    megabytes: list[float] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)  # without the model's own time
    model: Timed | None = None

    def said(self, chunk: str) -> None:
        """Nothing."""

    def called(self, name: str, arguments: str) -> None:
        """Nothing."""

    def returned(self, name: str, result: CallResult) -> None:
        """A call is over."""
        del name, result
        self.megabytes.append(memory_mb())
        spent_s = self.model.spent_s if self.model is not None else 0.0
        self.moments.append(time.perf_counter() - spent_s)

    def noted(self, text: str) -> None:
        """Nothing."""


class Timed(WrapperModel):
    """The scripted model, with the time that it takes itself."""

    spent_s = 0.0

    @asynccontextmanager
    async def request_stream(self, *arguments: Any, **named: Any) -> AsyncGenerator[Any]:
        """Ask it, and look at the clock."""
        began = time.perf_counter()
        async with self.wrapped.request_stream(*arguments, **named) as stream:
            self.spent_s += time.perf_counter() - began
            yield stream


def main() -> None:
    """`FOLDER TURNS`."""
    folder, turns = Path(sys.argv[1]), int(sys.argv[2])
    (folder / "work").mkdir()
    script = Script(respond=lambda conversation: _next(conversation, turns), keep=1)
    model = Timed(scripted_model(script))
    watcher = Watcher(model=model)
    _play(folder, 2, Watcher())  # whatever is loaded at the first use is loaded now
    report = signoff.run_agent(
        "write many files",
        model=model,
        workspace=folder / "work",
        limits=signoff.LoopLimits(turns=turns + 2, context_tokens=10**9),
        reporter=watcher,
    )
    # From call to call: opening and signing a session happen once, however long it is.
    took_s = watcher.moments[-1] - watcher.moments[0]
    assert report.loop.turns == turns + 1, report
    quarter = max(1, len(watcher.megabytes) // 4)
    print(
        json.dumps(
            {
                "turn_ms": took_s * 1000 / (turns - 1),
                "floor_ms": _floor_s(folder, turns) * 1000 / turns,
                "early_mb": watcher.megabytes[quarter - 1],
                "late_mb": watcher.megabytes[-1],
            }
        )
    )


def _play(folder: Path, turns: int, watcher: Watcher) -> None:
    script = Script(respond=lambda conversation: _next(conversation, turns), keep=1)
    signoff.run_agent(
        "warm up", model=scripted_model(script), workspace=folder / "work", reporter=watcher
    )


def _next(conversation: ScriptedRequest, turns: int) -> Turn:
    number = conversation.model_turns
    if number >= turns:
        return say("All files are written.")
    return use(
        ScriptedCall("write", {"path": f"out/{number % 20}.txt", "content": f"{number:<200}"})
    )


def _floor_s(folder: Path, turns: int) -> float:
    began = time.perf_counter()
    for _ in range(turns * RECORDS_A_TURN):
        fd = os.open(folder / "floor", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, RECORD)
        os.fsync(fd)
        os.close(fd)
    return time.perf_counter() - began


def memory_mb() -> float:
    """What the process holds now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not say how much memory a process holds")


if __name__ == "__main__":
    main()
