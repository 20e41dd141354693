"""A person ends a run: it is over at once, nothing of it waits, and the plan can be changed."""

from __future__ import annotations

from tests.cli.ended import wait_until
from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="escalate")
ROOF = step("Put the roof on", "test -s roof", on_fail="escalate", needs="none")


def test_revise_makes_the_plan_a_draft_at_once_and_names_the_next_step(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.run("--yes").exits(6)
    answered = desk.answer("revise", "--note", "other ground")
    answered.shows("answered RUN-1: revise; run ended: revised", "next: signoff approve")
    assert desk.kinds()[-2:] == ["run.finished", "plan.drafted"]
    assert "status: draft" in desk.read("PLAN.md") and "⛔" not in desk.read("PLAN.md")
    desk.about_plan("status").exits(1).shows(
        "Build a house  [draft]",
        "missing: plan: a person took it back to revise it (signoff approve)",
    ).hides("(signoff run)", "(signoff inbox)")
    desk.edit_plan("grep -qx firm ground", "grep -qx solid ground")
    desk.about_plan("approve", "--yes").exits(0)


def test_abort_ends_the_run_as_failed_and_the_plan_can_be_run_again(desk: Desk) -> None:
    desk.agent("true").plan(GROUND, ROOF)
    desk.run("--yes").exits(6)
    item = desk.inbox()[0]
    desk.signoff("answer", item["id"], "abort").exits(0).shows("run ended: failed")
    assert desk.inbox() == []
    status = desk.status()
    assert status["status"] == "failed" and status["waiting"] == []
    assert {m["next"] for m in status["missing"]} == {"signoff run"}
    desk.agent("echo firm > ground; echo tiles > roof").run("--yes").exits(0)


def test_an_answer_while_somebody_drives_is_left_to_the_driver(desk: Desk) -> None:
    desk.agent(
        '[ "$SIGNOFF_STEP" = 2 ] && touch "$life/../begun" && '
        'until [ -e "$life/../go" ]; do sleep 0.05; done'
    )
    desk.plan(GROUND, ROOF)
    running = desk.start("run", "PLAN.md", "--yes")
    running.until((desk.agents / "begun").exists)
    desk.answer("revise").shows("next: signoff run").hides("run ended")
    assert "run.finished" not in desk.kinds()
    (desk.agents / "go").touch()
    running.end().exits(1)
    assert desk.entries("run.finished")[0]["data"]["outcome"] == "revised"
    assert len(desk.entries("run.finished")) == 1


def test_what_a_dead_driver_left_at_work_is_ended_and_told_before_the_run_is(desk: Desk) -> None:
    desk.agent('[ "$SIGNOFF_STEP" = 2 ] && touch "$life/../begun" && sleep 600')
    desk.plan(GROUND, ROOF)
    running = desk.start("run", "PLAN.md", "--yes")
    running.until((desk.agents / "begun").exists)
    running.process.kill()
    running.process.wait()
    desk.answer("abort").shows("run ended: failed")
    wait_until(lambda: not desk.processes())
    assert desk.kinds()[-2:] == ["attempt.finished", "run.finished"]
    assert desk.entries("attempt.finished")[-1]["data"]["lost"] is True


def test_a_cancelled_run_waits_for_nobody(desk: Desk) -> None:
    desk.agent("true").plan(GROUND, step("Sign", "test -s letter", target="human"))
    desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    desk.about_plan("cancel").exits(0)
    desk.about_plan("status").exits(1).shows(
        "Build a house  [failed]",
        "[ ] 1  Lay the ground",
        "missing: plan: this run was cancelled (signoff run)",
    ).hides("[?]", "waits for a person", "signoff inbox")
    assert "⛔" not in desk.read("PLAN.md") and "status: failed" in desk.read("PLAN.md")
    assert desk.inbox() == [] and desk.status()["waiting"] == []
    desk.signoff("answer", item["id"], "retry").exits(2)


def test_a_persons_step_in_a_cancelled_run_is_not_shown_as_at_work(desk: Desk) -> None:
    desk.plan(step("Sign", "test -s letter", target="human"))
    desk.run("--yes").exits(6)
    desk.about_plan("cancel").exits(0)
    desk.about_plan("status").exits(1).shows("[ ] 1  Sign").hides("[.]", "[?]")


def test_editing_a_plan_whose_run_waits_names_the_way_out_everywhere(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.run("--yes").exits(6)
    desk.plan(step("Summarise", "test -s summary"))
    way_out = "signoff answer RUN-1 revise, or signoff cancel DESK/work/PLAN.md"
    desk.about_plan("approve", "--yes").exits(5).shows(f"end it, then approve again: {way_out}")
    desk.about_plan("reject").fails(5, "of this plan is not over", hint=way_out)
    taken = f"{way_out}, then signoff approve DESK/work/PLAN.md"
    desk.about_plan("status").exits(6).shows(f"to take the edited plan: {taken}")
    desk.about_plan("diff").exits(0).shows(f"next: {taken}")
    ran = desk.run("--yes", "--role", "coder=true").exits(6)
    ran.shows("--yes and --role change nothing while run `RUN` waits for an answer")
    ran.shows(f"to take the edited plan: {taken}")


def test_marks_of_a_run_are_not_written_into_another_plans_text(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.run("--yes").exits(6)
    desk.plan(step("Summarise", "test -s summary"))
    desk.run().exits(6)
    assert "### 1. Summarise" in desk.read("PLAN.md")
    desk.answer("revise")
    assert "### 1. Summarise" in desk.read("PLAN.md")
    assert "status: draft" in desk.read("PLAN.md")


def test_an_edited_plan_is_run_after_revise_and_approve(desk: Desk) -> None:
    desk.agent("echo words > summary").plan(GROUND)
    desk.run("--yes").exits(6)
    done_already = {"on_fail": "escalate", "red_first": "off (the first run wrote it)"}
    desk.plan(step("Summarise", "test -s summary", **done_already))
    desk.about_plan("diff").shows("next: signoff answer")
    desk.answer("revise")
    desk.about_plan("diff").exits(0).shows("next: signoff approve DESK/work/PLAN.md")
    desk.about_plan("approve", "--yes").exits(0)
    desk.run().exits(0).shows("Build a house  [done]")


def test_options_that_count_are_not_called_unheeded(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.run("--yes").exits(6).hides("nothing while")
    desk.run("--yes").exits(6).hides("nothing while")
