"""A client that ran into a usage limit: no attempt is counted, and the run goes on by itself."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="abort")
LIMIT = json.dumps(
    {"type": "result", "is_error": True, "api_error_status": 429, "result": "try again in 1s"}
)


def client(desk: Desk, script: str) -> Desk:
    """The first life runs into a limit; the next ones do what the script says."""
    lives = desk.folder / "lives"
    first = f"if [ ! -e {lives} ]; then echo > {lives}; echo '{LIMIT}'; exit 1; fi\n"
    desk.tool("claude", f"cat > /dev/null\n{first}{script}")
    return desk.variable(ANTHROPIC_API_KEY="k").plan(GROUND)


def ended(desk: Desk) -> list[dict[str, Any]]:
    return [e["data"] for e in desk.log() if e["kind"] == "attempt.finished"]


def test_the_run_parks_says_so_and_goes_on_with_the_next_run(desk: Desk) -> None:
    client(desk, "echo firm > ground")
    desk.run("--yes", "--agent", "claude").exits(6).shows("ran into a usage limit of its model")
    (first,) = ended(desk)
    assert first["lost"]
    assert first["limited"] == "try again in 1s"
    status = desk.about_plan("status", "--json").exits(6).json
    assert status["parked_until"] > time.time() - 60
    parked = desk.about_plan("status").exits(6).shows("parked until", "a usage limit parks it")
    parked.hides("waits for a person", "1 attempt")
    assert status["steps"][0]["attempts"] == 0
    desk.signoff("inbox").exits(0).shows("usage limit")
    while time.time() < status["parked_until"]:
        time.sleep(0.05)
    desk.run().exits(0).shows("(1 attempt, kept")
    assert not ended(desk)[1].get("lost")


def test_with_wait_it_stays_and_goes_on_by_itself(desk: Desk) -> None:
    client(desk, "echo firm > ground")
    desk.run("--yes", "--agent", "claude", "--wait").exits(0)
    answered = [e["data"] for e in desk.log() if e["kind"] == "escalation.answered"]
    assert [(a["by"], a["withdrawn"]) for a in answered] == [("signoff", True)]


def test_a_driver_that_is_killed_while_parked_leaves_the_park(desk: Desk) -> None:
    client(desk, "echo firm > ground")
    running = desk.start("run", "PLAN.md", "--yes", "--agent", "claude", "--wait")
    running.until(lambda: any(e["kind"] == "escalation.opened" for e in desk.log()))
    running.process.kill()
    running.process.wait()
    desk.run("--wait").exits(0)
    assert [bool(one.get("lost")) for one in ended(desk)] == [True, False]


def test_a_person_need_not_wait_for_the_limit(desk: Desk) -> None:
    client(desk, "echo firm > ground")
    desk.run("--yes", "--agent", "claude").exits(6)
    desk.answer("retry").exits(0)
    desk.run().exits(0)
