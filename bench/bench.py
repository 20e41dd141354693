"""Speed and memory as ratios to a floor measured in the same run: `make bench`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from lines import Line, heading
from measure_agent import agent_loop
from measure_board import board
from measure_cleanroom import clean_room
from measure_content import appends, snapshots
from measure_doors import hooks, mcp
from measure_judging import judging, watching
from measure_lanes import lanes
from measure_plans import memory, parsing
from measure_runs import resume, start_up, steps
from measure_toolbatch import tool_batches
from measure_vault import fast_doors, vault_writes
from sizes import QUICK, Sizes

SCHEMA_VERSION = 1
PARTS: dict[str, Callable[[Path, Sizes], Iterator[Line]]] = {
    "steps": steps,
    "parsing": parsing,
    "start-up": start_up,
    "fast-doors": fast_doors,
    "hook": hooks,
    "mcp": mcp,
    "agent-loop": agent_loop,
    "tool-batches": tool_batches,
    "resume": resume,
    "lanes": lanes,
    "snapshots": snapshots,
    "clean-room": clean_room,
    "judging": judging,
    "watching": watching,
    "memory": memory,
    "appends": appends,
    "vault": vault_writes,
    "board": board,
}


def main() -> None:
    """Measure, and show each line as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--quick", action="store_true", help="small sizes; numbers mean little")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; repeatable")
    given = parser.parse_args()
    shown = []
    busy, cores = os.getloadavg()[0], os.cpu_count() or 1
    if busy > cores:
        note = f"load {busy:.0f} on {cores} cores: seconds are too long, ratios too noisy"
        print(f"note: {note}", file=sys.stderr)
    if not given.json:
        print(heading(), flush=True)
    for line in measure(given.only or list(PARTS), QUICK if given.quick else Sizes()):
        shown.append(line.as_json())
        if not given.json:
            print(line.as_text(), flush=True)
    if given.json:
        print(json.dumps({"schema_version": SCHEMA_VERSION, "lines": shown}, indent=1))


def measure(parts: list[str], sizes: Sizes) -> Iterator[Line]:
    """Each part in a folder of its own, removed afterwards."""
    for part in parts:
        with tempfile.TemporaryDirectory(prefix="signoff-bench-") as folder:
            yield from PARTS[part](Path(folder), sizes)


if __name__ == "__main__":
    main()
