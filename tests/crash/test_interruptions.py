"""Ctrl-C and SIGTERM end a run politely: exit code 130, no process left, and it goes on later."""

from __future__ import annotations

import signal

import pytest

from tests.crash.claims import assert_sound
from tests.crash.conftest import MakeScene
from tests.crash.scene import AGENT, PLAN, Scene

# Hangs the first time, whoever comes; the second time it lets everybody pass.
HANG_ONCE = '[ -e "$life/hung" ] || { : > "$life/hung"; exec TAIL -f "$life/journal"; }\n'


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_agent_is_ended_and_its_step_is_resumed(
    make_scene: MakeScene, number: signal.Signals
) -> None:
    agent = AGENT.replace("sleep PACE\n", HANG_ONCE)
    scene = make_scene(agent_text=agent)
    running = scene.start_run()
    running.until((scene.life / "hung").exists)
    running.process.send_signal(number)
    interrupted = running.end()
    assert interrupted.code == 130, interrupted
    assert scene.processes() == []
    assert_sound(scene, [interrupted], scene.run())


def test_an_interrupted_contract_is_ended_and_judged_again(make_scene: MakeScene) -> None:
    scene = _with_slow_roof_check(make_scene)
    running = scene.start_run()
    running.until((scene.life / "judging").exists)
    running.process.send_signal(signal.SIGINT)
    interrupted = running.end()
    assert interrupted.code == 130, interrupted
    assert scene.processes() == []
    verdicts = [e for e in interrupted.entries if e["kind"] == "verdict"]
    assert all(e["data"]["result"] != "unknown" for e in verdicts), "an interruption is no verdict"
    ended = scene.run()
    assert ended.code == 0, ended


def test_a_run_of_quick_steps_hears_ctrl_c(make_scene: MakeScene) -> None:
    """No process lives long enough to be interrupted: the drive itself must listen."""
    scene = make_scene()
    rooms = "\n".join(f"room{n}" for n in range(400))
    (scene.workspace / "list.txt").write_text(rooms)
    running = scene.start_run()
    running.until(lambda: running.acknowledged() > 20)
    running.process.send_signal(signal.SIGINT)
    interrupted = running.end()
    assert interrupted.code == 130, interrupted
    assert scene.processes() == []


def _with_slow_roof_check(make_scene: MakeScene) -> Scene:
    """The contract of step 3 hangs the first time that it has something to check."""
    scene = make_scene()
    check = (
        f"test -s roof.txt || exit 1\n"
        f"test -e {scene.life}/judging || {{ touch {scene.life}/judging;"
        f" tail -f {scene.life}/journal > /dev/null; }}\ntest -s roof.txt"
    )
    scene.plan.write_text(PLAN.replace("test -s roof.txt\n", f"{check}\n", 1))
    return scene
