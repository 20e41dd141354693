"""Caps hold from the first instruction inside a cell, and as far as the system goes elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.domain.verdict import Ending, Observation
from signoff.process.limits import Limits, PidGroup
from signoff.process.runner import run

from .commands import bash, python
from .pens import Pen

MEGABYTE = 1 << 20

# Forks until it is refused, each child for good; says how many there were.
FORK_BOMB = """
import os, sys, time
made = 0
for _ in range(400):
    try:
        if os.fork() == 0:
            time.sleep(600)
    except OSError:
        break
    made += 1
    time.sleep(float(sys.argv[1]))
print(made, flush=True)
"""

ALLOCATE = """
import sys
try:
    block = bytearray(int(sys.argv[1]) << 20)
    print("got it")
except MemoryError:
    print("refused")
"""


def _may_make_groups() -> bool:
    group = PidGroup(64)
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            return group.add(child.pid)
        finally:
            child.kill()
            child.wait()
            group.close()


def _bomb(pen: Pen, pause_s: float = 0.0) -> Observation:
    return pen.python(FORK_BOMB, str(pause_s), limits=Limits(wall_s=60, processes=64))


@pytest.mark.storm
def test_a_fork_bomb_in_a_cell_stays_below_its_cap(cell: Pen) -> None:
    seen = _bomb(cell)
    if seen.ending is Ending.SIGNALLED:
        assert seen.detail == "more than 64 processes"
        pytest.skip("as root without control groups the run is ended instead")
    assert int(seen.stdout.head) == 63


@pytest.mark.storm
def test_a_fork_bomb_ends_where_nothing_holds_it(fence: Pen) -> None:
    """Only root can have a control group; otherwise the run that outgrows its cap is ended."""
    seen = _bomb(fence, pause_s=0.01)
    if seen.ending is Ending.EXITED:
        assert int(seen.stdout.head) == 63
    else:
        assert (seen.ending, seen.signal) == (Ending.SIGNALLED, signal.SIGKILL)
        assert (seen.stdout.size, seen.detail) == (0, "more than 64 processes")


def test_what_stays_below_the_cap_is_left_alone(pen: Pen) -> None:
    text = "for i in $(seq 20); do sleep 0.5 & done; wait; exit 3"
    seen = pen.bash(text, Limits(wall_s=60, processes=40))
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, 3)


def test_without_a_sandbox_the_cap_on_processes_holds_too(tmp_path: Path) -> None:
    command = python(FORK_BOMB, tmp_path, "0.01")
    seen = run(replace(command, limits=Limits(wall_s=60, processes=64)))
    if seen.ending is Ending.EXITED:
        assert int(seen.stdout.head) == 63
    else:
        assert seen.detail == "more than 64 processes"


def test_what_lasts_is_capped_by_the_kernel_itself_where_it_may_be_asked(tmp_path: Path) -> None:
    """A short command ends before a group would hold it; counting from outside covers its start."""
    if not _may_make_groups():
        pytest.skip("control groups take rights that this user does not have")
    text = "sleep 600 & until grep -q signoff- /proc/self/cgroup; do sleep 0.01; done; " + (
        "cat /proc/$!/cgroup"
    )
    seen = run(replace(bash(text, tmp_path), limits=Limits(wall_s=60, processes=64)))
    assert seen.ending is Ending.EXITED
    assert b"/signoff-" in seen.stdout.head, "what the command started before is held too"


def test_no_control_group_is_left_behind(pen: Pen) -> None:
    assert pen.bash("sleep 0.3", Limits(wall_s=60, processes=10)).exit_code == 0
    left = [p for p in Path("/sys/fs/cgroup").glob(f"**/signoff-{os.getpid()}-*") if p.is_dir()]
    assert left == []


def test_memory_is_capped(pen: Pen) -> None:
    capped = Limits(wall_s=60, memory=512 * MEGABYTE)
    text = 'sleep 0.2; exec "$0" -I -S -c "$1" "$2"'
    for megabytes, said in ((2048, b"refused\n"), (64, b"got it\n")):
        argv = ("/bin/bash", "-c", text, _interpreter(), ALLOCATE, str(megabytes))
        assert run(pen.command(argv, capped)).stdout.head == said


def test_in_a_cell_the_caps_hold_from_the_first_instruction(cell: Pen) -> None:
    limits = Limits(wall_s=60, memory=512 * MEGABYTE, open_files=37, file_size=4096)
    assert cell.python(ALLOCATE, "2048", limits=limits).stdout.head == b"refused\n"
    assert cell.bash("ulimit -n; ulimit -Hn", limits).stdout.head == b"37\n37\n"
    cell.bash("head -c 1000000 /dev/zero > big", limits)
    assert (cell.workspace / "big").stat().st_size == 4096


def test_a_cap_cannot_be_lifted(cell: Pen) -> None:
    seen = cell.bash("ulimit -Hn 1000 || ulimit -n 1000", Limits(wall_s=60, open_files=37))
    assert seen.exit_code != 0


def test_processor_time_is_capped(pen: Pen) -> None:
    seen = pen.python("while True: pass", limits=Limits(wall_s=120, cpu_s=1))
    assert seen.ending is Ending.SIGNALLED
    assert seen.signal in (signal.SIGXCPU, signal.SIGKILL)


def _interpreter() -> str:
    return python("", Path("/")).argv[0]
