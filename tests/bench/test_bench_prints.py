"""The benchmark runs as people run it and prints every line; how fast is not asked here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.process.sandboxes import probe_sandboxes

BENCH = Path(__file__).parents[2] / "bench" / "bench.py"

SANDBOXES = [str(s.isolation) for s in probe_sandboxes() if s.available]
WAYS = (*SANDBOXES, *(("a clean room",) if "bubblewrap" in SANDBOXES else ()))
BEST = SANDBOXES[:1] or ["none"]
OWN_VIEW = [name for name in SANDBOXES if name != "landlock"][:1]
AFTER_WORK = [*(name for name in SANDBOXES if name == "landlock"), *OWN_VIEW]
DOORS = ("resolve-active-plan", "list-plans", "session-start")
EVENTS = ("stop", "before-tool", "session-start")
LANES = (
    "six steps in line",
    "six steps independent",
    "8 independent steps",
    "strength, 24 versions on 4 lanes",
    "lane of 100 files, made",
    "lane of 100 files, used again",
)
CLAIMS = (
    *(
        f"step, {kind} agent{how}"
        for kind in ("idle", "working")
        for how in (" (", ", none (two bare spawns)")
    ),
    *(
        f"step, {kind} agent, landlock (two bare spawns)"
        for kind in ("idle", "working")
        if "landlock" in SANDBOXES
    ),
    "parse and verify 50 steps: 2 kinds",
    "parse and verify 50 steps: 10 kinds",
    "start-up of `signoff --version`",
    "start-up of `signoff verify`",
    "start-up of `signoff status`",
    *(f"`signoff {door}`, {count} plans" for count in (3, 20) for door in DOORS),
    *(f"`signoff hook` {event}, no plan" for event in EVENTS),
    *(
        f"`signoff hook` stop, 3 {how}, {sandbox}"
        for sandbox in ("no sandbox", *BEST)
        for how in ("kept contracts", "contracts judged")
    ),
    "start-up of `signoff mcp`",
    "`plan_show` over MCP",
    "agent, harness per turn of 8",
    "agent, memory after 8 turns",
    "tool batches, per call of 200",
    "tool batches, memory after 200 calls",
    "tool batches, looking for a duplicate after 200",
    "attempts made again",
    "until step",
    *(LANES if "bubblewrap" in SANDBOXES or "namespaces" in SANDBOXES else ()),
    "cold",
    "warm (`git status`)",
    "warm (bare walk)",
    "again (bare walk)",
    "clean room of 100 files, made",
    "clean room of 100 files, unchanged",
    "clean room of 100 files, one file changed",
    "clean room of 100 files, asked what moved",
    "judging, 100 files",
    *(f"judging after work, {sandbox}, 100 files" for sandbox in ("no sandbox", *AFTER_WORK)),
    *(f"judging with {way}, 100 files" for way in WAYS),
    "pytest, 100 files, opens watched",
    "peak memory: planning",
    "peak memory: 2 MB of output",
    "durable append",
    "progress append, 2 writers",
    "plan swap, 2 writers",
    "board, first look at 20 plans",
    "board, look at 20 plans",
    "board, page of a run of 52 entries",
    "board, from an append to a page",
    "board, memory",
)


@pytest.mark.timeout(900)
def test_a_quick_run_prints_a_row_for_every_claim() -> None:
    heading, *rows = _bench("--quick").splitlines()
    assert heading.split() == ["what", "measured", "floor", "ratio", "goal"]
    assert len(rows) == len(CLAIMS)
    for claim, row in zip(CLAIMS, rows, strict=True):
        assert claim in row


def test_the_same_as_json_says_what_each_number_is() -> None:
    found = json.loads(_bench("--quick", "--json", "--only", "appends"))
    assert found["schema_version"] == 1
    (line,) = found["lines"]
    assert line["unit"] == "ms"
    assert line["ratio"] == pytest.approx(line["measured"] / line["floor"])
    assert line["ok"] is None, "a line without a goal is neither met nor missed"


def test_what_judging_and_watching_may_cost_is_a_goal_that_is_met_or_missed() -> None:
    found = json.loads(_bench("--quick", "--json", "--only", "judging", "--only", "watching"))
    lines = {line["what"]: line for line in found["lines"]}
    goals = {
        **{f"judging after work, {way}, 100 files": 1.15 for way in ("no sandbox", *AFTER_WORK)},
        "pytest, 100 files, opens watched": 1.05,
    }
    for what, goal in goals.items():
        assert lines[what]["goal"] == goal
        assert lines[what]["ok"] is (lines[what]["ratio"] <= goal)


def _bench(*options: str) -> str:
    done = subprocess.run(
        (sys.executable, str(BENCH), *options), capture_output=True, text=True, check=False
    )
    # What went wrong comes last; before it there may be a note about a busy machine.
    failure = done.stderr.strip().rpartition("\n")[2]
    assert done.returncode == 0, f"{failure}\n{done.stderr}"
    return done.stdout
