"""One driver per plan and one plan per workspace; who comes second is told who was first."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

from tests.crash.claims import assert_sound
from tests.crash.conftest import MakeScene
from tests.crash.scene import AGENT, PLAN, Running, Scene, wait_until

AT_ONCE = 8
# Every attempt waits for a word from outside.
WAIT_FOR_GO = 'until [ -e "$life/go" ]; do sleep 0.02; done\n'


def test_a_second_run_of_the_plan_is_told_who_holds_it(make_scene: MakeScene) -> None:
    scene = _waiting_scene(make_scene)
    first = scene.start_run()
    first.until(lambda: scene.journal() != [])
    second = scene.run()
    assert second.code == 5, second
    assert f"process {first.process.pid} on" in second.stderr
    (scene.life / "go").touch()
    assert_sound(scene, [], first.end())


def test_a_second_plan_in_the_workspace_is_told_who_holds_it(make_scene: MakeScene) -> None:
    scene = _waiting_scene(make_scene)
    other = scene.folder / "OTHER.md"
    other.write_text(PLAN)
    first = scene.start_run()
    first.until(lambda: scene.journal() != [])
    second = scene.start_run(plan=other).end()
    assert second.code == 5, second
    assert f"process {first.process.pid} on" in second.stderr
    assert str(scene.plan) in second.stderr
    (scene.life / "go").touch()
    assert first.end().code == 0


def test_a_killed_driver_holds_nothing(make_scene: MakeScene) -> None:
    """Its agent is still alive, and would keep a lock that children inherit."""
    scene = _waiting_scene(make_scene)
    first = scene.start_run()
    first.until(lambda: scene.journal() != [])
    first.process.kill()
    killed = first.end()
    assert scene.processes() != []
    (scene.life / "go").touch()
    assert_sound(scene, [killed], scene.run())


def test_of_eight_runs_at_once_exactly_one_drives(make_scene: MakeScene) -> None:
    scene = _waiting_scene(make_scene)
    racers = [scene.start_run() for _ in range(AT_ONCE)]
    losers = [racer.end() for racer in _all_but_one(racers)]
    (scene.life / "go").touch()
    winner = next(racer for racer in racers if racer.process.returncode is None).end()
    assert [loser.code for loser in losers] == [5] * (AT_ONCE - 1), losers
    assert_sound(scene, [], winner)


def test_eight_runs_share_one_new_home(
    make_scene: MakeScene, ledger_url: str | None, tmp_path: Path
) -> None:
    """The first launches of all of them meet in the same empty database."""
    scenes = [
        make_scene(f"scene-{n}", database_url=ledger_url, home=tmp_path / "home")
        for n in range(AT_ONCE)
    ]
    ended = [running.end() for running in [scene.start_run() for scene in scenes]]
    codes = Counter(each.code for each in ended)
    assert codes == {0: AT_ONCE}, [each.stderr for each in ended if each.code]


def test_a_driver_that_was_stopped_and_overtaken_is_fenced_out(make_scene: MakeScene) -> None:
    """As when a machine sleeps: the locks of its home are gone, another one drives on."""
    scene = _waiting_scene(make_scene)
    sleeper = scene.start_run()
    sleeper.until(lambda: scene.journal() != [])
    sleeper.process.send_signal(signal.SIGSTOP)
    for lock in (scene.home / "locks").glob("*.lock"):
        lock.unlink()
    (scene.life / "go").touch()
    overtaker = scene.run()
    sleeper.process.send_signal(signal.SIGCONT)
    overtaken = sleeper.end()
    # Conflict, unless it first learns that the other one has finished the run.
    assert overtaken.code in (0, 5), overtaken
    assert_sound(scene, [overtaken], overtaker)


def _waiting_scene(make_scene: MakeScene) -> Scene:
    agent = AGENT.replace("sleep PACE\n", WAIT_FOR_GO)
    return make_scene(agent_text=agent)


def _all_but_one(racers: list[Running]) -> list[Running]:
    """Wait until only one is left."""
    wait_until(lambda: sum(racer.process.poll() is None for racer in racers) <= 1)
    return [racer for racer in racers if racer.process.returncode is not None]
