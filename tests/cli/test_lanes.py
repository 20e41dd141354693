"""`run --jobs N`: steps worked on side by side, each in a lane, and landed one onto the other."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from signoff.domain.verdict import Isolation
from tests.cli.kit import Desk
from tests.cli.lanes import NEEDS_LANES, WRITE, confine, rooms, together, until
from tests.cli.plans import step

pytestmark = NEEDS_LANES


@pytest.fixture
def confined(desk: Desk) -> Desk:
    return confine(desk)


def test_independent_steps_are_worked_on_at_the_same_time(confined: Desk) -> None:
    confined.agent(f"{together(3)}\n{WRITE}\nls > seen-$SIGNOFF_STEP").plan(*rooms(3))
    confined.run("--yes", "--jobs", "3").exits(0)
    for number in "123":
        seen = confined.read(f"seen-{number}").split()
        assert f"room-{number}" in seen
        assert not {f"room-{other}" for other in "123" if other != number} & {*seen}
    assert {e["data"]["lane"] for e in confined.entries("attempt.started")} == {1, 2, 3}
    assert len(confined.entries("step.landed")) == 3
    status = confined.status()
    assert status["gate"] == "open" and status["status"] == "done"


def test_a_settings_line_says_how_many(confined: Desk) -> None:
    config = (confined.folder / "config.toml").read_text()
    confined.person(f"{config}\n[run]\njobs = 2\n")
    confined.agent(f"{together(2)}\n{WRITE}").plan(*rooms(2))
    confined.run("--yes").exits(0)


def test_nothing_of_a_lane_is_in_the_workspace_before_it_landed(confined: Desk) -> None:
    go = confined.agents / "go"
    confined.agent(f"{WRITE}\n{together(2)}\nuntil [ -e {go} ]; do sleep 0.05; done")
    confined.plan(*rooms(2))
    running = confined.start("run", "PLAN.md", "--yes", "--jobs", "2")
    running.until(lambda: len(list((confined.agents / "meet").iterdir())) == 2)
    assert not [p.name for p in confined.workspace.glob("room-*")]
    assert {n for s in confined.status()["steps"] for n in s["lanes"]} == {1, 2}
    confined.about_plan("status").shows("in lane 1", "in lane 2")
    go.touch()
    running.end().exits(0)
    assert len(list(confined.workspace.glob("room-*"))) == 2


def test_the_live_view_shows_who_works_in_which_lane(confined: Desk) -> None:
    confined.agent(f"{together(2)}\n{WRITE}").plan(*rooms(2))
    shown = confined.at_terminal("run", "PLAN.md", "--yes", "--jobs", "2").exits(0).stdout
    frames = re.split(r"\x1b\[\d*A", shown)
    assert any("Room 1 · in lane 1" in f and "Room 2 · in lane 2" in f for f in frames), shown


def test_steps_that_need_others_wait_for_them(confined: Desk) -> None:
    last = step("Roof", "grep -q done roof && grep -q done room-1", needs="1, 2")
    confined.agent(f'if [ "$SIGNOFF_STEP" = 3 ]; then cat room-1 room-2 > roof; else {WRITE}; fi')
    confined.plan(*rooms(2), last).run("--yes", "--jobs", "3").exits(0)
    assert sorted(confined.dispatched()[:2]) == ["1", "2"] and confined.dispatched()[2:] == ["3"]


def test_without_needs_the_order_is_the_files(confined: Desk) -> None:
    plain = [step(f"Room {i}", f"grep -q done room-{i}") for i in (1, 2)]
    confined.agent(WRITE).plan(*plain).run("--yes", "--jobs", "4").exits(0)
    assert confined.dispatched() == ["1", "2"]
    assert "step.landed" not in confined.kinds()


def test_steps_that_touch_the_same_files_are_kept_apart(confined: Desk) -> None:
    confined.agent('date +%s%N > "start-$SIGNOFF_STEP"; sleep 0.3; echo done >> shared')
    steps = [
        step(
            f"Room {i}",
            f"test $(grep -c done shared) -ge {i}",
            needs="none",
            touches=["shared", f"start-{i}"],
        )
        for i in (1, 2)
    ]
    confined.plan(*steps).run("--yes", "--jobs", "2").exits(0)
    assert "step.turned_back" not in confined.kinds()
    assert confined.read("shared").split() == ["done", "done"]


def test_changes_in_different_places_of_one_file_land_together(confined: Desk) -> None:
    confined.file("list", "".join(f"line {i}\n" for i in range(20)))
    edit = 'sed -i "s/^line $((SIGNOFF_STEP * 5))$/done $SIGNOFF_STEP/" list'
    confined.agent(f"{together(2)}\n{edit}")
    steps = [step(f"Edit {i}", f"grep -q 'done {i}' list", needs="none") for i in (1, 2)]
    confined.plan(*steps).run("--yes", "--jobs", "2").exits(0)
    text = confined.read("list")
    assert "done 1\n" in text and "done 2\n" in text
    assert "step.turned_back" not in confined.kinds()


def test_a_step_whose_files_collide_is_done_again_on_what_landed(confined: Desk) -> None:
    confined.file("name", "nobody\n")
    confined.agent(f'{together(2)}\nsed -i "1s/$/ $SIGNOFF_STEP/" name')
    steps = [
        step(f"Name {i}", f"grep -q ' {i}' name", needs="none", on_fail="abort") for i in (1, 2)
    ]
    confined.plan(*steps).run("--yes", "--jobs", "2").exits(0)
    assert sorted(confined.read("name").split()) == ["1", "2", "nobody"]
    (back,) = confined.entries("step.turned_back")
    assert "`name`" in back["data"]["message"]
    again = [a for a in confined.attempts() if a.step == back["step"]][-1]
    assert (
        "You start again from what the project holds now" in again.prompt
        and "`name`" in again.prompt
    )


def test_a_step_whose_check_breaks_on_what_landed_is_done_again(confined: Desk) -> None:
    confined.file("limit.py", "limit = 5\n")
    # The third begins when the first has landed; until then the second waits with its copy.
    confined.agent(
        'meet="${0%/*}/meet"; touch "$meet/$SIGNOFF_STEP"\n'
        "case $SIGNOFF_STEP in\n1) echo limit = 9 > limit.py ;;\n3) touch end.py ;;\n"
        '2) cp limit.py copy.py; until [ -e "$meet/3" ]; do sleep 0.05; done ;;\nesac'
    )
    steps = [
        step("Raise", "grep -q 9 limit.py", needs="none"),
        step("Copy", "cmp limit.py copy.py", needs="none", on_fail="abort"),
        step("End", "test -e end.py", needs="1"),
    ]
    confined.plan(*steps).run("--yes", "--jobs", "2").exits(0)
    assert confined.read("copy.py") == "limit = 9\n"
    (back,) = confined.entries("step.turned_back")
    assert back["step"] == "2" and "broken" in back["data"]["message"]


def test_contracts_are_judged_side_by_side_before_anybody_works(confined: Desk) -> None:
    """Each check waits for the others: one after the other, none would ever end."""
    meet = confined.agents / "meet"
    wait = f"until [ $(ls {meet} | wc -l) -ge 3 ]; do sleep 0.05; done"
    steps = [
        step(f"Room {i}", f"touch {meet}/{i}; {wait}; grep -q done room-{i}", needs="none")
        for i in (1, 2, 3)
    ]
    confined.agent(WRITE).plan(*steps).run("--yes", "--jobs", "3").exits(0)


LISTEN = """python3 -c "
import socket, pathlib, time
with socket.create_server(('127.0.0.1', {port})):
    meet = pathlib.Path('{meet}'); (meet / '{me}').touch()
    while len(list(meet.iterdir())) < {count}: time.sleep(0.05)
"
"""


def test_two_contracts_that_listen_on_one_port_are_judged_at_once(confined: Desk) -> None:
    meet = confined.agents / "meet"
    listens = [LISTEN.format(port=18765, meet=meet, me=i, count=2) for i in (1, 2)]
    steps = [
        step(f"Room {i}", f"{s}grep -q done room-{i}", needs="none")
        for i, s in enumerate(listens, 1)
    ]
    confined.agent(WRITE).plan(*steps).run("--yes", "--jobs", "2").exits(0)
    assert {v["data"]["result"] for v in confined.entries("verdict")} == {"broken", "kept"}


def test_contracts_that_share_a_network_or_need_the_workspace_stay_in_line(
    confined: Desk,
) -> None:
    # Alone on its port, or it could not listen: the one before has ended.
    port = LISTEN.format(port=18766, meet=confined.agents / "meet", me="any", count=1)
    shared = [
        step(f"Room {i}", f"{port}grep -q done room-{i}", needs="none", network="yes")
        for i in (1, 2)
    ]
    here = step("Room 3", "grep -q done room-3", needs="none", judge_in="workspace")
    last = step("Room 4", "grep -q done room-4", needs="none", effects="external")
    ran = confined.agent(WRITE).plan(*shared, here, last).run("--yes", "--jobs", "4").exits(0)
    ran.shows(
        "1: in line, not beside others: `network: yes`",
        "2: in line",
        "3: in line, not beside others: `judge_in",
    )
    ran.shows("4: in line, not beside others: `effects: external`")
    assert confined.dispatched() == ["1", "2", "3", "4"]
    assert not any("lane" in e["data"] for e in confined.entries("attempt.started"))


def test_an_audit_judges_side_by_side_and_identical_contracts_once(confined: Desk) -> None:
    # Once the agents are done, a check takes until the test lets go: it waits for a file outside.
    go, told = confined.agents / "go", confined.agents / "told"
    twin = f"echo judged >> {told}; grep -q done room-1"
    wait = f"until [ -e {go} ]; do sleep 0.05; done"
    checks = [f"grep -q done room-{i} && {{ {wait}; }}" for i in (1, 2)]
    steps = [step(f"Room {i}", check, needs="none") for i, check in enumerate(checks, 1)]
    go.touch()
    plan = confined.agent(WRITE).plan(*steps, post=[("Both", twin), ("Both again", twin)])
    plan.run("--yes").exits(0)
    in_line = confined.about_plan("audit", "--json").exits(0)
    go.unlink()
    told.unlink()
    running = confined.start("audit", "PLAN.md", "--jobs", "4", "--json")
    running.until(lambda: len(list(confined.home.glob("lanes/*/room-*"))) == 3)
    go.touch()
    again = running.end().exits(0)
    assert again.json["lines"] == in_line.json["lines"]
    assert told.read_text() == "judged\n"
    assert not list(confined.home.glob("lanes/*"))


def test_after_two_collisions_a_step_is_worked_on_in_the_workspace(confined: Desk) -> None:
    confined.file("name", "nobody\n")
    # A quick step begins once the one before it has landed: twice the slow one lets them go first.
    confined.agent(
        'meet="${0%/*}/meet"; touch "$meet/$SIGNOFF_STEP"\n'
        "if [ $SIGNOFF_STEP = 1 ] && [ $attempt -le 2 ]; then\n"
        '  until [ -e "$meet/$((attempt * 2 + 1))" ]; do sleep 0.05; done\nfi\n'
        'sed -i "1s/^/$SIGNOFF_STEP /" name'
    )
    quick = [
        step(f"Quick {i}", f"grep -qw {i} name", needs=str(i - 1) if i > 2 else "none")
        for i in range(2, 8)
    ]
    confined.plan(step("Slow", "grep -qw 1 name", needs="none"), *quick)
    confined.run("--yes", "--jobs", "2").exits(0)
    backs = [e["step"] for e in confined.entries("step.turned_back")]
    assert backs.count("1") == 2
    begun = [e["data"] for e in confined.entries("attempt.started") if e["step"] == "1"]
    assert ["lane" in data for data in begun] == [True, True, False]


def test_a_lie_in_a_lane_is_refused_and_never_seen_in_the_workspace(confined: Desk) -> None:
    confined.agent(
        f"{together(2)}\nif [ $SIGNOFF_STEP = 1 ]; then echo all done > boast; else {WRITE}; fi"
    )
    first, second = rooms(2, on_fail="escalate")
    confined.plan(first, second).run("--yes", "--jobs", "2").exits(6)
    assert not (confined.workspace / "boast").exists()
    assert confined.read("room-2") == "done\n"
    states = {s["id"]: s["state"] for s in confined.status()["steps"]}
    assert states == {"1": "blocked", "2": "done"}


def test_a_retry_goes_on_from_what_its_lane_held(confined: Desk) -> None:
    confined.agent(
        f"if [ $SIGNOFF_STEP = 2 ]; then {together(2)} {WRITE}; exit; fi\n"
        'touch "${0%/*}/meet/1"\nif [ -e half ]; then cp half room-1; else echo done > half; fi'
    )
    confined.plan(*rooms(2, on_fail="retry(1), then escalate")).run("--yes", "--jobs", "2").exits(0)
    assert confined.read("room-1") == "done\n"


def test_protected_files_hold_in_lanes(confined: Desk) -> None:
    confined.file("tests/check.sh", "grep -q done room-1\n")
    confined.agent(
        f"{together(2)}\n"
        f"if [ $SIGNOFF_STEP = 1 ]; then echo true > tests/check.sh; else {WRITE}; fi"
    )
    cheat = step(
        "Room 1",
        "sh tests/check.sh",
        needs="none",
        protects=["tests/**"],
        on_fail="escalate",
    )
    confined.plan(cheat, rooms(2)[1]).run("--yes", "--jobs", "2").exits(6)
    (refused,) = [
        e
        for e in confined.entries("verdict")
        if e["step"] == "1" and e["data"]["phase"] == "attempt"
    ]
    assert refused["data"]["reason"] == "tampered"
    assert confined.read("tests/check.sh") == "grep -q done room-1\n"


def test_the_agents_of_other_lanes_share_the_budget(confined: Desk) -> None:
    report = json.dumps({"tokens": 10, "usd": 0})
    confined.agent(f"{together(2)}\n{WRITE}\necho '{report}' > \"$SIGNOFF_USAGE_FILE\"")
    known = rooms(2, estimate="10 tokens")
    confined.plan(*known, budget="max 100 tokens").run("--yes", "--jobs", "2").exits(0)
    assert confined.status()["spent"]["tokens"] == 20


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ("max 100 tokens", {"tokens": 60, "usd": 0}),
        ("$1.00", {"tokens": 5, "usd": 0.6}),
        ("6 seconds", {}),
    ],
)
def test_a_budget_holds_with_several_lanes_as_with_one(
    confined: Desk, budget: str, told: dict[str, float]
) -> None:
    takes = "" if told else "sleep 4;"
    confined.agent(f"{takes} {WRITE}; echo '{json.dumps(told)}' > \"$SIGNOFF_USAGE_FILE\"")
    confined.plan(*rooms(3), budget=budget).run("--yes", "--jobs", "3").exits(6)
    assert len(confined.entries("attempt.started")) == 1
    assert "budget exceeded" in confined.inbox()[0]["question"]
    assert len(confined.entries("step.done")) == 1


def test_what_the_budget_does_not_allow_waits_for_who_is_at_work(confined: Desk) -> None:
    """The third is asked about only when the others have told what they used."""
    report = json.dumps({"tokens": 40, "usd": 0})
    confined.agent(f"{together(2)}\n{WRITE}\necho '{report}' > \"$SIGNOFF_USAGE_FILE\"")
    known = rooms(3, estimate="40 tokens")
    confined.plan(*known, budget="max 100 tokens").run("--yes", "--jobs", "3").exits(6)
    assert confined.dispatched() in (["1", "2"], ["2", "1"])
    assert len(confined.entries("step.done")) == 2
    assert "80 tokens of 100 tokens used" in confined.inbox()[0]["question"]


def test_an_interrupt_ends_every_lane_and_the_run_goes_on_later(confined: Desk) -> None:
    go = confined.agents / "go"
    confined.agent(f"{together(2)}\nuntil [ -e {go} ]; do sleep 0.05; done\n{WRITE}")
    confined.plan(*rooms(2))
    running = confined.start("run", "PLAN.md", "--yes", "--jobs", "2")
    running.until(lambda: len(list((confined.agents / "meet").iterdir())) == 2)
    running.process.send_signal(signal.SIGINT)
    running.end().exits(130)
    assert confined.processes() == []
    ended = confined.entries("attempt.finished")
    assert [e["data"]["lost"] for e in ended] == [True, True]
    go.touch()
    confined.run("--jobs", "2").exits(0)


@pytest.mark.parametrize(("choice", "code"), [("retry", 0), ("waive", 0), ("abort", 1)])
def test_an_answer_is_heeded_while_others_are_still_at_work(
    confined: Desk, choice: str, code: int
) -> None:
    go = confined.agents / "go"
    slow = f"[ $SIGNOFF_STEP = 1 ] && {{ {until(go)}; }}"
    confined.agent(f"{slow}\n[ $SIGNOFF_STEP-$attempt = 2-1 ] || {{ {WRITE}; }}")
    confined.plan(*rooms(2, on_fail="escalate"), step("Roof", "test -e room-3", needs="2"))
    running = confined.start("run", "PLAN.md", "--yes", "--jobs", "2")
    running.until(lambda: bool(confined.entries("escalation.opened")))
    confined.answer(choice)
    if code == 0:
        running.until(lambda: "3" in {e["step"] for e in confined.entries("step.done")})
        assert "1" not in {e["step"] for e in confined.entries("attempt.finished")}
        go.touch()
    running.end().exits(code)
    assert confined.processes() == []


def test_a_usage_limit_that_is_over_is_noticed_while_others_are_at_work(confined: Desk) -> None:
    """The other one waits for what the parked step does once it goes on."""
    began, go = confined.agents / "began", confined.agents / "go"
    said = {
        "type": "result",
        "is_error": True,
        "api_error_status": 429,
        "result": "try again in 1s",
    }
    limit = f"[ -e {began} ] || {{ touch {began}; echo '{json.dumps(said)}'; exit 1; }}; touch {go}"
    script = f"if [ $SIGNOFF_STEP = 1 ]; then {limit}; else {until(go)}; fi\n{WRITE}"
    confined.tool("claude", f"cat > /dev/null\n{script}").variable(ANTHROPIC_API_KEY="k")
    confined.plan(*rooms(2)).run("--yes", "--jobs", "2", "--agent", "claude").exits(0)


def test_no_agent_sees_or_touches_another_lane_or_the_workspace(confined: Desk) -> None:
    """It looks for what the other wrote, and for the places that it could know."""
    home, secret = confined.home, "only-in-lane-1"
    confined.agent(
        f"echo {secret} > mark-$SIGNOFF_STEP\n{together(2)}\n"
        f"if [ $SIGNOFF_STEP = 1 ]; then {until(confined.agents / 'looked')}; {WRITE}; exit; fi\n"
        f"{{ find {home} {confined.workspace} -name 'mark-1'; grep -rlx {secret} /tmp /var/tmp;\n"
        '  for p in /proc/[0-9]*; do ls "$p/cwd/" "$p/root/$PWD"; done | grep mark-1;\n'
        "  key=${SIGNOFF_WORKSPACE#workspace-}; key=${key%-lane-*}\n"
        f"  for n in 1 2 3; do echo mine > {home}/lanes/$key/lane-$n/room/planted; done\n"
        "} > found 2> /dev/null\n"
        f"touch {confined.agents / 'looked'}; {WRITE}"
    )
    confined.plan(*rooms(2)).run("--yes", "--jobs", "2").exits(0)
    assert confined.read("found").split() == [str(confined.workspace / "mark-2")]
    assert not list(confined.workspace.rglob("planted"))


def test_a_cancelled_run_leaves_no_agent_and_no_lane(confined: Desk) -> None:
    confined.agent(f"{together(2)}\n{until(confined.agents / 'never')}").plan(*rooms(2))
    running = confined.start("run", "PLAN.md", "--yes", "--jobs", "2")
    running.until(lambda: len(list((confined.agents / "meet").iterdir())) == 2)
    confined.about_plan("cancel").exits(0)
    running.end()
    assert confined.processes() == [] and not list(confined.home.glob("lanes/*"))
    assert [s["lanes"] for s in confined.status()["steps"]] == [[], []]


def test_where_no_lane_can_be_shown_it_says_so_and_goes_on_in_line(desk: Desk) -> None:
    desk.person('[sandbox]\nisolation = "none"\n')
    desk.agent(WRITE).plan(*rooms(2))
    ended = desk.run("--yes", "--jobs", "2").exits(0)
    assert "agents work one after the other" in ended.stderr
    assert desk.dispatched() == ["1", "2"]


@pytest.mark.parametrize(
    "point", ["landed:1", "attempt-started:2", "verdict-appended:2", "agent-ended:2"]
)
def test_a_kill_loses_nothing_of_any_lane(confined: Desk, point: str) -> None:
    confined.agent(WRITE).plan(*rooms(3))
    confined.variable(SIGNOFF_CRASH_AT=point)
    confined.run("--yes", "--jobs", "3").exits(-signal.SIGKILL)
    del confined.variables["SIGNOFF_CRASH_AT"]
    confined.run("--jobs", "3").exits(0)
    assert len(list(confined.workspace.glob("room-*"))) == 3
    assert len(confined.entries("step.done")) == 3
    confined.about_plan("audit").exits(0)


def test_a_lane_holds_dependencies_that_nobody_can_change(confined: Desk) -> None:
    confined.file(".gitignore", "node_modules/\n").file("node_modules/tool/index.js", "1\n")
    confined.agent(
        f"{together(2)}\n(echo 2 > node_modules/tool/index.js) 2>/dev/null\n"
        f"cp node_modules/tool/index.js used-$SIGNOFF_STEP\n{WRITE}"
    )
    confined.plan(*rooms(2)).run("--yes", "--jobs", "2").exits(0)
    assert confined.read("node_modules/tool/index.js") == "1\n"
    assert confined.read("used-1") == confined.read("used-2") == "1\n"


def test_an_agent_in_a_lane_can_write_its_own_copy_of_what_is_shared(confined: Desk) -> None:
    confined.roles["lanes"] = '[lanes]\nshare = ["node_modules"]\n'
    confined.file(".gitignore", "node_modules/\n").file("node_modules/tool/index.js", "1\n")
    confined.agent(
        f"{together(2)}\necho $SIGNOFF_STEP >> node_modules/tool/index.js\n"
        f"cp node_modules/tool/index.js used-$SIGNOFF_STEP\n{WRITE}"
    )
    confined.plan(*rooms(2)).run("--yes", "--jobs", "2").exits(0)
    assert confined.read("node_modules/tool/index.js") == "1\n"
    assert [confined.read(f"used-{i}") for i in (1, 2)] == ["1\n1\n", "1\n2\n"]


def test_what_a_lane_shares_is_as_the_workspace_has_it_by_then(confined: Desk) -> None:
    confined.roles["lanes"] = '[lanes]\nshare = ["node_modules"]\n'
    confined.file(".gitignore", "node_modules/\n").file("node_modules/tool/index.js", "old\n")
    there = confined.workspace / "node_modules/tool/index.js"
    # The next step begins in a lane that was used before, which its agent wrote in.
    confined.agent(
        f"cat node_modules/tool/index.js > used-$SIGNOFF_STEP\n"
        f"echo mine > node_modules/tool/index.js; touch node_modules/tool/mine\n{WRITE}\n"
        f"[ $SIGNOFF_STEP = 1 ] || exit 0\n"
        f'touch "${{0%/*}}/first"; until [ -e "${{0%/*}}/go" ]; do sleep 0.05; done'
    )
    last = step("Last", "grep -q done room-3 && test ! -e node_modules/tool/mine", needs="1, 2")
    confined.plan(*rooms(2), last, step("Other", "grep -q done room-4", needs="1, 2"))
    running = confined.start("run", "PLAN.md", "--yes", "--jobs", "2")
    running.until((confined.agents / "first").exists)
    there.write_text("newer\n")
    (confined.agents / "go").touch()
    running.end().exits(0)
    assert [confined.read(f"used-{i}") for i in (1, 3, 4)] == ["old\n", "newer\n", "newer\n"]
    assert there.read_text() == "newer\n"


def test_work_that_lies_in_ignored_files_is_done_again_in_the_workspace(confined: Desk) -> None:
    confined.file(".gitignore", "dist/\n")
    confined.agent(
        f"{together(2)}\n"
        f"if [ $SIGNOFF_STEP = 1 ]; then mkdir -p dist; touch dist/app; else {WRITE}; fi"
    )
    build = step("Build", "test -e dist/app", needs="none", on_fail="abort")
    confined.plan(build, rooms(2)[1]).run("--yes", "--jobs", "2").exits(0)
    assert (confined.workspace / "dist" / "app").exists()
    (back,) = confined.entries("step.turned_back")
    assert back["data"]["in_workspace"] and "ignored files" in back["data"]["message"]


def test_what_a_lane_ignores_does_not_land(confined: Desk) -> None:
    confined.file(".gitignore", "build/\n")
    confined.agent(f"{together(2)}\nmkdir -p build; echo x > build/out\n{WRITE}")
    confined.plan(*rooms(2)).run("--yes", "--jobs", "2").exits(0)
    assert not Path(confined.workspace, "build").exists()
    assert Isolation(confined.entries("verdict")[-1]["data"]["isolation"]).has_own_view


def test_a_check_that_contradicts_itself_in_a_lane_is_flaky(confined: Desk) -> None:
    tally = confined.agents / "tally"
    flaky = f"echo x >> {tally}; test $(wc -l < {tally}) -ge 3"
    # Nothing else lands while the first is judged, so it is judged on the same content.
    later = f"until [ $(wc -l < {tally}) -ge 3 ]; do sleep 0.05; done"
    confined.agent(f"{together(2)}\n[ $SIGNOFF_STEP = 1 ] || {later}\n{WRITE}")
    first = step("Room 1", flaky, needs="none", on_fail="retry(2), then escalate")
    confined.plan(first, rooms(2)[1]).run("--yes", "--jobs", "2").exits(6)
    assert {s["id"]: s["state"] for s in confined.status()["steps"]}["1"] != "done"


def test_settings_that_an_agent_edits_in_a_lane_are_asked_about(confined: Desk) -> None:
    edit = "printf '[roles.x]\\ncommand = \"true\"\\n' >> signoff.toml"
    confined.agent(f"{together(2)}\n{WRITE}\n[ $SIGNOFF_STEP = 1 ] && {edit}; true")
    confined.plan(*rooms(2)).run("--yes", "--jobs", "2").exits(6)
    (asked,) = confined.entries("escalation.opened")
    assert asked["data"]["cause"] == "plan-edited"


def test_what_a_person_undoes_after_a_landing_stays_undone(confined: Desk) -> None:
    confined.file("keep.txt", "as it was\n")
    confined.agent(
        f"{together(2)}\nif [ $SIGNOFF_STEP = 1 ]; then {WRITE}; echo changed > keep.txt; fi"
    )
    confined.plan(*rooms(2, on_fail="escalate")).run("--yes", "--jobs", "2").exits(6)
    assert confined.read("keep.txt") == "changed\n"
    confined.file("keep.txt", "as it was\n")
    confined.answer("retry")
    confined.run("--jobs", "2").exits(6)
    assert confined.read("keep.txt") == "as it was\n"


def test_a_person_who_comes_between_a_kill_and_the_next_run_loses_nothing(confined: Desk) -> None:
    confined.agent(f"{WRITE}\nmkdir -p pkg; echo p > pkg/m-$SIGNOFF_STEP").plan(*rooms(2))
    confined.variable(SIGNOFF_CRASH_AT="landed:1")
    confined.run("--yes", "--jobs", "2").exits(-signal.SIGKILL)
    del confined.variables["SIGNOFF_CRASH_AT"]
    confined.file("room-1/notes", "a day of work").file("pkg", "mine")
    confined.run("--jobs", "2")
    assert confined.read("room-1/notes") == "a day of work" and confined.read("pkg") == "mine"


def test_a_merged_file_stays_executable(confined: Desk) -> None:
    confined.file("tool.sh", "".join(f"line {i}\n" for i in range(20)))
    edit = 'sed -i "s/^line $((SIGNOFF_STEP * 5))$/done $SIGNOFF_STEP/" tool.sh'
    confined.agent(f"{together(2)}\n{edit}\n[ $SIGNOFF_STEP = 2 ] && chmod +x tool.sh; true")
    steps = [step(f"Edit {i}", f"grep -q 'done {i}' tool.sh", needs="none") for i in (1, 2)]
    confined.plan(*steps).run("--yes", "--jobs", "2").exits(0)
    assert (confined.workspace / "tool.sh").stat().st_mode & 0o111


def test_no_agent_writes_what_another_reports(confined: Desk) -> None:
    confined.agent(
        'echo "$SIGNOFF_USAGE_FILE" > "${0%/*}/meet/$SIGNOFF_STEP"\n'
        'until [ -s "${0%/*}/meet/1" ] && [ -s "${0%/*}/meet/2" ]; do sleep 0.05; done\n'
        '[ $SIGNOFF_STEP = 1 ] && echo \'{"tokens": 999999}\' > "$(cat "${0%/*}/meet/2")"\n'
        f"{WRITE}"
    )
    confined.plan(*rooms(2)).run("--yes", "--jobs", "2").exits(0)
    assert confined.status()["spent"]["tokens"] != 999_999


def test_work_in_a_lane_goes_on_there_without_jobs_too(confined: Desk) -> None:
    confined.agent(
        f"if [ $SIGNOFF_STEP = 2 ]; then {together(2)} {WRITE}; exit; fi\n"
        'touch "${0%/*}/meet/1"\nif [ -e half ]; then cp half room-1; else echo done > half; fi'
    )
    confined.variable(SIGNOFF_CRASH_AT="before-attempt:3")
    confined.plan(*rooms(2, on_fail="retry(1), then escalate"))
    confined.run("--yes", "--jobs", "2").exits(-signal.SIGKILL)
    del confined.variables["SIGNOFF_CRASH_AT"]
    confined.run().exits(0)
    assert confined.read("room-1") == "done\n"
