"""A contract that was running when its driver was killed is dead before the next one judges."""

from __future__ import annotations

from tests.crash.claims import assert_accepted_once_and_proved, assert_chain_holds
from tests.crash.conftest import MakeScene
from tests.crash.test_interruptions import _with_slow_roof_check


def test_a_contract_of_a_killed_driver_is_ended_by_the_next(make_scene: MakeScene) -> None:
    scene = _with_slow_roof_check(make_scene)
    running = scene.start_run()
    running.until(lambda: (scene.life / "judging").exists() and scene.processes() != [])
    running.process.kill()
    running.end()
    assert scene.processes() != []
    ended = scene.run()
    assert ended.code == 0, ended
    assert scene.processes() == []
    log = scene.log()
    assert_chain_holds(log)
    assert_accepted_once_and_proved(log)
