"""Steps side by side against the same work without a harness; lanes against git's worktrees."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from floors import git, seconds_of
from lines import Line, Unit, compared
from scene import Scene, window_of
from sizes import Sizes

from signoff.orchestrator.openrun import Lane
from signoff.process.sandboxes import best_isolation
from signoff.workspace.beside import WorkspaceAt
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.workspace import Workspace

IN_LINE_GOAL, INDEPENDENT_GOAL, POOL_GOAL = 1.25, 0.6, 1 / 0.85
MADE_GOAL, REUSED_GOAL = 1.5, 0.2
STRENGTH_GOAL = 10  # as often as one judging: what a measurement may take
SIX, VERSIONS = 6, 24
# Twelve functions, and a check that asks each of them for many numbers.
WORK = "\n".join(
    f"def part_{n}(x):\n    if x > {n}:\n        return x + {n}\n    return 0\n" for n in range(12)
)
CHECK = """import work
for n in range(12):
    for x in range(20):
        assert getattr(work, f"part_{n}")(x) == (x + n if x > n else 0)
"""


def lanes(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Nothing where no lane can be shown in the workspace's place."""
    if not best_isolation(None).has_own_view:
        return
    yield _six("in line", folder, sizes, IN_LINE_GOAL, needs="")
    yield _six("independent", folder, sizes, INDEPENDENT_GOAL, needs="none")
    yield _pool(folder, sizes)
    yield _strength(folder, sizes)
    yield from _lane(folder, sizes)


def _agent(pause_s: float) -> str:
    return f"bash --noprofile --norc -c 'sleep {pause_s}; : > made/$SIGNOFF_STEP'"


def _six(kind: str, folder: Path, sizes: Sizes, goal: float, needs: str) -> Line:
    """Six steps against six times agent and contract, one after the other."""
    pause_s = sizes.pause_s
    took = []
    for number in range(sizes.rounds):
        scene = Scene(
            folder / f"{needs}six-{number}",
            SIX,
            lambda n: f"sleep {pause_s}; test -f made/{n}",
            _agent(pause_s),
            jobs=4,
            needs=needs,
        )
        began = time.perf_counter()
        scene.run()
        took.append(time.perf_counter() - began)
    what = f"six steps {kind}, agent and contract {pause_s:g} s, 4 jobs"
    return compared(what, Unit.SECONDS, took, [SIX * 2 * pause_s] * len(took), goal)


def _pool(folder: Path, sizes: Sizes) -> Line:
    """Many independent steps against a bare pool of as many threads; start-up does not count."""
    took, floors = [], []
    for number in range(sizes.rounds):
        scene = Scene(
            folder / f"pool-{number}",
            sizes.pool_steps,
            lambda n: f"test -f made/{n}",
            _agent(sizes.pause_s),
            jobs=8,
            needs="none",
        )
        scene.run()
        took.append(window_of(scene.entries()).seconds)
        began = time.perf_counter()
        with ThreadPoolExecutor(8) as pool:
            shells = [("/bin/sh", "-c", f"sleep {sizes.pause_s}")] * sizes.pool_steps
            list(pool.map(seconds_of, shells, [folder] * sizes.pool_steps))
        floors.append(time.perf_counter() - began)
    what = f"{sizes.pool_steps} independent steps of {sizes.pause_s:g} s, 8 jobs"
    return compared(what, Unit.SECONDS, took, floors, POOL_GOAL)


def _strength(folder: Path, sizes: Sizes) -> Line:
    """Wrong versions judged on four lanes, against one judging of the same contract."""
    took, floors = [], []
    contract = f"sleep {sizes.pause_s}; python3 check.py"
    for number in range(sizes.rounds):
        place = folder / f"strength-{number}"
        scene = Scene(place, 1, lambda _: contract, "cp made/work work.py", jobs=4)
        (scene.workspace / "made" / "work").write_text(WORK)
        (scene.workspace / "check.py").write_text(CHECK)
        scene.run()
        kept = [e["data"] for e in scene.entries() if e["kind"] == "verdict"][-1]
        argv = scene.argv("strength", "--json", "--jobs", "4", "--most", str(VERSIONS))
        done = subprocess.run(
            argv, cwd=scene.workspace, env=scene.env, capture_output=True, check=True
        )
        (step,) = json.loads(done.stdout)["steps"]
        took.append(step["strength"]["duration_s"])
        floors.append(kept["duration_s"])
    what = f"strength, {VERSIONS} versions on 4 lanes, contract {sizes.pause_s:g} s"
    return compared(what, Unit.SECONDS, took, floors, STRENGTH_GOAL)


def _lane(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """A checkout for an agent, new and once more, against a worktree of the same files."""
    root = folder / "tree"
    for number in range(sizes.files):
        place = root / f"folder-{number // 100}" / f"file-{number}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"line {number}\n" * 40)
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "--message=x")
    workspace = Workspace(root, folder / "store", apart=frozenset({".git"}))
    digest = workspace.snapshot().digest
    made, reused, floors = [], [], []
    for number in range(sizes.rounds):
        floors.append(git(root, "worktree", "add", "--quiet", "--detach", f"../tree-{number}"))
        lane = _new_lane(workspace, folder / f"lane-{number}")
        made.append(_checkout_s(lane, workspace, digest))
        (lane.checkout.path / "folder-0" / "file-0.txt").write_text("changed by an agent\n")
        reused.append(_checkout_s(lane, workspace, digest))
    what = f"lane of {sizes.files:,} files"
    yield compared(f"{what}, made", Unit.SECONDS, made, floors, MADE_GOAL)
    yield compared(f"{what}, used again", Unit.SECONDS, reused, floors, REUSED_GOAL)


def _new_lane(workspace: Workspace, folder: Path) -> Lane:
    checkout = CleanRoom(workspace, folder)
    seen = Workspace(checkout.path, workspace.store, workspace.rules, workspace.apart)
    return Lane(1, checkout, seen, "bench")


def _checkout_s(lane: Lane, workspace: Workspace, digest: str) -> float:
    began = time.perf_counter()
    lane.checkout.workspace = WorkspaceAt(workspace, digest)
    lane.checkout.prepare(digest)
    return time.perf_counter() - began
