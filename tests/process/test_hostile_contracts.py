"""Contracts that will not end by themselves: none leaves a process, none overruns its time."""

from __future__ import annotations

import os
import random
import time
from math import ceil
from pathlib import Path

import pytest

from signoff.domain.verdict import Ending, Isolation
from signoff.process.command import Command, Confinement
from signoff.process.environment import STANDARD_PATH
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.sandboxes import probe_sandboxes
from signoff.process.shell import shell_command

FEW, MANY = 12, 1_000
DEADLINE_S = 0.3
OVERRUN_S = 2.0
HOSTILE = (
    "sleep 600",
    "trap '' TERM INT HUP; sleep 600 & wait; sleep 600",
    "setsid sleep 600 & sleep 600",
    "(setsid bash -c 'sleep 600 & sleep 600' &) ; exit 0",
    "setsid nohup bash -c 'trap \"\" TERM; while :; do sleep 1; done' > /dev/null 2>&1 & exit 0",
    "for i in 1 2 3 4 5 6 7 8; do (sleep 600 &) ; done; sleep 600",
    "while :; do echo flood; done",
    "exec 3>&1; (sleep 600 >&3 &) ; exit 0",
    "f() { (sleep 0.05; f) & }; f; sleep 600",
    "env -i setsid sleep 600 & disown; kill -STOP $$",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        soak = metafunc.config.getoption("soak")
        metafunc.parametrize("seed", range(ceil((MANY if soak else FEW) / len(_modes()))))


def _modes() -> list[Isolation]:
    return [Isolation.NONE, *(s.isolation for s in probe_sandboxes() if s.available)]


@pytest.mark.parametrize("mode", _modes())
def test_no_hostile_contract_outlives_its_time(
    tmp_path: Path, mode: Isolation, seed: int, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(f"{mode}-{seed}")
    text = chance.choice(HOSTILE)
    mark = f"hostile-{os.getpid()}-{mode}-{seed}"
    confinement = None if mode is Isolation.NONE else Confinement(mode, writable=(tmp_path,))
    command = Command(
        shell_command(text),
        tmp_path,
        {"PATH": STANDARD_PATH, "HOSTILE_MARK": mark},
        Limits(wall_s=DEADLINE_S + chance.random() / 2, grace_s=0.3),
        marked_by="HOSTILE_MARK",
        confinement=confinement,
    )
    began = time.monotonic()
    observation = run(command)
    overrun = time.monotonic() - began - command.limits.wall_s
    assert observation.ending in (Ending.EXITED, Ending.TIMED_OUT, Ending.SIGNALLED), text
    assert _alive(tmp_path) == [], text
    if request.config.getoption("soak"):
        # Only on a machine of its own: elsewhere the harness may have to wait for its turn.
        assert overrun <= OVERRUN_S, text


def _alive(folder: Path) -> list[str]:
    """Processes that still work in the folder of the contract."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append(process.name)
        except OSError:
            continue
    return found
