"""The built-in agent: what the harness adds to a turn, and whether a long session stays flat."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from lines import Line, Measure, Unit, compared
from sizes import Sizes

import signoff

TURN_GOAL = 4.0
GROWTH_GOAL = 1.5


def agent_loop(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """A scripted session of many turns, each of which writes a file."""
    found = [_session(folder / str(n), sizes.turns) for n in range(sizes.rounds)]
    yield compared(
        f"agent, harness per turn of {sizes.turns} (4 bare appends)",
        Unit.MILLISECONDS,
        [one["turn_ms"] for one in found],
        [one["floor_ms"] for one in found],
        TURN_GOAL,
    )
    early, late = (min(one[name] for one in found) for name in ("early_mb", "late_mb"))
    yield Line(
        f"agent, memory after {sizes.turns} turns (after a quarter)",
        late,
        Unit.MEGABYTES,
        early,
        late / early,
        GROWTH_GOAL,
        Measure.RATIO,
    )


def _session(folder: Path, turns: int) -> dict[str, float]:
    folder.mkdir()
    config = folder / "config.toml"
    config.write_text('[sandbox]\nisolation = "none"\n')
    package = Path(str(signoff.__file__)).resolve().parents[1]
    environment = {
        **os.environ,
        "SIGNOFF_HOME": str(folder / "home"),
        "SIGNOFF_CONFIG": str(config),
        "PYTHONPATH": str(package),
    }
    child = Path(__file__).with_name("agent_child.py")
    argv = (sys.executable, str(child), str(folder), str(turns))
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"a session for the benchmark failed: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found
