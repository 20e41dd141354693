"""Runs of the real command line: time per step, start-up, and going on after a kill."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from floors import BARE_PYTHON, bare_spawns_s, seconds_of
from lines import Line, Measure, Unit, compared
from scene import (
    IDLE_AGENT,
    WORKING_AGENT,
    Contract,
    Scene,
    holds_already,
    wants_work,
    window_of,
)
from sizes import Sizes

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import probe_sandboxes

STEP_GOAL = 1.6
PAIR_GOALS = {"idle": 2.0, "working": 6.0}
RESUME_GOAL_S = 1.2
MOST_REPEATED = 1
START_GOALS = {"verify": 8.0, "status": 8.0}


def steps(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """A run against as many shells that do nothing, and against two a step: agent and contract."""
    kinds = {"idle": (holds_already, IDLE_AGENT), "working": (wants_work, WORKING_AGENT)}
    for kind, (contract, agent) in kinds.items():
        yield from _steps(kind, Isolation.NONE, folder, sizes, contract, agent)
    if any(s.available for s in probe_sandboxes() if s.isolation is Isolation.LANDLOCK):
        # Not among the temporary files of everybody, whose coming makes new rules necessary.
        with TemporaryDirectory(prefix="signoff-bench-", dir="/var/tmp") as quiet:
            for kind, (contract, agent) in kinds.items():
                yield from _steps(kind, Isolation.LANDLOCK, Path(quiet), sizes, contract, agent)


def _steps(
    kind: str, isolation: Isolation, folder: Path, sizes: Sizes, contract: Contract, agent: str
) -> Iterator[Line]:
    run_ms, floor_ms, pair_ms = [], [], []
    processes = 0
    for number in range(sizes.rounds):
        place = folder / f"{kind}-{isolation}-{number}"
        scene = Scene(place, sizes.steps, contract, agent, isolation)
        half = _processes_expected(kind, sizes.steps) // 2
        floor_s = bare_spawns_s(half)
        scene.run()
        floor_s += bare_spawns_s(half)
        window = window_of(scene.entries())
        processes = window.processes
        run_ms.append(window.seconds * 1000 / sizes.steps)
        floor_ms.append(floor_s / (2 * half) * processes * 1000 / sizes.steps)
        pair_ms.append(floor_s / half * 1000)
    if isolation is Isolation.NONE:
        what = f"step, {kind} agent ({processes} processes in {sizes.steps} steps)"
        yield compared(what, Unit.MILLISECONDS, run_ms, floor_ms, STEP_GOAL)
    what = f"step, {kind} agent, {isolation} (two bare spawns)"
    yield compared(what, Unit.MILLISECONDS, run_ms, pair_ms, PAIR_GOALS[kind])


def _processes_expected(kind: str, count: int) -> int:
    """Red first and agent; when content changed also the contract after it and the sweep."""
    return count * (2 if kind == "idle" else 4)


def start_up(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Short commands against an interpreter that does nothing."""
    scene = Scene(folder / "start", 3, holds_already, IDLE_AGENT)
    commands = {
        "--version": (sys.executable, "-m", "signoff", "--version"),
        "verify": scene.argv("verify", "--role", f"coder={IDLE_AGENT}"),
        "status": scene.argv("status"),
    }
    for argv in commands.values():
        seconds_of(argv, scene.workspace, scene.env)
    found: dict[str, list[float]] = {name: [] for name in commands}
    floors: list[float] = []
    for _ in range(sizes.start_rounds):
        floors.append(seconds_of(BARE_PYTHON, scene.workspace, scene.env) * 1000)
        for name, argv in commands.items():
            found[name].append(seconds_of(argv, scene.workspace, scene.env) * 1000)
    for name, times in found.items():
        goal = START_GOALS.get(name)
        yield compared(f"start-up of `signoff {name}`", Unit.MILLISECONDS, times, floors, goal)


def resume(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Kill -9 half-way, then the same command again."""
    half = sizes.steps // 2
    waited, floors, repeated = [], [], []
    for number in range(sizes.rounds):
        scene = Scene(folder / f"resume-{number}", sizes.steps, wants_work, WORKING_AGENT)
        killed = scene.start_run()
        _seconds_to_step(killed, half)
        killed.kill()
        killed.communicate()
        floors.append(seconds_of(BARE_PYTHON, scene.workspace, scene.env))
        again = scene.start_run()
        waited.append(_seconds_to_step(again, half + 1))
        again.communicate()
        started = sum(e["kind"] == "attempt.started" for e in scene.entries())
        repeated.append(started - sizes.steps)
    where = f"kill -9 at step {half} of {sizes.steps}"
    most = float(max(repeated))
    yield Line(f"{where}: attempts made again", most, Unit.COUNT, goal=MOST_REPEATED)
    ratios = [w / f for w, f in zip(waited, floors, strict=True)]
    yield Line(
        f"{where}: until step {half + 1} starts",
        statistics.median(waited),
        Unit.SECONDS,
        statistics.median(floors),
        statistics.median(ratios),
        RESUME_GOAL_S,
        Measure.MEASURED,
    )


def _seconds_to_step(process: subprocess.Popen[str], wanted: int) -> float:
    """From now until the run says that it gives this step to its agent."""
    began = time.perf_counter()
    assert process.stdout is not None
    for line in process.stdout:
        entry = json.loads(line)
        if entry.get("kind") == "attempt.started" and entry.get("step") == str(wanted):
            return time.perf_counter() - began
    raise SystemExit(f"the run ended before step {wanted} began")
