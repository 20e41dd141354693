"""Snapshots of a large workspace against git on the same files, and the ledger against SQLite."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from floors import bare_commits_s, bare_walk_s, git
from lines import Line, Unit, compared
from sizes import Sizes

from signoff.domain.ledger import Draft, Kind
from signoff.storage.home import open_database, sqlite_url
from signoff.storage.ledger import Ledger
from signoff.workspace.workspace import Workspace

FILES_PER_FOLDER = 100
WALK_GOAL = 1.3
WALKS = 5
DATA = {"message": "x" * 400, "snapshot": "0" * 64, "key": "1" * 64}


def snapshots(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Cold: nothing known, all content stored. Warm: another process took one before.

    Against a bare walk, which only looks at every file: warm, and taken again by one process.
    """
    cold, cold_git, warm, warm_git, again, walk = [], [], [], [], [], []
    for number in range(sizes.rounds):
        root = folder / f"files-{number}"
        make_files(root, sizes.files)
        git(root, "init", "--quiet")
        cold_git.append((git(root, "add", "--all") + git(root, "status")) * 1000)
        store = folder / f"store-{number}"
        cold.append(_snapshot_ms(root, store))
        _snapshot_ms(root, store)
        warm_git.append(git(root, "status") * 1000)
        warm.append(_snapshot_ms(root, store))
        workspace = Workspace(root, store)
        workspace.snapshot()
        pairs = [(bare_walk_s(root) * 1000, _ms(workspace.snapshot)) for _ in range(WALKS)]
        for times, found in zip((walk, again), zip(*pairs, strict=True), strict=True):
            times.append(min(found))
    what = f"snapshot of {sizes.files:,} files"
    yield compared(f"{what}, cold (`git add`, `status`)", Unit.MILLISECONDS, cold, cold_git)
    yield compared(f"{what}, warm (`git status`)", Unit.MILLISECONDS, warm, warm_git)
    yield compared(f"{what}, warm (bare walk)", Unit.MILLISECONDS, warm, walk)
    yield compared(f"{what}, again (bare walk)", Unit.MILLISECONDS, again, walk, WALK_GOAL)


def appends(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Durable appends of one entry each against durable commits of one row each."""
    ledger = Ledger(open_database(sqlite_url(folder / "ledger.sqlite3")))
    ours, floors = [], []
    size = len(str(DATA)) + 300
    for number in range(sizes.rounds):
        floors.append(bare_commits_s(folder / f"bare-{number}.sqlite3", sizes.appends, b"x" * size))
        began = time.perf_counter()
        for _ in range(sizes.appends):
            ledger.append("plan", [Draft(Kind.AUDITED, dict(DATA))])
        ours.append(time.perf_counter() - began)
    each_ms, floor_ms = ([s * 1000 / sizes.appends for s in times] for times in (ours, floors))
    yield compared("durable append to the ledger", Unit.MILLISECONDS, each_ms, floor_ms)


def make_files(root: Path, count: int) -> None:
    """Small files, a hundred to a folder."""
    for number in range(count):
        place = root / f"folder-{number // FILES_PER_FOLDER}"
        if number % FILES_PER_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"file-{number}.txt").write_text(f"content of file {number}\n" * 10)


def _snapshot_ms(root: Path, store: Path) -> float:
    return _ms(lambda: Workspace(root, store).snapshot())


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
