"""A plan file that vanishes takes nothing with it: what was approved is pinned in the ledger."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="escalate")
ROOF = step("Roof", "test -s roof")
DELETES = '[ "$SIGNOFF_STEP" = 1 ] && echo firm > ground && rm -f PLAN.md; echo tiles > roof'


@pytest.fixture
def gone(desk: Desk) -> Desk:
    """A run that waits because its plan file was deleted."""
    desk.agent(DELETES).plan(GROUND, ROOF).run("--yes").exits(6)
    assert not desk.plan_path.exists()
    return desk


def test_the_inbox_says_that_the_file_is_gone_and_what_it_said(gone: Desk) -> None:
    (item,) = gone.inbox()
    difference = item["context"]["difference"]
    assert difference.startswith(f"`{gone.plan_path}` is gone; it was approved as:\n")
    assert "-### 2. Roof" in difference


def test_the_run_goes_on_by_what_was_approved(gone: Desk) -> None:
    gone.run().exits(6).shows("the plan file is gone; what was approved is pinned")
    gone.answer("retry")
    gone.run().exits(0)
    assert gone.dispatched() == ["1", "2"] and not gone.plan_path.exists()


@pytest.mark.parametrize("choice", ["abort", "revise"])
def test_an_answer_ends_the_run_of_a_plan_whose_file_is_gone(gone: Desk, choice: str) -> None:
    gone.answer(choice)
    assert "run.finished" in gone.kinds()
    gone.run("--yes").fails(
        4, "the plan file `DESK/work/PLAN.md` is gone", hint="signoff show DESK/work/PLAN.md"
    )


def test_the_run_can_be_cancelled(gone: Desk) -> None:
    gone.about_plan("cancel").exits(0).shows("cancelled run")
    assert gone.inbox() == []
    gone.about_plan("status").exits(1).shows("[failed]", "the plan file is gone")


def test_status_and_show_say_what_happened_and_what_to_do(gone: Desk) -> None:
    told = "To put it back: signoff show DESK/work/PLAN.md --approved > DESK/work/PLAN.md"
    gone.about_plan("status").exits(6).shows("[in-progress]", told)
    shown = gone.about_plan("show").exits(0).shows(told)
    assert "### 2. Roof" in shown.stdout
    found = gone.about_plan("show", "--json").exits(0).json
    assert found["gone"] is True and found["approved"] is True


def test_the_command_that_is_named_puts_the_file_back(gone: Desk) -> None:
    line = gone.about_plan("status").stdout.partition("To put it back: ")[2].splitlines()[0]
    command = line.replace("signoff", " ".join(gone.command(())), 1)
    subprocess.run(["sh", "-c", command], check=True, env=gone.environment(), timeout=60)
    assert "status: " in gone.read("PLAN.md")
    gone.answer("retry")
    gone.run().exits(0)
    assert gone.status()["status"] == "done"


def test_the_approved_text_is_kept_byte_for_byte(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND)
    text = "\ufeff" + desk.read("PLAN.md").replace("\n", "\r\n")
    desk.plan_path.write_bytes(text.encode())
    desk.about_plan("show", "--approved").fails(6, "plan `PLAN` was never approved")
    desk.about_plan("approve", "--yes").exits(0)
    desk.edit_plan("Lay the ground", "Lay the floor")
    done = subprocess.run(
        desk.command(["show", "PLAN.md", "--approved"]),
        capture_output=True,
        check=True,
        cwd=desk.workspace,
        env=desk.environment(),
        timeout=60,
    )
    assert done.stdout == text.encode()


def test_a_plan_that_was_never_approved_is_no_plan_without_its_file(desk: Desk) -> None:
    desk.agent("true").plan(GROUND).about_plan("verify").exits(0)
    desk.plan_path.unlink()
    desk.about_plan("cancel").fails(4, "no plan at")


def test_a_named_plan_is_found_by_its_name_although_its_file_is_gone(project: Project) -> None:
    project.named("auth", GROUND).agent("true").commit("first")
    project.signoff("run", "auth", "--yes").exits(6)
    (project.vault / "PLAN-auth.md").unlink()
    project.signoff("status", "auth").exits(6).shows("the plan file is gone")
    project.signoff("cancel", "auth").exits(0)
    project.signoff("cancel", "nope").fails(4, "plan `nope` ")
