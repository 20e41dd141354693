"""The tool-batch runtime: what it adds to a call, and whether a long session stays flat."""

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

CALL_GOAL = 40.0
GROWTH_GOAL = 1.2
LOOK_UP_GOAL = 3.0


def tool_batches(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """A scripted session of many calls, each a batch of its own."""
    calls = sizes.batch_calls
    found = [_session(folder / str(n), calls) for n in range(sizes.rounds)]
    yield compared(
        f"tool batches, per call of {calls:,} (made plainly)",
        Unit.MILLISECONDS,
        [one["call_ms"] for one in found],
        [one["floor_ms"] for one in found],
        CALL_GOAL,
    )
    early, late = (min(one[name] for one in found) for name in ("early_mb", "late_mb"))
    yield Line(
        f"tool batches, memory after {calls:,} calls (after a quarter)",
        late,
        Unit.MEGABYTES,
        early,
        late / early,
        GROWTH_GOAL,
        Measure.RATIO,
    )
    yield compared(
        f"tool batches, looking for a duplicate after {calls:,} (early)",
        Unit.MILLISECONDS,
        [one["late_look_up_ms"] for one in found],
        [one["early_look_up_ms"] for one in found],
        LOOK_UP_GOAL,
    )


def _session(folder: Path, calls: int) -> dict[str, float]:
    folder.mkdir()
    package = Path(str(signoff.__file__)).resolve().parents[1]
    child = Path(__file__).with_name("toolbatch_child.py")
    done = subprocess.run(
        (sys.executable, str(child), str(folder), str(calls)),
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"a session for the benchmark failed: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found
