"""Random plans side by side end as in line: the same steps proved, the same work there."""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from signoff.process.sandboxes import best_isolation
from tests.cli.ended import Ended
from tests.cli.kit import Desk
from tests.cli.plans import Step, step

pytestmark = pytest.mark.skipif(
    not best_isolation(None).has_own_view, reason="needs bubblewrap or user namespaces"
)
STEPS = 6
FEW, MANY = 6, 200
ACTS = {
    "own": "echo {n} > own-{n}",
    # Who was lost in the workspace left its line there: the next one looks.
    "shared": '[ $attempt -gt 1 ] && grep -qw {n} shared || sed -i "1s/^/{n} /" shared',
    "apart": 'sed -i "s/^line {n}$/line {n} of {n}/" long',
    "liar": "echo I am done",
    "regression": "echo {n} > own-{n}; rm -f own-1",
}
PROOFS = {
    "own": "grep -qx {n} own-{n}",
    "shared": "grep -qw {n} shared",
    "apart": "grep -qx 'line {n} of {n}' long",
    "liar": "test -e never-{n}",
    "regression": "grep -qx {n} own-{n}",
}
CHANGES = {
    "own": "trace-{n} own-{n}",
    "shared": "trace-{n} shared",
    "apart": "trace-{n} long",
    "liar": "trace-{n}",
    "regression": "trace-{n} own-{n} own-1",
}
KILLED_AT = ("attempt-started", "agent-ended", "attempt-finished", "landed", "projected")


class Chosen(NamedTuple):
    """One random plan: what each step's agent does, and what it needs."""

    acts: list[str]
    needs: list[str]
    told: bool  # what each changes, so that those which change the same are kept apart

    def steps(self) -> list[Step]:
        return [
            step(f"Part {n}", PROOFS[act].format(n=n), needs=needs, **self._lines(n, act))
            for n, (act, needs) in enumerate(zip(self.acts, self.needs, strict=True), 1)
        ]

    def _lines(self, number: int, act: str) -> dict[str, Any]:
        touches = {"touches": CHANGES[act].format(n=number).split()} if self.told else {}
        return {"on_fail": "escalate", **touches}


def choose(chance: random.Random) -> Chosen:
    acts = [chance.choice(["own", "shared", "shared", "apart", "liar"]) for _ in range(STEPS)]
    needs = ["none"]
    for number in range(2, STEPS + 1):
        needed = [str(n) for n in range(1, number) if chance.random() < 0.25]
        needs.append(", ".join(needed) or "none")
    if chance.random() < 0.3:
        acts[0], acts[-1] = "own", "regression"
        needs[-1] = "1"  # else it may come first, and break nothing
    return Chosen(acts, needs, told=chance.random() < 0.5)


def prepare(desk: Desk, chosen: Chosen) -> Desk:
    acts = desk.agents / "acts"
    acts.mkdir()
    for number, act in enumerate(chosen.acts, 1):
        text = f"echo > trace-{number}; {ACTS[act].format(n=number)}"
        (acts / str(number)).write_text(text)
    desk.person(f'[sandbox]\nwritable = ["{desk.agents}"]\n')
    desk.file("shared", "base\n").file(
        "long", "\n\n\n".join(f"line {n}" for n in range(STEPS + 2)) + "\n"
    )
    return desk.git().agent('. "${0%/*}/acts/$SIGNOFF_STEP"').plan(*chosen.steps())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("seed", range(MANY if metafunc.config.getoption("soak") else FEW))


def test_a_random_plan_ends_side_by_side_as_it_ends_in_line(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    chosen = choose(chance)
    line, beside = Desk(tmp_path / "line"), Desk(tmp_path / "beside")
    try:
        expected = prepare(line, chosen).run("--yes", "--jobs", "1").code
        point = f"{chance.choice(KILLED_AT)}:{chance.randint(1, 4)}"
        prepare(beside, chosen).variable(SIGNOFF_CRASH_AT=point)
        killed = watched(beside, "--yes").code
        del beside.variables["SIGNOFF_CRASH_AT"]
        assert killed in (expected, -signal.SIGKILL), (point, killed)
        assert watched(beside).code == expected
        assert states(beside) == states(line)
        assert work(beside, chosen) == work(line, chosen)
        assert not chosen.told or "step.turned_back" not in beside.kinds()
        seen = [e["data"] for e in beside.entries("step.landed")]
        assert all(data["onto"] != data["snapshot"] for data in seen)
    finally:
        line.close()
        beside.close()


def watched(desk: Desk, *arguments: str) -> Ended:
    """Run side by side, and see that nothing of a lane is in the workspace before it landed."""
    running = desk.start("run", "PLAN.md", "--jobs", "4", *arguments)
    seen = {path.name for path in desk.workspace.glob("trace-*")}

    def over() -> bool:
        new = {path.name for path in desk.workspace.glob("trace-*")} - seen
        seen.update(new)
        if new:
            lane = {e["step"]: e["data"].get("lane") for e in desk.entries("attempt.started")}
            landed = {e["step"] for e in desk.entries("step.landed")}
            early = {f"trace-{n}" for n in lane if lane[n] and n not in landed} & new
            assert not early, early
        return running.process.poll() is not None

    running.until(over)
    return running.end()


def states(desk: Desk) -> dict[str, str]:
    status = desk.status()
    return {"gate": status["gate"], **{s["id"]: s["state"] for s in status["steps"]}}


def work(desk: Desk, chosen: Chosen) -> dict[str, object]:
    """What lies in the workspace, where the order in which others landed makes no difference."""
    own = {p.name: p.read_text() for p in desk.workspace.glob("own-*")}
    return {"own": own, "long": desk.read("long"), "shared": sorted(desk.read("shared").split())}
