"""Large plans and large outputs: time in this process, memory in processes of their own."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from lines import Line, Unit
from scene import IDLE_AGENT, Scene, holds_already, plan_text, wants_work
from sizes import Sizes

from signoff.planfile import parse
from signoff.planfile.verify import verify
from signoff.settings import Settings
from signoff.storage import Vault
from signoff.usecases.surroundings import RealSurroundings

PARSE_GOAL_S = 1.0
MEMORY_GOAL_MB = 150.0
SEARCH_PATH = "/usr/bin:/bin"


def parsing(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Parse and verify; contracts of two kinds, so that no two neighbours are alike."""
    text = large_plan(sizes.plan_steps)
    settings = Settings().with_roles({"coder": IDLE_AGENT})
    times = []
    for _ in range(sizes.rounds):
        around = RealSurroundings(folder, Vault(folder / ".harness"), SEARCH_PATH, settings)
        began = time.perf_counter()
        verify(parse(text), around)
        times.append(time.perf_counter() - began)
    what = f"parse and verify {sizes.plan_steps:,} steps"
    yield Line(what, statistics.median(times), Unit.SECONDS, goal=PARSE_GOAL_S)


def memory(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Peak resident memory of a process that does one thing; the floor is an idle interpreter."""
    scene = Scene(folder / "memory", 1, holds_already, IDLE_AGENT)
    plan = folder / "LARGE.md"
    plan.write_text(large_plan(sizes.plan_steps))
    idle_mb = _peak_mb(scene, "idle")
    for what, words in (
        (f"peak memory: planning a run of {sizes.plan_steps:,} steps", ("planning", str(plan))),
        (
            f"peak memory: {sizes.output_bytes / 1e6:,.0f} MB of output from one process",
            ("output", str(sizes.output_bytes)),
        ),
    ):
        peak_mb = _peak_mb(scene, *words)
        yield Line(what, peak_mb, Unit.MEGABYTES, idle_mb, peak_mb / idle_mb, MEMORY_GOAL_MB)


def large_plan(steps: int) -> str:
    """Two kinds of contract in turn."""
    return plan_text(steps, lambda n: wants_work(n) if n % 2 else holds_already(n))


def _peak_mb(scene: Scene, *words: str) -> float:
    child = Path(__file__).with_name("memory_child.py")
    done = subprocess.run(
        (sys.executable, str(child), *words),
        cwd=scene.workspace,
        env=scene.env,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)
