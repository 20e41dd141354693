"""`signoff cancel` from another process ends a run for good; a later one keeps what was done."""

from __future__ import annotations

import pytest

from tests.crash.claims import assert_accepted_once_and_proved, assert_chain_holds
from tests.crash.conftest import MakeScene
from tests.crash.scene import AGENT, Scene

# Step 3 hangs for as long as nobody says otherwise.
HANG_AT_ROOF = (
    'if [ "$SIGNOFF_STEP" = 3 ] && [ ! -e "$life/go" ]; then\n'
    '  : > "$life/hangs"; exec TAIL -f "$life/journal"\nfi\n'
)


@pytest.fixture
def hanging(make_scene: MakeScene, ledger_url: str | None) -> Scene:
    agent = AGENT.replace("sleep PACE\n", HANG_AT_ROOF)
    return make_scene(database_url=ledger_url, agent_text=agent)


def test_a_live_run_is_cancelled_and_a_later_one_carries_what_was_finished(hanging: Scene) -> None:
    driver = hanging.start_run()
    driver.until((hanging.life / "hangs").exists)
    cancelled = hanging.command("cancel", "--json", "--note", "wrong house")
    assert cancelled.code == 0, cancelled
    assert cancelled.json["stopped"] == driver.process.pid
    ended = driver.end()
    assert ended.code in (5, 130), ended
    assert hanging.processes() == []
    status = hanging.command("status", "--json")
    assert (status.code, status.json["status"]) == (1, "failed")
    _assert_a_new_run_carries(hanging)


def test_a_run_cancelled_after_its_driver_died_leaves_no_agent_to_the_next(hanging: Scene) -> None:
    driver = hanging.start_run()
    driver.until((hanging.life / "hangs").exists)
    driver.process.kill()
    driver.end()
    assert hanging.processes() != []
    assert hanging.command("cancel", "--json").code == 0
    _assert_a_new_run_carries(hanging)


def _assert_a_new_run_carries(scene: Scene) -> None:
    (scene.life / "go").touch()
    again = scene.run()
    assert again.code == 0, again
    assert scene.processes() == []
    steps = {step["id"]: step for step in again.report["steps"]}
    assert steps["2[a]"]["carried"] and steps["2[b]"]["carried"]
    assert steps["2[a]"]["attempts"] == 0
    log = scene.log()
    assert_chain_holds(log)
    assert_accepted_once_and_proved(log)
    outcomes = [e["data"]["outcome"] for e in log if e["kind"] == "run.finished"]
    assert outcomes == ["cancelled", "done"]
