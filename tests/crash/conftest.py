"""Scenes on either database, and how many random kills a session pays for."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.scene import Scene
from tests.postgres import DATABASES

FEW_KILLS, MANY_KILLS, KILLS_EACH = 24, 4_000, 6

MakeScene = Callable[..., Scene]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("crash")
    group.addoption("--kills", type=int, help="how many random kills, instead")
    group.addoption("--kill-seed", type=int, help="choose the moments as a failed run did")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "batch" in metafunc.fixturenames:
        soak = metafunc.config.getoption("soak")
        # These are unknown when the whole suite is run: this file is then read too late.
        kills = metafunc.config.getoption("kills", default=None)
        kills = kills or (MANY_KILLS if soak else FEW_KILLS)
        metafunc.parametrize("batch", range(max(1, kills // KILLS_EACH // len(DATABASES))))


@pytest.fixture
def kill_seed(request: pytest.FixtureRequest) -> int:
    """Where this test's chance comes from; printed, so that a failure names it."""
    given = request.config.getoption("kill_seed", default=None)
    seed: int = given if given is not None else random.SystemRandom().randrange(2**32)
    print(f"--kill-seed={seed}")
    return seed


@pytest.fixture(params=DATABASES)
def ledger_url(request: pytest.FixtureRequest) -> str | None:
    """None is the embedded database in the home folder."""
    if request.param == "sqlite":
        return None
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def make_scene(tmp_path: Path) -> Iterator[MakeScene]:
    """Scenes that are cleared away whatever the test did."""
    made: list[Scene] = []

    def make(name: str = "scene", **options: Any) -> Scene:
        made.append(Scene(tmp_path / name, **options))
        return made[-1]

    yield make
    for scene in made:
        scene.close()


@pytest.fixture
def scene(make_scene: MakeScene, ledger_url: str | None) -> Scene:
    """One scene, once on each database."""
    return make_scene(database_url=ledger_url)
