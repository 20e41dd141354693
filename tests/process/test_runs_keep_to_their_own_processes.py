"""Killing one run's tree never touches another run, nor what other code of the harness started."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from signoff.domain.verdict import Ending
from signoff.process.runner import run

from .commands import bash, exists, python, read_pid

# The orphan has neither parent, session nor environment in common with its run.
_ORPHAN = "( setsid env -i /bin/bash -c 'echo $$ > pid; exec sleep 600' & )"


def test_fifty_parallel_runs_each_keep_their_own_tree(tmp_path: Path) -> None:
    def one(i: int) -> tuple[bytes, int, bool]:
        folder = tmp_path / str(i)
        folder.mkdir()
        text = (
            f"{_ORPHAN}; sleep 600 & until [ -s pid ]; do sleep 0.02; done; "
            f'sleep 0.{i:02}; kill -0 "$(cat pid)" "$!" && echo both alive'
        )
        seen = run(bash(text, folder))
        return seen.stdout.head, seen.leftovers_killed, exists(read_pid(folder / "pid"))

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(one, range(50))) == [(b"both alive\n", 2, False)] * 50


@contextmanager
def _stranger(new_session: bool) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"], start_new_session=new_session)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_processes_started_elsewhere_before_a_run_live_on(tmp_path: Path) -> None:
    with _stranger(False) as plain, _stranger(True) as own_session:
        seen = run(bash(f"{_ORPHAN}; until [ -s pid ]; do sleep 0.02; done", tmp_path))
        assert seen.leftovers_killed == 1
        assert (plain.poll(), own_session.poll()) == (None, None)


def test_processes_started_elsewhere_during_a_run_live_on(tmp_path: Path) -> None:
    started: list[int] = []
    strangers: list[subprocess.Popen[bytes]] = []

    def start(_pid: int) -> None:
        for own in (False, True):
            strangers.append(subprocess.Popen(["sleep", "600"], start_new_session=own))
            started.append(strangers[-1].pid)
        subprocess.run(["setsid", "-f", "bash", "-c", _SAY_AND_SLEEP], cwd=tmp_path, check=True)
        started.append(read_pid(tmp_path / "stranger"))

    seen = run(bash("sleep 600 & sleep 0.2", tmp_path), on_started=start)
    alive = [exists(pid) for pid in started]
    subprocess.run(["kill", "-9", *map(str, started)], check=True)
    for stranger in strangers:
        stranger.wait()
    assert (alive, seen.leftovers_killed) == ([True, True, True], 1)


_SAY_AND_SLEEP = "echo $$ > stranger; exec sleep 600"


def test_a_child_ended_elsewhere_keeps_its_exit_code(tmp_path: Path) -> None:
    child = subprocess.Popen(["bash", "-c", "exit 42"])
    run(bash("( setsid sleep 600 & ); sleep 0.7", tmp_path))
    assert child.wait() == 42


def test_between_runs_orphans_go_where_they_always_went(tmp_path: Path) -> None:
    run(bash("true", tmp_path))
    answer = ctypes.c_int(7)
    ctypes.CDLL(None).prctl(37, ctypes.byref(answer), 0, 0, 0)
    assert answer.value == 0


def test_a_harness_inside_a_run_still_cleans_up_after_itself(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[1].split(':')\n"
        "from pathlib import Path\n"
        "from signoff.process.command import Command\n"
        "from signoff.process.limits import Limits\n"
        "from signoff.process.runner import run\n"
        "from signoff.process.shell import shell_command\n"
        "text = sys.argv[2] + '; until [ -s pid ]; do sleep 0.02; done'\n"
        "env = {'PATH': '/usr/bin:/bin'}\n"
        "seen = run(Command(shell_command(text), Path('.'), env, Limits(wall_s=60)))\n"
        "print(seen.ending, seen.leftovers_killed)\n"
    )
    seen = run(python(code, tmp_path, ":".join(sys.path), _ORPHAN))
    assert (seen.stdout.head, seen.stderr.head) == (b"exited 1\n", b"")
    assert (seen.ending, seen.leftovers_killed) == (Ending.EXITED, 0)
    assert not exists(read_pid(tmp_path / "pid"))


def test_a_run_inherits_no_open_files(tmp_path: Path) -> None:
    with open(tmp_path / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        seen = run(bash("ls -l /proc/self/fd", tmp_path))
    assert b"secret" not in seen.stdout.head
