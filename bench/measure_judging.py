"""What judging costs against a bare spawn; sandboxes, a clean room and watching, against none."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

from floors import BARE_SPAWN, seconds_of
from lines import Line, Unit, compared
from sizes import Sizes

from signoff.domain.plan import Contract
from signoff.domain.verdict import Isolation, Phase
from signoff.process.command import Command
from signoff.process.environment import STANDARD_PATH
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.sandboxes import probe_sandboxes
from signoff.verification.check_runner import CheckRunner
from signoff.verification.enclosure import Enclosure
from signoff.verification.evidence import Case, NoEvidence
from signoff.verification.heldout import HeldOutChecks
from signoff.verification.judge import Judge
from signoff.verification.obstacles import Obstacles
from signoff.verification.pins import Pins
from signoff.verification.protection import Guard
from signoff.verification.rooms import Rooms
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.opened import OpenWatch
from signoff.workspace.workspace import Workspace

FILES_PER_FOLDER = 100
JUDGINGS = 5
AFTER_WORK_GOAL = 1.15  # against judging before anybody worked
WATCHED_GOAL = 1.05
WATCHED_FILES = 10_000  # at most: what the goal is said for
WATCHED_TESTS = 100
CONTRACT = "test -s part-0/file-0.txt"
BARE_CONTRACT = (*BARE_SPAWN[:-1], CONTRACT)


def judging(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """One contract that looks at one file, judged in each way this machine offers.

    A source file has changed since the approval, so everything that asks about changes runs too;
    what those questions cost is the row against judging before anybody worked.
    """
    for count in sizes.room_files:
        root = folder / f"work-{count}"
        _fill(root, count)
        judges = dict(_judges(folder / f"home-{count}", root))
        plain = judges.pop("none")
        _seconds(plain)
        bare, floor = list[float](), list[float]()
        for _ in range(JUDGINGS):
            bare.append(seconds_of(BARE_CONTRACT, root) * 1000)
            floor.append(_seconds(plain) * 1000)
        yield compared(f"judging, {count:,} files", Unit.MILLISECONDS, floor, bare)
        yield from _after_work(folder / f"home-{count}", root, count)
        for what, judge in judges.items():
            _seconds(judge)
            taken = [_seconds(judge) * 1000 for _ in range(JUDGINGS)]
            name = f"judging with {what}, {count:,} files"
            yield compared(name, Unit.MILLISECONDS, taken, [statistics.median(floor)] * JUDGINGS)


def _after_work(home: Path, root: Path, count: int) -> Iterator[Line]:
    """Judging after work against before it: with no sandbox, Landlock, and a view of its own."""
    usable = [s.isolation for s in probe_sandboxes() if s.available]
    own_view = [isolation for isolation in usable if isolation.has_own_view][:1]
    landlock = [isolation for isolation in usable if isolation is Isolation.LANDLOCK]
    for isolation in (Isolation.NONE, *landlock, *own_view):
        after = _judge(home / f"after-{isolation}", root, isolation)
        before = _judge(home / f"before-{isolation}", root, isolation, Phase.BASELINE)
        sandbox = "no sandbox" if isolation is Isolation.NONE else str(isolation)
        yield _alternately(f"judging after work, {sandbox}, {count:,} files", after, before)


def _alternately(name: str, judge: Callable[[], None], other: Callable[[], None]) -> Line:
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(JUDGINGS + 1):  # the first of each only warms up
        for which, times in zip((judge, other), taken, strict=True):
            times.append(_seconds(which) * 1000)
    return compared(name, Unit.MILLISECONDS, taken[0][1:], taken[1][1:], AFTER_WORK_GOAL)


def watching(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """A pytest run in a large workspace, with its opens watched and without."""
    count = max(n for n in sizes.room_files if n <= WATCHED_FILES)
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
    name = f"pytest, {count:,} files, opens watched"
    yield compared(name, Unit.MILLISECONDS, runs[True], runs[False], WATCHED_GOAL)


def _pytest_ms(root: Path, folders: list[str] | None) -> float:
    argv = (sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    command = Command(argv, root, dict(os.environ), Limits(wall_s=600))
    began = time.perf_counter()
    with OpenWatch(root, folders) if folders is not None else nullcontext() as watch:
        run(command, also=None if watch is None else (watch.fd, watch.take_in))
    return (time.perf_counter() - began) * 1000


def _judges(home: Path, root: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    available = [s.isolation for s in probe_sandboxes() if s.available]
    for isolation in (Isolation.NONE, *available):
        yield str(isolation), _judge(home / isolation, root, isolation)
    if Isolation.BUBBLEWRAP in available:
        yield "a clean room", _judge(home / "room", root, Isolation.BUBBLEWRAP, room=True)


def _judge(
    home: Path,
    root: Path,
    isolation: Isolation,
    phase: Phase = Phase.AUDIT,
    *,
    room: bool = False,
) -> Callable[[], None]:
    workspace = Workspace(root, home / "store")
    enclosure = Enclosure(isolation, search_path=STANDARD_PATH)
    work = root / "work.py"
    work.write_text("approved = True\n")
    approved = workspace.snapshot().digest
    work.write_text("approved = False\n")
    pins = Pins("", "", {}, "", STANDARD_PATH, str(root), {}, approved, {}, {})
    judge = Judge(
        workspace,
        root,
        pins,
        NoEvidence(),
        CheckRunner(STANDARD_PATH, os.environ, enclosure=enclosure),
        Rooms(root, CleanRoom(workspace, home / "rooms") if room else None),
        Obstacles(pins, root, enclosure, HeldOutChecks(home / "heldout")),
    )
    case = Case("1", Contract(CONTRACT), phase, Guard(subject="1", influences={}))

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
