"""Judging with lanes: side by side, in a known order, and nobody waits for it who need not."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.cli.kit import Desk
from tests.cli.lanes import NEEDS_LANES, WRITE, confine, rooms, together, until
from tests.cli.plans import Step, step

pytestmark = NEEDS_LANES


@pytest.fixture
def confined(desk: Desk) -> Desk:
    return confine(desk)


def tallied(desk: Desk, *commands: str) -> list[Step]:
    """Steps whose checks leave a line each time they run."""
    tally = desk.agents / "tally"
    return [
        step(f"Room {i}", f"echo {command!r} >> {tally}; {command}", needs="none")
        for i, command in enumerate(commands, 1)
    ]


def ran_before_any_agent(desk: Desk) -> list[str]:
    return sorted((desk.agents / "before").read_text().splitlines())


def place_of(desk: Desk, kind: str, step_id: str, **data: Any) -> int:
    """Where in the ledger the first such entry is."""
    return next(
        int(e["seq"])
        for e in desk.entries(kind)
        if e["step"] == step_id and data.items() <= e["data"].items()
    )


def test_a_red_check_is_tried_in_the_workspace_once_where_there_are_by_products(
    confined: Desk,
) -> None:
    confined.file(".gitignore", "node_modules/\n").file("node_modules/x/i.js", "1\n")
    checks = [f"grep -q done room-{i}" for i in (1, 2, 3)]
    confined.agent(f'cp -n "${{0%/*}}/tally" "${{0%/*}}/before"; {WRITE}')
    confined.plan(*tallied(confined, *checks)).run("--yes", "--jobs", "3").exits(0)
    assert ran_before_any_agent(confined) == sorted(checks * 2)


def test_a_check_that_works_in_the_workspace_only_is_still_judged_there(confined: Desk) -> None:
    confined.file(".gitignore", "node_modules/\n").file("node_modules/x/i.js", "1\n")
    writes = "echo 2 > node_modules/x/log || exit 3; grep -q done room-{}"
    confined.agent(WRITE)
    steps = [step(f"Room {i}", writes.format(i), needs="none") for i in (1, 2)]
    confined.plan(*steps).run("--yes", "--jobs", "2").exits(0)
    first = [e["data"] for e in confined.entries("verdict") if e["data"]["phase"] == "baseline"]
    assert [v["judged_in"] for v in first] == ["workspace"] * 2
    assert all(v["outgrew_room"] for v in first)


@pytest.mark.parametrize("byproducts", [False, True])
def test_identical_checks_are_judged_once_before_anybody_works(
    confined: Desk, byproducts: bool
) -> None:
    if byproducts:
        confined.file(".gitignore", "node_modules/\n").file("node_modules/x/i.js", "1\n")
    confined.agent('cp -n "${0%/*}/tally" "${0%/*}/before"; echo done > room')
    same = tallied(confined, *["grep -q done room"] * 3)
    confined.plan(*same).run("--yes", "--jobs", "3")
    # In a clean room, and where that could differ in the workspace.
    assert len(ran_before_any_agent(confined)) == 1 + byproducts


def test_verdicts_before_the_work_are_noted_down_in_the_plans_order(confined: Desk) -> None:
    confined.file(".gitignore", "node_modules/\n").file("node_modules/x/i.js", "1\n")
    meet = confined.agents / "meet"
    wait = {1: f"{until(meet / '2')}; ", 2: f"{until(meet / '3')}; ", 3: ""}
    steps = [
        step(f"Room {i}", f"{wait[i]}touch {meet}/{i}; grep -q done room-{i}", needs="none")
        for i in (1, 2, 3)
    ]
    confined.agent(WRITE).plan(*steps).run("--yes", "--jobs", "3").exits(0)
    first = [e["step"] for e in confined.entries("verdict") if e["data"]["phase"] == "baseline"]
    assert first == ["1", "2", "3"]


@pytest.mark.parametrize("red_first", ["record", "required"])
def test_a_later_check_is_looked_at_while_the_agent_works_unless_red_is_required(
    confined: Desk, red_first: str
) -> None:
    meet = confined.agents / "meet"
    # On what the first step made; on what was approved nobody works yet.
    looks = f"touch {meet}/looks; {until(meet / 'works')};" if red_first == "record" else ""
    check = f"grep -q done room-2 || {{ test -e room-1 && {{ {looks} false; }}; }}"
    wait = f"touch {meet}/works; {until(meet / 'looks')};" if red_first == "record" else ""
    confined.agent(f"if [ $SIGNOFF_STEP = 2 ]; then {wait} true; fi; {WRITE}")
    later = step("Room 2", check, needs="1", red_first=red_first)
    confined.plan(rooms(1)[0], later).run("--yes", "--jobs", "2").exits(0)
    began = place_of(confined, "attempt.started", "2")
    seen = place_of(confined, "verdict", "2", phase="before")
    assert (began < seen) == (red_first == "record")


def test_an_agent_begins_while_a_landing_is_judged(confined: Desk) -> None:
    """The first check ends only once the fourth agent works, for which the second made room."""
    meet = confined.agents / "meet"
    first = f"grep -q done room-1 && touch {meet}/judged && {until(meet / 'last')}"
    confined.agent(
        f"case $SIGNOFF_STEP in\n2) {until(meet / 'judged')} ;;\n3) {until(meet / 'last')} ;;\n"
        f"4) touch {meet}/last ;;\nesac\n{WRITE}"
    )
    confined.plan(step("Room 1", first, needs="none"), *rooms(4)[1:])
    confined.run("--yes", "--jobs", "2").exits(0)
    assert place_of(confined, "attempt.started", "4") < place_of(confined, "step.landed", "1")


def land_behind(desk: Desk, agent: str, *steps: Step) -> None:
    """A run in which two steps end while the first lands, whose check waits until they have."""
    go, judged = desk.agents / "go", desk.agents / "judged"
    check = f"grep -q done room-1 && touch {judged} && {until(go)}"
    desk.agent(f"[ $SIGNOFF_STEP = 1 ] || {{ {until(judged)}; }}\n{agent}")
    desk.plan(step("Room 1", check, needs="none"), *steps)
    running = desk.start("run", "PLAN.md", "--yes", "--jobs", "3")
    running.until(lambda: len(desk.entries("attempt.finished")) == 3)
    go.touch()
    running.end().exits(0)


def test_steps_that_are_ready_together_land_as_one(confined: Desk) -> None:
    land_behind(confined, WRITE, *rooms(3)[1:])
    landed = {e["step"]: e["data"] for e in confined.entries("step.landed")}
    assert landed["2"] == landed["3"] != landed["1"]


def test_steps_that_do_not_hold_together_land_one_by_one(confined: Desk) -> None:
    confined.file("limit.py", "limit = 5\n")
    land_behind(
        confined,
        "case $SIGNOFF_STEP in\n1) echo done > room-1 ;;\n2) echo limit = 9 > limit.py ;;\n"
        "3) cp limit.py copy.py ;;\nesac",
        step("Raise", "grep -q 9 limit.py", needs="none"),
        step("Copy", "cmp limit.py copy.py", needs="none", on_fail="abort"),
    )
    assert [e["step"] for e in confined.entries("step.landed")] == ["1", "2"]
    assert [e["step"] for e in confined.entries("step.turned_back")] == ["3"]
    assert confined.read("copy.py") == "limit = 9\n"


def test_identical_checks_are_judged_once_by_the_sweep(confined: Desk) -> None:
    tally = confined.agents / "tally"
    same = f"echo x >> {tally}; grep -q done room-1 && grep -q done room-2"
    both = [step(f"Both {i}", same, needs="1, 2") for i in (3, 4)]
    confined.agent(f"{WRITE}").plan(*rooms(2), *both, step("End", "test -e room-5", needs="3, 4"))
    confined.run("--yes", "--jobs", "2")
    swept = [e["data"] for e in confined.entries("verdict") if e["data"]["phase"] == "sweep"]
    again = {v["subject"]: v["reused_from"] is not None for v in swept}
    assert again["3"] != again["4"]


def test_a_kill_with_several_lanes_repeats_what_was_at_work_and_nothing_else(
    confined: Desk,
) -> None:
    go = confined.agents / "go"
    confined.agent(f"[ $SIGNOFF_STEP -gt 2 ] && {{ {until(go)}; }}\n{WRITE}")
    confined.plan(*rooms(5))
    running = confined.start("run", "PLAN.md", "--yes", "--jobs", "3")
    at_work = {"3", "4", "5"}
    running.until(
        lambda: (
            len(confined.entries("attempt.started")) == 5
            and len(confined.entries("step.done")) == 2
        )
    )
    running.process.send_signal(signal.SIGKILL)
    running.end()
    go.touch()
    confined.run("--jobs", "3").exits(0)
    started = [e["step"] for e in confined.entries("attempt.started")]
    assert sorted(started) == ["1", "2", "3", "3", "4", "4", "5", "5"]
    lost = [e["step"] for e in confined.entries("attempt.finished") if e["data"].get("lost")]
    assert {*lost} == at_work


def test_steps_that_produce_the_same_files_wait_until_the_other_has_landed(
    confined: Desk,
) -> None:
    confined.agent(f"{together(2)}\nmkdir -p out; echo done >> out/list; {WRITE}")
    steps = [
        step(
            f"Room {i}",
            f"test $(grep -c done out/list) -ge {i}",
            needs="none",
            produces=["out/**", f"room-{i}"],
        )
        for i in (1, 2)
    ]
    confined.plan(*steps, rooms(3)[2]).run("--yes", "--jobs", "3").exits(0)
    assert "step.turned_back" not in confined.kinds()
    assert place_of(confined, "step.done", "1") < place_of(confined, "attempt.started", "2")
