"""`log --follow` and `show --step`: a run as it happens, and one attempt of it looked at."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.cli.ended import LIMIT_S, Running
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project

HUT = step("Build", "test -s hut", task="Build a hut of wood.")
# Waits for the test; then the second attempt does what the first one only said.
PATIENT = """
echo "attempt $attempt: \x1b[31mall done"
while [ ! -e "$life/../go" ]; do sleep 0.02; done
[ "$attempt" = 1 ] || echo wood > hut
"""


def _text(running: Running) -> str:
    return running.out.read_text()


def _follow(desk: Desk, *arguments: str) -> Running:
    return desk.start("log", "PLAN.md", "--follow", *arguments)


def test_entries_are_told_as_they_come_until_the_run_is_over(desk: Desk) -> None:
    desk.agent(PATIENT).plan(HUT)
    desk.about_plan("approve", "--yes").exits(0)
    follower = _follow(desk).until(desk.ledger_file.exists)
    as_json = _follow(desk, "--json", "--after", "1")
    run = desk.start("run", "PLAN.md")
    follower.until(lambda: "attempt 1 · coder begins" in _text(follower))
    assert "ended" not in _text(follower), "it does not wait for the end to tell of the begin"
    (desk.agents / "go").touch()
    run.end().exits(0)
    told, whole = follower.end().exits(0), desk.about_plan("log").exits(0)
    assert told.stdout == whole.stdout and told.stderr == ""
    assert told.stdout.splitlines()[-1].endswith(whole.stdout.splitlines()[-1][-20:])
    assert as_json.end().exits(0).json_lines == desk.log()[1:]


def test_what_is_over_is_not_waited_for_and_a_new_approval_is(desk: Desk) -> None:
    (desk.agents / "go").touch()
    desk.agent(PATIENT).plan(HUT).run("--yes").exits(0)
    assert _follow(desk).end().exits(0).stdout == desk.about_plan("log").stdout
    run = desk.log()[-1]["run"]
    assert len(_follow(desk, "--run", run, "--json").end().exits(0).json_lines) > 1
    desk.edit_plan("Build a hut", "Build a high hut").about_plan("approve", "--yes").exits(0)
    waits = _follow(desk)
    waits.until(lambda: _text(waits).count("plan approved") == 2)
    assert waits.process.poll() is None
    waits.process.send_signal(signal.SIGINT)
    assert waits.end().exits(130).stderr == ""


def test_a_follower_whose_reader_left_ends(desk: Desk) -> None:
    desk.agent(PATIENT).plan(HUT)
    desk.about_plan("approve", "--yes").exits(0)
    out, into = os.pipe()
    follower = subprocess.Popen(
        desk.command(["log", "PLAN.md", "--follow"]),
        cwd=desk.workspace,
        env=desk.environment(),
        stdout=into,
    )
    os.close(into)
    os.read(out, 1)
    os.close(out)
    run = desk.start("run", "PLAN.md")
    assert follower.wait(timeout=LIMIT_S) == 0
    assert run.process.poll() is None, "it did not wait for the end of the run"
    (desk.agents / "go").touch()
    run.end().exits(0)


def test_an_attempt_is_shown_with_what_it_was_asked_said_and_changed(desk: Desk) -> None:
    (desk.agents / "go").touch()
    desk.agent(PATIENT).plan(HUT).run("--yes").exits(0)
    first, second = desk.attempts()
    asked = desk.about_plan("show", "--step", "1", "--prompt").exits(0).is_plain()
    assert asked.stdout.rstrip("\n") == second.prompt.rstrip("\n")
    earlier = desk.about_plan("show", "--step", "1", "--prompt", "--attempt", "1").exits(0)
    assert earlier.stdout.rstrip("\n") == first.prompt.rstrip("\n") != second.prompt.rstrip("\n")
    said = desk.about_plan("show", "--step", "1", "--answer").exits(0).is_plain()
    assert said.stdout == "attempt 2: \\x1b[31mall done\n"
    changed = desk.about_plan("show", "--step", "1", "--diff").exits(0)
    changed.shows("1 file changed", "  added hut", "+wood")
    whole = desk.about_plan("show", "--step", "1").exits(0).stdout
    heads = [f"step 1 · attempt 2 · {part}\n" for part in ("prompt", "answer", "diff")]
    places = [whole.index(head) for head in heads]
    assert places == sorted(places) and changed.stdout in whole
    document = desk.about_plan("show", "--step", "1", "--json").exits(0).json
    assert (document["step"], document["attempt"]) == ("1", 2)
    assert (
        document["prompt"] == second.prompt and document["answer"] == "attempt 2: \x1b[31mall done"
    )


def test_an_honest_way_out_is_part_of_the_answer(desk: Desk) -> None:
    desk.agent('echo tried; echo "blocked: no wood" > "$SIGNOFF_ANSWER_FILE"').plan(HUT)
    desk.run("--yes").exits(6)
    desk.about_plan("show", "--step", "1", "--answer").exits(0).prints("blocked: no wood\ntried")


@pytest.mark.parametrize("part", ["--prompt", "--answer", "--diff"])
def test_what_is_not_on_record_is_said(desk: Desk, part: str) -> None:
    desk.agent("true").plan(HUT)
    desk.about_plan("show", part).fails(2, "of one step, and none is named", hint="--step")
    desk.about_plan("show", "--step", "1", part).fails(2, "no attempt at step `1`", hint="log")
    desk.run("--yes").exits(6)
    desk.about_plan("show", "--step", "1", part, "--attempt", "9").fails(2, "no attempt 9")


def test_a_lone_step_is_one_of_the_bound_plan(project: Project) -> None:
    project.agent("echo wood > hut")
    project.named("1st", step("Build", "test -s hut")).signoff("bind", "1st").exits(0)
    project.signoff("run", "1st", "--yes").exits(0)
    (worked,) = project.attempts()
    shown = project.signoff("show", "1", "--prompt").exits(0)
    assert shown.stdout.rstrip("\n") == worked.prompt.rstrip("\n")
    project.signoff("show", "2", "--prompt").fails(2, "`2`")
    project.signoff("show", "1st", "--prompt").fails(2, "none is named", hint="--step")
