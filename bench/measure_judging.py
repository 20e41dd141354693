"""What a sandbox, a clean room and watching what a check opens cost, against going without."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

from lines import Line, Unit, compared
from sizes import Sizes

from signoff.domain.plan import Contract
from signoff.domain.verdict import Isolation, Phase
from signoff.process.environment import STANDARD_PATH
from signoff.process.sandboxes import probe_sandboxes
from signoff.verification.bench import Bench
from signoff.verification.case import Case
from signoff.verification.enclosure import Enclosure
from signoff.verification.evidence import NoEvidence
from signoff.verification.heldout import HeldOutChecks
from signoff.verification.judge import Judge
from signoff.verification.obstacles import Obstacles
from signoff.verification.pins import Pins
from signoff.verification.rooms import Rooms
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.opened import OpenWatch
from signoff.workspace.workspace import Workspace

FILES_PER_FOLDER = 100
JUDGINGS = 5
WATCHED_TESTS = 100


def judging(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """One contract that looks at one file, judged in each way this machine offers."""
    for count in sizes.room_files:
        root = folder / f"work-{count}"
        _fill(root, count)
        judges = dict(_judges(folder / f"home-{count}", root))
        plain = judges.pop("none")
        _seconds(plain)
        floor = [_seconds(plain) * 1000 for _ in range(JUDGINGS)]
        for what, judge in judges.items():
            _seconds(judge)
            taken = [_seconds(judge) * 1000 for _ in range(JUDGINGS)]
            name = f"judging with {what}, {count:,} files"
            yield compared(name, Unit.MILLISECONDS, taken, [statistics.median(floor)] * JUDGINGS)


def watching(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """A pytest run in a large workspace, with its opens watched and without."""
    count = sizes.room_files[-1]
    root = folder / "watched"
    _fill(root, count)
    tests = root / "tests"
    tests.mkdir()
    for number in range(WATCHED_TESTS):
        text = "from pathlib import Path\n\ndef test_it():\n    assert Path('{}').read_text()\n"
        (tests / f"test_{number}.py").write_text(text.format("part-0/file-0.txt"))
    folders = [str(path.relative_to(root)) for path in root.iterdir() if path.is_dir()]
    runs = {True: list[float](), False: list[float]()}
    for _ in range(JUDGINGS):
        for watched, taken in runs.items():
            taken.append(_pytest_ms(root, ["", *folders] if watched else None))
    yield compared(
        f"pytest, {count:,} files, opens watched", Unit.MILLISECONDS, runs[True], runs[False]
    )


def _pytest_ms(root: Path, folders: list[str] | None) -> float:
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    began = time.perf_counter()
    with OpenWatch(root, folders) if folders is not None else nullcontext():
        subprocess.run(argv, cwd=root, check=True, capture_output=True)
    return (time.perf_counter() - began) * 1000


def _judges(home: Path, root: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    available = [s.isolation for s in probe_sandboxes() if s.available]
    for isolation in (Isolation.NONE, *available):
        yield str(isolation), _judge(home / isolation, root, isolation, room=False)
    if Isolation.BUBBLEWRAP in available:
        yield "a clean room", _judge(home / "room", root, Isolation.BUBBLEWRAP, room=True)


def _judge(home: Path, root: Path, isolation: Isolation, *, room: bool) -> Callable[[], None]:
    workspace = Workspace(root, home / "store")
    enclosure = Enclosure(isolation, search_path=STANDARD_PATH)
    pins = Pins("", "", {}, "", STANDARD_PATH, str(root), {}, "", {}, {})
    judge = Judge(
        workspace,
        root,
        pins,
        NoEvidence(),
        Bench(STANDARD_PATH, os.environ, enclosure=enclosure),
        Rooms(root, CleanRoom(workspace, home / "rooms") if room else None),
        Obstacles(pins, root, enclosure, HeldOutChecks(home / "heldout")),
    )
    case = Case("1", Contract("test -s part-0/file-0.txt"), Phase.AUDIT)

    def once() -> None:
        verdict = judge.judge(case)
        if not verdict.kept:
            raise SystemExit(f"a judging for the benchmark was not kept: {verdict.message}")

    return once


def _seconds(judge: Callable[[], None]) -> float:
    began = time.perf_counter()
    judge()
    return time.perf_counter() - began


def _fill(root: Path, count: int) -> None:
    for number in range(count):
        place = root / f"part-{number // FILES_PER_FOLDER}"
        if number % FILES_PER_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"file-{number}.txt").write_text(f"{number}\n")
