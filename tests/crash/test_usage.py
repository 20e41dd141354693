"""What an agent used is counted once, whatever happened to the driver afterwards."""

from __future__ import annotations

import signal

import pytest

from tests.crash.conftest import MakeScene
from tests.crash.scene import ATTEMPTS, TOKENS_EACH, USD_EACH, Scene


def test_usage_reported_before_a_kill_is_counted_once(make_scene: MakeScene) -> None:
    """The lost attempt had cost something; the repeated one costs again."""
    scene = make_scene()
    killed = scene.run(crash_at="agent-ended:2")
    assert killed.code == -signal.SIGKILL, killed
    ended = scene.run()
    assert ended.code == 0, ended
    worked = sum(ATTEMPTS.values()) + 1
    assert len(scene.journal()) == worked
    assert ended.report["spent"]["tokens"] == worked * TOKENS_EACH
    assert ended.report["spent"]["usd"] == pytest.approx(worked * USD_EACH)
    again = scene.command("status", "--json")
    assert again.json["spent"] == ended.report["spent"]


def test_usage_of_an_agent_killed_at_work_is_counted_once(make_scene: MakeScene) -> None:
    scene = make_scene(pace_s=30.0)
    running = scene.start_run()
    running.until(lambda: _reports(scene) == 1)
    running.process.kill()
    running.end()
    text = scene.agent.read_text()
    scene.agent.write_text(text.replace("sleep 30.0\n", ""))
    ended = scene.run()
    assert ended.code == 0, ended
    assert ended.report["spent"]["tokens"] == _reports(scene) * TOKENS_EACH
    assert _reports(scene) == len(scene.journal())


def _reports(scene: Scene) -> int:
    """Usage files with a whole report in them."""
    paths = (scene.home / "logs" / "attempts").rglob("*.usage")
    return sum(path.read_text().endswith("}\n") for path in paths)
