"""A driver killed at any named point is replaced by the next one; nothing is lost or done twice."""

from __future__ import annotations

import signal

import pytest

from signoff.testing.crash import CrashPoint
from tests.crash.claims import assert_sound
from tests.crash.conftest import MakeScene
from tests.crash.scene import PLAN, Scene

# A scene of these asks nobody and has no lanes; `tests/cli/test_lanes.py` kills those.
ELSEWHERE = {CrashPoint.ESCALATED, CrashPoint.LANDED}
ON_THE_WAY = [point for point in CrashPoint if point not in ELSEWHERE]
# The same points, later: in the middle of the list, in the repair, at the end of the sweep.
LATER = ["agent-ended:6", "verdict-appended:9"]


@pytest.mark.parametrize("point", ON_THE_WAY)
def test_a_run_killed_at_a_named_point_is_finished_by_the_same_command(
    scene: Scene, point: CrashPoint
) -> None:
    killed = scene.run(crash_at=point)
    assert killed.code == -signal.SIGKILL, killed
    assert_sound(scene, [killed], scene.run())


@pytest.mark.parametrize("point", LATER)
def test_a_run_killed_further_on_is_finished_by_the_same_command(
    make_scene: MakeScene, point: str
) -> None:
    scene = make_scene()
    killed = scene.run(crash_at=point)
    assert killed.code == -signal.SIGKILL, killed
    assert_sound(scene, [killed], scene.run())


def test_a_question_asked_just_before_the_kill_is_asked_once(
    make_scene: MakeScene, ledger_url: str | None
) -> None:
    impatient = PLAN.replace("retry(9), then escalate", "escalate", 1)
    scene = make_scene(database_url=ledger_url, plan_text=impatient)
    killed = scene.run(crash_at=CrashPoint.ESCALATED)
    assert killed.code == -signal.SIGKILL, killed
    waiting = scene.run()
    assert waiting.code == 6, waiting
    asked = [e for e in scene.log() if e["kind"] == "escalation.opened"]
    assert len(asked) == 1
    assert "### 1. ⛔ Lay the ground" in scene.plan.read_text()
    assert scene.answer(asked[0]["data"]["id"], "retry").code == 0
    ended = scene.run()
    # The repair after the regression is impatient too, and asks a question of its own.
    assert ended.code == 6, ended
    assert scene.answer(scene.log()[-1]["data"]["id"], "retry").code == 0
    assert scene.run().code == 0
    assert scene.command("audit", "--json").code == 0
