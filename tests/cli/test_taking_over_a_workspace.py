"""Whatever a dead driver left in a workspace has ended before anything is judged there again."""

from __future__ import annotations

from tests.cli.kit import Desk
from tests.cli.plans import plan_text, step


def left_behind(desk: Desk) -> None:
    """An agent at work whose driver was killed with -9."""
    desk.agent("bash -c 'echo busy > busy; sleep 600; true' \"$0\"").plan(
        step("Wait", "test -s never")
    )
    running = desk.start("run", "PLAN.md", "--yes")
    running.until((desk.workspace / "busy").exists)
    running.process.kill()
    running.end().exits(-9)
    assert desk.processes() != []


def test_another_plan_in_the_workspace_starts_without_the_old_agent(desk: Desk) -> None:
    left_behind(desk)
    desk.agent("echo firm > ground")
    desk.file("OTHER.md", plan_text([step("Lay the ground", "test -s ground")]))
    desk.signoff("run", "OTHER.md", "--yes").exits(0)
    assert desk.processes() == []


def test_cancelling_the_run_of_a_dead_driver_ends_its_agent(desk: Desk) -> None:
    left_behind(desk)
    desk.about_plan("cancel").exits(0)
    assert desk.processes() == []
