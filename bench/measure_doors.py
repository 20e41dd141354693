"""What a client pays at every turn: its hooks, and the MCP server it starts."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from floors import BARE_PYTHON, git
from lines import Line, Unit, compared
from scene import IDLE_AGENT, Scene, holds_already
from sizes import Sizes

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import best_isolation

NO_OP_GOAL = 3.0
STOP_GOAL = 15.0
EVENTS = {"stop": "Stop", "before-tool": "PreToolUse", "session-start": "SessionStart"}


def hooks(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Where nothing is planned every hook must be free; a stop that judges shows what it adds."""
    scene = _scene(folder / "none")
    (scene.workspace / "PLAN.md").unlink()
    yield from _hooks(scene, sizes, "no plan", EVENTS, NO_OP_GOAL)
    best = best_isolation(None)
    for isolation, sandbox in ((Isolation.NONE, "no sandbox"), (None, str(best))):
        scene = _scene(folder / sandbox.replace(" ", "-"), isolation)
        vault = scene.workspace / ".harness"
        vault.mkdir()
        (scene.workspace / "PLAN.md").rename(vault / "PLAN.md")
        program = (sys.executable, "-m", "signoff")
        role = f"coder={IDLE_AGENT}"
        _seconds((*program, "approve", "--yes", "--role", role), scene, b"")
        kept, judged = f"3 kept contracts, {sandbox}", f"3 contracts judged, {sandbox}"
        yield from _hooks(scene, sizes, kept, {"stop": "Stop"}, STOP_GOAL)
        yield from _hooks(scene, sizes, judged, {"stop": "Stop"}, None, anew=True)


def mcp(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """From the start of the server until it has answered `initialize`, then one tool call."""
    scene = _scene(folder / "mcp")
    started, called, floors = [], [], []
    for _ in range(sizes.start_rounds):
        floors.append(_seconds(BARE_PYTHON, scene, b"") * 1000)
        first_s, call_s = _talk(scene)
        started.append(first_s * 1000)
        called.append(call_s * 1000)
    yield compared("start-up of `signoff mcp`", Unit.MILLISECONDS, started, floors)
    yield compared("`plan_show` over MCP, after the first", Unit.MILLISECONDS, called, floors)


def _hooks(
    scene: Scene,
    sizes: Sizes,
    what: str,
    events: dict[str, str],
    goal: float | None,
    *,
    anew: bool = False,
) -> Iterator[Line]:
    """Each event as often as it takes; `anew` changes the content, so that nothing known counts."""
    found: dict[str, list[float]] = {event: [] for event in events}
    floors: list[float] = []
    for number in range(sizes.start_rounds + 1):
        floor_ms = _seconds(BARE_PYTHON, scene, b"") * 1000
        for event, name in events.items():
            told = {"session_id": "s", "cwd": str(scene.workspace), "hook_event_name": name}
            argv = (sys.executable, "-m", "signoff", "hook", "claude", event)
            if anew:
                (scene.workspace / "changed.txt").write_text(f"{number}\n")
            took_ms = _seconds(argv, scene, json.dumps(told).encode()) * 1000
            if number:  # the first time fills caches
                found[event].append(took_ms)
        if number:
            floors.append(floor_ms)
    for event, times in found.items():
        yield compared(f"`signoff hook` {event}, {what}", Unit.MILLISECONDS, times, floors, goal)


def _scene(folder: Path, isolation: Isolation | None = Isolation.NONE) -> Scene:
    scene = Scene(folder, 3, holds_already, IDLE_AGENT, isolation)
    git(scene.workspace, "init", "--quiet")
    return scene


def _seconds(argv: tuple[str, ...], scene: Scene, stdin: bytes) -> float:
    began = time.perf_counter()
    subprocess.run(
        argv, cwd=scene.workspace, env=scene.env, input=stdin, capture_output=True, check=False
    )
    return time.perf_counter() - began


def _talk(scene: Scene) -> tuple[float, float]:
    began = time.perf_counter()
    argv = (sys.executable, "-m", "signoff", "mcp")
    server = subprocess.Popen(
        argv,
        cwd=scene.workspace,
        env=scene.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    _ask(server, {"id": 1, "method": "initialize", "params": hello})
    first_s = time.perf_counter() - began
    _ask(server, {"method": "notifications/initialized"})
    show = {"name": "plan_show", "arguments": {}}
    _ask(server, {"id": 2, "method": "tools/call", "params": show})
    again = time.perf_counter()
    _ask(server, {"id": 3, "method": "tools/call", "params": show})
    call_s = time.perf_counter() - again
    server.communicate()
    return first_s, call_s


def _ask(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
    if "id" in message:
        assert b'"result"' in server.stdout.readline()
