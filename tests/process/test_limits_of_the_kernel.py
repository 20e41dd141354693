"""Caps on files and processor time hold for the process and everything it starts."""

from __future__ import annotations

import signal
from pathlib import Path

from msgspec.structs import replace

from signoff.domain.verdict import Ending
from signoff.process.limits import Limits
from signoff.process.runner import run

from .commands import bash, python


def test_open_files_are_capped_for_children_too(tmp_path: Path) -> None:
    command = bash("sleep 0.2; bash -c 'ulimit -n; ulimit -Hn'", tmp_path)
    seen = run(replace(command, limits=Limits(wall_s=60, open_files=37)))
    assert seen.stdout.head == b"37\n37\n"


def test_a_file_cannot_grow_past_the_cap(tmp_path: Path) -> None:
    command = bash("sleep 0.2; head -c 1000000 /dev/zero > big; exit 0", tmp_path)
    run(replace(command, limits=Limits(wall_s=60, file_size=4096)))
    assert (tmp_path / "big").stat().st_size == 4096


def test_a_cap_never_raises_what_the_system_allows(tmp_path: Path) -> None:
    command = bash("sleep 0.2; ulimit -Hn", tmp_path)
    plain = int(run(command).stdout.head)
    seen = run(replace(command, limits=Limits(wall_s=60, open_files=plain * 2)))
    assert int(seen.stdout.head) == plain


def test_processor_time_is_capped(tmp_path: Path) -> None:
    command = python("while True: pass", tmp_path)
    seen = run(replace(command, limits=Limits(wall_s=120, cpu_s=1)))
    assert seen.ending is Ending.SIGNALLED
    assert seen.signal in (signal.SIGXCPU, signal.SIGKILL)
