"""What is on disk at any moment is enough: the home as a power cut would leave it goes on."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
from pathlib import Path

from tests.crash.claims import assert_chain_holds
from tests.crash.conftest import MakeScene
from tests.crash.scene import Scene


def test_a_home_frozen_at_a_random_moment_goes_on(make_scene: MakeScene, kill_seed: int) -> None:
    scene = make_scene(pace_s=0.05)
    killed = _cut_the_power(scene, random.Random(kill_seed))
    log = scene.log()
    assert_chain_holds(log)
    assert [e for e in killed if e not in log] == [], "an acknowledged entry was not on disk"
    ended = scene.run()
    assert ended.code == 0, ended
    assert scene.log()[: len(log)] == log


def test_a_log_torn_at_a_random_byte_loses_only_its_end(
    make_scene: MakeScene, kill_seed: int
) -> None:
    """A disk that lied about its syncs: acknowledged entries are gone, but never in the middle."""
    chance = random.Random(kill_seed)
    scene = make_scene(pace_s=0.05)
    acknowledged = _cut_the_power(scene, chance)
    wal = scene.home / "ledger.sqlite3-wal"
    data = wal.read_bytes()
    wal.write_bytes(data[: chance.randrange(len(data))])
    log = scene.log()
    assert_chain_holds(log)
    known = {entry["seq"]: entry for entry in acknowledged}
    assert all(known.get(entry["seq"], entry) == entry for entry in log)
    ended = scene.run()
    assert ended.code == 0, ended
    assert scene.command("audit", "--json").code == 0


def test_a_ledger_from_a_backup_is_believed_against_the_engine(make_scene: MakeScene) -> None:
    """The engine says that the run is over; the ledger, which decides, does not."""
    scene = make_scene()
    killed = scene.run(crash_at="verdict-appended:4")
    backup = scene.folder / "backup.sqlite3"
    _back_up(scene.home / "ledger.sqlite3", backup)
    assert scene.run().code == 0
    for old in scene.home.glob("ledger.sqlite3*"):
        old.unlink()
    shutil.copy(backup, scene.home / "ledger.sqlite3")
    ended = scene.run()
    assert ended.code == 0, ended
    assert ended.entries[-1]["kind"] == "run.finished"
    assert [e for e in killed.entries if e not in scene.log()] == []
    # The receipt of the end that the backup does not know tells that the ledger was set back.
    assert scene.command("audit", "--json").code == 3
    shutil.rmtree(scene.home / "receipts")
    assert scene.command("audit", "--json").code == 0


def _cut_the_power(scene: Scene, chance: random.Random) -> list[dict[str, object]]:
    """Freeze the driver, copy the home, kill everything, and put the copy in its place."""
    running = scene.start_run()
    wanted = chance.randint(2, 20)
    running.until(lambda: running.acknowledged() >= wanted)
    running.process.send_signal(signal.SIGSTOP)
    copy = scene.folder / "copy"
    shutil.copytree(scene.home, copy)
    acknowledged = running.entries()
    running.process.kill()
    running.end()
    scene.kill_agents()
    shutil.rmtree(scene.home)
    copy.rename(scene.home)
    return acknowledged


def _back_up(source: Path, target: Path) -> None:
    with sqlite3.connect(source) as opened, sqlite3.connect(target) as copy:
        opened.backup(copy)
    opened.close()
    copy.close()
