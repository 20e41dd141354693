"""`signoff run`: what is shown, in every form, and what the agent's word is worth."""

from __future__ import annotations

import json
import re

from tests.cli.kit import Desk
from tests.cli.plans import step

HELLO = step("Say hello", "grep -qx hello hello.txt", on_fail="retry(1), then escalate")
LIE_THEN_WORK = 'if [ "$attempt" = 1 ]; then echo "All done!"; else echo hello > hello.txt; fi'
REPORT = """
    Build a house  [done]
    run RUN, gate open, as of content DIGEST, isolation none
      [x] 1  Say hello  (2 attempts, kept)
    spent: tokens and dollars unknown (no usage reported), SECONDS of work
    signed off at TIME on content DIGEST
"""


def test_a_claim_is_refused_and_the_work_is_signed_off(desk: Desk) -> None:
    desk.agent(LIE_THEN_WORK).plan(HELLO)
    ran = desk.run("--yes").exits(0).prints(REPORT)
    ran.notes(
        """
        run RUN begins in DESK/work
        step 1 · before any work · broken: exit code 2, expected 0: grep: hello.txt: No such file or directory
        step 1 · attempt 1 · coder begins
        step 1 · attempt 1 · ended: SECONDS
        step 1 · attempt 1 · broken: exit code 2, expected 0: grep: hello.txt: No such file or directory
        step 1 · attempt 2 · coder begins
        step 1 · attempt 2 · ended: SECONDS
        step 1 · attempt 2 · kept: exit code 0
        step 1 · done
        the run is over: done, on content DIGEST
        """  # noqa: E501 - lines as they are printed
    ).is_plain()
    assert "status: done" in desk.read("PLAN.md") and "### 1. ✅ Say hello" in desk.read("PLAN.md")
    again = desk.run("--yes").exits(0).prints(REPORT)
    again.notes("already signed off; approve it again to run it again")
    assert len(desk.attempts()) == 2


def test_machine_output_is_one_document_per_line_and_ends_with_the_report(desk: Desk) -> None:
    desk.agent(LIE_THEN_WORK).plan(HELLO)
    ran = desk.signoff("--json", "run", "PLAN.md", "--yes").exits(0).notes("")
    *entries, last = ran.json_lines
    assert [e["kind"] for e in entries] == desk.kinds()[1:]
    assert set(entries[0]) == {
        "schema_version", "seq", "at", "kind", "run", "step", "attempt", "data", "prev", "hash",
    }  # fmt: skip
    assert {**last["report"], "home": 0} == {**desk.status(), "home": 0} and last["inbox"] == []
    assert last["schema_version"] == 1


def test_a_terminal_shows_the_steps_live_and_ends_with_the_same_report(desk: Desk) -> None:
    desk.agent(f'printf "\\033]0;owned\\007thinking hard\\n"; {LIE_THEN_WORK}').plan(HELLO)
    ran = desk.at_terminal("run", "PLAN.md", "--yes").exits(0)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", ran.stdout.replace("\r", ""))
    assert "0/1 steps" in shown and "Say hello" in shown and "step 1 · coder works" in shown
    assert "step 1 · attempt 2 · kept: exit code 0" in shown
    assert "\x1b]0;" not in ran.stdout and "\x07" not in ran.stdout
    status = desk.at_terminal("status", "PLAN.md", "--color", "never").exits(0)
    assert shown.endswith(status.stdout.replace("\r", ""))


def test_nothing_is_said_to_be_judged_once_the_run_is_over(desk: Desk) -> None:
    desk.agent("echo hello > hello.txt").plan(HELLO)
    shown = desk.at_terminal("run", "PLAN.md", "--yes").exits(0).stdout
    assert "step 1 · judging" in shown
    assert "step 1 · judging" not in shown.partition("the run is over: done")[2]


def test_no_color_means_no_bold_either(desk: Desk) -> None:
    desk.variable(NO_COLOR="1").agent("echo hello > hello.txt").plan(HELLO)
    shown = desk.at_terminal("run", "PLAN.md", "--yes").exits(0).stdout
    assert "1/1 steps" in shown and not re.search(r"\x1b\[[0-9;]*m", shown)


def test_an_agent_that_fails_but_did_the_work_is_done(desk: Desk) -> None:
    desk.agent("echo hello > hello.txt; exit 1").plan(HELLO)
    desk.run("--yes").exits(0)
    assert desk.entries("attempt.finished")[0]["data"]["exit_code"] == 1


def test_every_step_gets_a_fresh_agent_in_the_order_of_its_needs(desk: Desk) -> None:
    desk.agent('echo "$SIGNOFF_STEP" > "done-$SIGNOFF_STEP"; echo $$ > "$seat/pid"')
    desk.plan(
        step("Roof", "test -s done-1", needs="3"),
        step("Door", "test -s done-2", needs="1"),
        step("Ground", "test -s done-3", needs="none"),
    )
    desk.run("--yes").exits(0)
    assert desk.dispatched() == ["3", "1", "2"]
    seats = (desk.agents / "life").iterdir()
    assert len({(seat / "pid").read_text() for seat in seats}) == 3


def test_an_agent_that_ticks_its_own_boxes_changes_nothing(desk: Desk) -> None:
    tick = (
        "sed -i -e 's/^### 1. .*/### 1. ✅ Say hello/' -e 's/^status: .*/status: done/' PLAN.md; "
        "echo '**status: done**' > progress.md"
    )
    desk.agent(tick).plan(HELLO)
    desk.run("--yes").exits(6)
    assert desk.status()["steps"][0]["state"] == "blocked"
    plan = desk.read("PLAN.md")
    assert "status: in-progress" in plan and "### 1. ⛔ Say hello" in plan and "✅" not in plan


def test_deleted_marks_are_rebuilt_from_the_ledger(desk: Desk) -> None:
    desk.agent("echo hello > hello.txt").plan(HELLO)
    desk.run("--yes").exits(0)
    desk.edit_plan("✅ ", "").edit_plan("status: done", "status: draft")
    assert desk.about_plan("status", "--json").exits(0).json["status"] == "done"
    desk.run().exits(0)
    assert len(desk.attempts()) == 1


def test_status_json_has_its_stable_shape(desk: Desk) -> None:
    desk.agent(LIE_THEN_WORK).plan(HELLO, post=[("It says hello", "grep -qx hello hello.txt")])
    desk.run("--yes").exits(0)
    before = desk.signoff("--json", "status", "PLAN.md").exits(0).json
    assert {**before, "home": 0} == {**desk.about_plan("status", "--json").json, "home": 0}
    wanted = {
        "schema_version": 1,
        "plan": "PLAN",
        "status": "done",
        "missing": [],
        "waived": [],
        "steps": [
            {
                "id": "1",
                "title": "Say hello",
                "state": "done",
                "attempts": 2,
                "verdict": "kept",
                "stale": False,
                "held_before": False,
                "carried": False,
                "tests": None,
                "handoff": [],
                "accepted_by": None,
                "lanes": [],
                "unwatched": "",
                "strength": None,
                "opinion": None,
            }
        ],
    }
    assert {name: before[name] for name in wanted} == wanted, json.dumps(before)
    assert [p["id"] for p in before["postconditions"]] == ["postcondition:1"]
