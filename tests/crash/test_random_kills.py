"""kill -9 at any moment, again and again: the run ends done without anybody repairing anything."""

from __future__ import annotations

import os
import random
import signal
import time
from enum import Enum, auto

from tests.crash.claims import assert_sound
from tests.crash.conftest import KILLS_EACH, MakeScene
from tests.crash.scene import Ended, Running, Scene

LONGEST_START_S = 1.5
MOST_ENTRIES = 12
LONGEST_PAUSE_S = 0.06
MOST_RUNS = 100


class Victims(Enum):
    """Who dies: the driver alone, its process group, or everything as in a power cut."""

    DRIVER = auto()
    GROUP = auto()
    ALL = auto()


def test_a_run_killed_at_random_moments_ends_done(
    make_scene: MakeScene, ledger_url: str | None, batch: int, kill_seed: int
) -> None:
    chance = random.Random(f"{kill_seed}/{batch}")
    kills, number = 0, 0
    while kills < KILLS_EACH:
        number += 1
        pace_s = chance.choice((0.0, 0.05, 0.2))
        scene = make_scene(f"scene-{number}", database_url=ledger_url, pace_s=pace_s)
        kills += len(_kill_until_done(scene, chance, KILLS_EACH - kills))


def _kill_until_done(scene: Scene, chance: random.Random, most: int) -> list[Ended]:
    """Kill and resume until the run outlives us; then everything must be as promised."""
    killed: list[Ended] = []
    for _ in range(MOST_RUNS):
        running = scene.start_run()
        ended = _strike(scene, running, chance) if len(killed) < most else running.end()
        if ended.code != -signal.SIGKILL:
            assert_sound(scene, killed, ended)
            return killed
        killed.append(ended)
    raise AssertionError(f"not done after {MOST_RUNS} runs")


def _strike(scene: Scene, running: Running, chance: random.Random) -> Ended:
    """Kill while it starts, or a moment after it acknowledged so many entries; it may be faster."""
    if chance.random() < 0.2:
        deadline = time.monotonic() + chance.uniform(0.0, LONGEST_START_S)
        while running.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
    else:
        entries = chance.randint(1, MOST_ENTRIES)
        while running.process.poll() is None and running.acknowledged() < entries:
            time.sleep(0.004)
        time.sleep(chance.uniform(0.0, LONGEST_PAUSE_S))
    _kill(scene, running, chance.choice([*Victims]))
    return running.end()


def _kill(scene: Scene, running: Running, victims: Victims) -> None:
    # Not collected yet, so the pid is still its own, even if it ended by itself meanwhile.
    if running.process.returncode is not None:
        return
    if victims is Victims.DRIVER:
        os.kill(running.process.pid, signal.SIGKILL)
    else:
        os.killpg(running.process.pid, signal.SIGKILL)
    if victims is Victims.ALL:
        scene.kill_agents()
