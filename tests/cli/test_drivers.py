"""`status` tells a run that somebody drives from one whose driver is gone."""

from __future__ import annotations

import os
import signal

from tests.cli.ended import Running, wait_until
from tests.cli.kit import Desk
from tests.cli.plans import step

WORK = 'touch "$life/../begun"; until [ -e "$life/../go" ]; do sleep 0.05; done; echo firm > ground'
GOES_ON = "signoff run DESK/work/PLAN.md goes on"


def _at_work(desk: Desk) -> Running:
    desk.agent(WORK).plan(step("Lay the ground", "grep -qx firm ground"))
    return desk.start("run", "PLAN.md", "--yes").until((desk.agents / "begun").exists)


def test_a_run_that_is_driven_names_its_driver(desk: Desk) -> None:
    running = _at_work(desk)
    host = os.uname().nodename
    desk.about_plan("status").exits(1).shows(f"running: process PID on `{host}` since TIME")
    driver = desk.status()["driver"]
    assert (driver["pid"], driver["host"]) == (running.process.pid, host)
    assert driver["alive"] is True
    (desk.agents / "go").touch()
    running.end().exits(0).hides("running: process")
    desk.about_plan("status").exits(0).hides("driver", "drives", "running:")
    assert desk.status()["driver"] is None


def test_a_run_whose_driver_was_killed_says_so_and_how_it_goes_on(desk: Desk) -> None:
    running = _at_work(desk)
    running.process.kill()
    running.process.wait()
    told = desk.about_plan("status").exits(1).hides("running:")
    told.shows("its driver is gone (process PID on ", f" since TIME): {GOES_ON}")
    driver = desk.status()["driver"]
    assert (driver["pid"], driver["alive"]) == (running.process.pid, False)
    (desk.agents / "go").touch()
    desk.run().exits(0)
    wait_until(lambda: not desk.processes())


def test_a_run_that_a_person_stopped_is_driven_by_nobody(desk: Desk) -> None:
    running = _at_work(desk)
    running.process.send_signal(signal.SIGINT)
    running.end().exits(130)
    desk.about_plan("status").exits(1).shows(f"nobody drives it now: {GOES_ON}").hides("is gone")
    assert desk.status()["driver"] is None


def test_a_run_that_waits_for_a_person_misses_no_driver(desk: Desk) -> None:
    desk.agent("true").plan(step("Lay the ground", "test -s ground", on_fail="escalate"))
    desk.run("--yes").exits(6).hides("drive", "running:")
    desk.run().exits(6).hides("drive", "running:")
    desk.about_plan("status").exits(6).hides("drive", "running:")
    desk.answer("retry")
    desk.about_plan("status").exits(1).shows(f"nobody drives it now: {GOES_ON}")
