"""Whatever interrupts the harness, the processes of the run die first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.process.command import StreamName
from signoff.process.runner import run

from .commands import bash, environment, exists, read_pid

_TREE = "( setsid env -i /bin/bash -c 'echo $$ > pid; exec sleep 600' & ); echo $$ > main; "


class Boom(Exception):
    """Raised by a caller's own function."""


def test_an_error_in_a_listener_kills_the_tree_and_is_raised(tmp_path: Path) -> None:
    def listen(_name: StreamName, _chunk: bytes) -> None:
        raise Boom

    text = _TREE + "until [ -s pid ]; do sleep 0.01; done; echo ready; sleep 600"
    with pytest.raises(Boom):
        run(bash(text, tmp_path), on_output=listen)
    assert not exists(read_pid(tmp_path / "pid"))
    assert not exists(read_pid(tmp_path / "main"))


def test_an_error_in_the_start_notice_kills_the_tree(tmp_path: Path) -> None:
    pids: list[int] = []

    def started(pid: int) -> None:
        pids.append(pid)
        raise Boom

    with pytest.raises(Boom):
        run(bash("sleep 600", tmp_path), on_started=started)
    assert not exists(pids[0])


def test_an_error_in_the_question_whether_to_cancel_kills_the_tree(tmp_path: Path) -> None:
    def cancelled() -> bool:
        if (tmp_path / "pid").exists():
            raise Boom
        return False

    with pytest.raises(Boom):
        run(bash(_TREE + "sleep 600", tmp_path), cancelled=cancelled)
    assert not exists(read_pid(tmp_path / "main"))


@pytest.mark.parametrize("times", [1, 5])
def test_ctrl_c_kills_the_tree_then_interrupts(times: int, tmp_path: Path) -> None:
    harness = subprocess.Popen(
        [sys.executable, "-c", _HARNESS, _TREE + "sleep 600"],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
    )
    orphan, main = read_pid(tmp_path / "pid"), read_pid(tmp_path / "main")
    for _ in range(times):
        os.kill(harness.pid, signal.SIGINT)
    out, _ = harness.communicate(timeout=60)
    assert out.startswith(b"interrupted")
    assert not exists(orphan)
    assert not exists(main)


_HARNESS = """
import signal, sys
from pathlib import Path
from signoff.process.command import Command
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import shell_command
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    env = {"PATH": "/usr/bin:/bin"}
    run(Command(shell_command(sys.argv[1]), Path("."), env, Limits(wall_s=60)))
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("interrupted", flush=True)
"""
