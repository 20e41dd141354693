"""The durable engine's own database: killed while it is made, it is made again."""

from __future__ import annotations

import sqlite3

from signoff.testing.crash import EnginePoint
from tests.crash.conftest import MakeScene
from tests.crash.scene import Scene


def test_a_kill_while_the_database_is_made_leaves_none(make_scene: MakeScene) -> None:
    scene = make_scene("scene")
    killed = scene.run(crash_at=EnginePoint.MADE)
    assert killed.code == -9
    assert not (scene.home / "engine.sqlite3").exists()
    assert scene.run().code == 0


def test_a_database_that_was_left_half_made_is_put_aside(make_scene: MakeScene) -> None:
    """As DBOS leaves it when it is killed between its first tables and their version."""
    scene = make_scene("scene")
    half_made(scene)
    assert scene.run().code == 0
    assert (scene.home / "engine.sqlite3.half-made").exists()


def half_made(scene: Scene) -> None:
    scene.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = sqlite3.connect(scene.home / "engine.sqlite3")
    database.execute("CREATE TABLE dbos_migrations (version INTEGER NOT NULL PRIMARY KEY)")
    database.execute("CREATE TABLE workflow_status (workflow_uuid TEXT PRIMARY KEY)")
    database.commit()
    database.close()
