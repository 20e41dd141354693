"""`[setup] command` with lanes: run once for all of them, and never an agent's fault."""

from __future__ import annotations

import json

import pytest

from tests.cli.kit import Desk
from tests.cli.lanes import NEEDS_LANES, WRITE, confine, rooms, together, until
from tests.cli.plans import step

pytestmark = NEEDS_LANES


@pytest.fixture
def confined(desk: Desk) -> Desk:
    return confine(desk).file(".gitignore", "vendor/\n").file("lock.txt", "good\n")


def set_up(desk: Desk, command: str) -> Desk:
    desk.roles["setup"] = f"[setup]\ncommand = {json.dumps(command)}\n"
    return desk


def test_a_set_up_runs_once_for_all_rooms_and_lanes(confined: Desk) -> None:
    tally = confined.agents / "tally"
    set_up(confined, f"echo x >> {tally}; mkdir -p vendor; cp lock.txt vendor/lib")
    for number in range(1, 5):
        confined.file(f"room-{number}", "to do\n")
    confined.agent(f"{together(4)}\ncat vendor/lib > room-$SIGNOFF_STEP; {WRITE}")
    confined.plan(*rooms(4)).run("--yes", "--jobs", "4").exits(0)
    assert tally.read_text().split() == ["x"]


def test_work_that_cannot_be_set_up_is_broken_and_mended_in_its_lane(confined: Desk) -> None:
    set_up(confined, "grep -qx good lock.txt && mkdir -p vendor && cp lock.txt vendor/lib")
    spoil = "if [ $attempt = 1 ]; then echo bad; else echo good; fi > lock.txt"
    confined.agent(f"{together(2)}\n{WRITE}\nif [ $SIGNOFF_STEP = 1 ]; then {spoil}; fi")
    confined.plan(*rooms(2, on_fail="retry(1), then abort")).run("--yes", "--jobs", "2").exits(0)
    (broken,) = (
        e["data"]
        for e in confined.entries("verdict")
        if e["data"]["phase"] == "attempt" and e["data"]["result"] != "kept"
    )
    assert "on the approved content it goes well" in broken["message"]
    assert all(e["data"]["lane"] for e in confined.entries("attempt.started"))
    assert len(confined.entries("attempt.started")) == 3
    assert "step.turned_back" not in confined.kinds()


def test_a_set_up_that_fails_on_the_approved_content_too_is_asked_about(confined: Desk) -> None:
    ready = confined.agents / "ready"
    set_up(confined, f"test -e {ready} && mkdir -p vendor")
    confined.agent(f"{together(2)}\n{WRITE}").plan(*rooms(2, red_first="off"))
    confined.run("--yes", "--jobs", "2").exits(6)
    asked = confined.entries("escalation.opened")
    assert {e["data"]["cause"] for e in asked} == {"obstacle"} and len(asked) == 2
    assert all("set-up failed" in e["data"]["question"] for e in asked)
    assert confined.attempts() == []
    ready.touch()
    for item in confined.inbox():
        confined.signoff("answer", item["id"], "retry").exits(0)
    confined.run("--jobs", "2").exits(0)
    assert {e["data"]["lane"] for e in confined.entries("attempt.started")} == {1, 2}


def test_a_lane_that_is_set_up_holds_nobody_up(confined: Desk) -> None:
    """The set-up of both lanes ends only once the agent in the workspace has worked."""
    go = confined.agents / "go"
    set_up(confined, f"{until(go)}; mkdir -p vendor")
    confined.agent(f"[ $SIGNOFF_STEP = 3 ] && touch {go}; {WRITE}")
    here = step("Room 3", "grep -q done room-3", needs="none", judge_in="workspace")
    confined.plan(*rooms(2, red_first="off"), here).run("--yes", "--jobs", "3").exits(0)
    assert confined.dispatched()[0] == "3"
