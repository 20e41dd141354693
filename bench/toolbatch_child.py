"""A scripted session of many calls in a process of its own; prints its times and its memory."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from agent_child import memory_mb

from signoff.domain.digests import digest_bytes
from signoff.toolbatch.calls import Call, CallResult, Stream, propose
from signoff.toolbatch.opening import Parts, open_runner
from signoff.toolbatch.pipeline import BatchRunner
from signoff.toolbatch.view import BatchLimits

FILES = 20
TASK = "Create " + ", ".join(f"`out/{n}.txt`" for n in range(FILES)) + "."
# Errors and repetitions are part of the session; they must not end it.
LIMITS = BatchLimits(errors=10**9, repeats=10**9, looks=10**9)
LOOKED_UP = 500


def main() -> None:
    """`FOLDER CALLS`."""
    root, calls = Path(sys.argv[1]) / "work", int(sys.argv[2])
    root.mkdir()
    floor_s = _plain(root, calls)
    with_it = _session(root, calls)
    found = {
        "call_ms": with_it["spent_s"] * 1000 / calls,
        "floor_ms": floor_s * 1000 / calls,
        **with_it,
    }
    print(json.dumps(found))


def _plain(root: Path, calls: int) -> float:
    """The same calls, made and nothing else."""
    execute = _execute(root)
    made = [_proposed(root, number) for number in range(calls)]
    began = time.perf_counter()
    for call in made:
        execute(call)
    return time.perf_counter() - began


def _session(root: Path, calls: int) -> dict[str, float]:
    events = [0]

    def count(_event: object) -> None:
        events[0] += 1

    runner = open_runner(
        root, _execute(root), TASK, stream=Stream(count), parts=Parts(limits=LIMITS)
    )
    memory: list[float] = []
    look_up: list[float] = []
    began = time.perf_counter()
    beside_s = 0.0
    for number in range(calls):
        runner.run([_proposed(root, number)])
        paused = time.perf_counter()
        if number % 50 == 0:
            memory.append(memory_mb())
        if number in (LOOKED_UP, calls - 1) or calls <= LOOKED_UP:
            look_up.append(_look_up_s(root, runner))
        beside_s += time.perf_counter() - paused
    spent_s = time.perf_counter() - began - beside_s
    quarter = max(1, len(memory) // 4)
    return {
        "spent_s": spent_s,
        "early_mb": memory[quarter - 1],
        "late_mb": memory[-1],
        "early_look_up_ms": look_up[0] * 1000,
        "late_look_up_ms": look_up[-1] * 1000,
        "events": events[0],
    }


def _look_up_s(root: Path, runner: BatchRunner) -> float:
    """How long it takes to find that a call was made before."""
    call = propose("x", "read", {"path": "out/0.txt"}, root=root)
    runner.run([call])
    duplicates = runner.state.duplicates
    assert duplicates.repeated(call)
    best = 1.0
    for _ in range(30):
        began = time.perf_counter()
        duplicates.repeated(call)
        best = min(best, time.perf_counter() - began)
    return best


def _proposed(root: Path, number: int) -> Call:
    """Writes, looks, looks again, edits that do not match, commands, lists."""
    path, turn = f"out/{number % FILES}.txt", number % 10
    script: tuple[tuple[str, dict[str, Any]], ...] = (
        ("write", {"path": path, "content": f"version {number}\n" * 20}),
        ("read", {"path": path}),
        ("read", {"path": path}),
        ("edit", {"path": path, "old": f"nothing like {number}", "new": "x"}),
        ("read", {"path": f"gone/{number}.txt"}),
        ("bash", {"command": f"echo {number}"}),
        ("todo", {"items": [f"write part {number % 50}"]}),
        ("write", {"path": path, "content": f"version {number}\n" * 20}),
        ("scratchpad", {"key": "k", "text": str(number)}),
        ("write", {"path": path, "content": f"again {number}\n" * 20}),
    )
    tool, arguments = script[turn]
    return propose(f"c{number}", tool, arguments, root=root)


def _execute(root: Path) -> Any:
    (root / "out").mkdir(exist_ok=True)

    def execute(call: Call) -> CallResult:
        given = call.arguments
        if call.tool in ("bash", "todo", "scratchpad"):
            return CallResult("done", ok=True, content="same")
        file = root / given["path"]
        if call.tool == "write":
            data = given["content"].encode()
            file.write_bytes(data)
            return CallResult("written", ok=True, writes={call.target: digest_bytes(data)})
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            return CallResult(f"error: no file `{given['path']}`", ok=False)
        reads = {call.target: digest_bytes(data)}
        if call.tool == "edit":
            return CallResult("error: `old` does not occur in it", ok=False, reads=reads)
        return CallResult(data.decode(), ok=True, reads=reads)

    return execute


if __name__ == "__main__":
    main()
