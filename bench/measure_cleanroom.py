"""What a clean room costs a judging: against `cp -r` when made, against one walk when kept."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from floors import seconds_of
from lines import Line, Unit, compared
from measure_content import make_files
from sizes import Sizes

from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.workspace import Workspace

MANY_FILES = 50_000
KEPT_LINES = (("unchanged", 2.0), ("one file changed", None), ("asked what moved", 2.0))


def clean_room(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Made from nothing; prepared again after nothing or one file changed; asked what moved."""
    for count in sizes.room_files:
        place = folder / str(count)
        make_files(place / "files", count)
        yield from _lines(place, count, sizes)


def _lines(place: Path, count: int, sizes: Sizes) -> Iterator[Line]:
    workspace = Workspace(place / "files", place / "store")
    workspace.snapshot()
    what = f"clean room of {count:,} files"
    # Making and removing many files takes minutes on a slow disk; once says enough.
    rounds = 1 if count > MANY_FILES else sizes.rounds
    made, copied = zip(*(_make(workspace, place, n) for n in range(rounds)), strict=True)
    yield compared(f"{what}, made (`cp -r`)", Unit.MILLISECONDS, made, copied)
    room = CleanRoom(workspace, place / "room")
    room.prepare(workspace.snapshot().digest)
    kept = [_keep(workspace, room) for _ in range(sizes.rounds)]
    walks = [walk for _, _, _, walk in kept]
    for number, (name, goal) in enumerate(KEPT_LINES):
        times = [round_[number] for round_ in kept]
        yield compared(f"{what}, {name} (walk)", Unit.MILLISECONDS, times, walks, goal)


def _make(workspace: Workspace, place: Path, number: int) -> tuple[float, float]:
    room = CleanRoom(workspace, place / f"made-{number}")
    digest = workspace.snapshot().digest
    made_ms = _ms(lambda: room.prepare(digest))
    copy = ("cp", "-r", "files", f"copied-{number}")
    copied_ms = seconds_of(copy, place) * 1000
    room.discard()
    return made_ms, copied_ms


def _keep(workspace: Workspace, room: CleanRoom) -> tuple[float, float, float, float]:
    digest = workspace.snapshot().digest
    walk_ms = statistics.median(_ms(workspace.snapshot) for _ in range(3))
    unchanged_ms = _ms(lambda: room.prepare(digest))
    moved_ms = _ms(room.moved)
    changed = next((workspace.root / "folder-0").iterdir())
    changed.write_text(changed.read_text() + "changed\n")
    changed_digest = workspace.snapshot().digest
    changed_ms = _ms(lambda: room.prepare(changed_digest))
    return unchanged_ms, changed_ms, moved_ms, walk_ms


def _ms(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000
