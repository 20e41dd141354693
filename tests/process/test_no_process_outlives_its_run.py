"""When a run returns, everything it started is dead, whatever it did to get away."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.domain.verdict import Ending
from signoff.process.limits import Limits
from signoff.process.runner import run

from .commands import DAEMON, bash, exists, python, read_pid

AWAIT_PID = "until [ -s pid ]; do sleep 0.01; done"
SAY_PID = "open('pid.new', 'w').write(f'{os.getpid()}\\n'); os.rename('pid.new', 'pid')\n"


def _ways_to_stay() -> dict[str, str]:
    """Each starts something, waits for `pid`, and exits 0 while it still lives."""
    sleeper = "bash -c 'echo $$ > pid; exec sleep 600'"
    return {
        "background child": f"{sleeper} & {AWAIT_PID}",
        "another session": f"setsid {sleeper} & {AWAIT_PID}",
        "orphan": f"( {sleeper} & ) ; {AWAIT_PID}",
        "orphan in another session without environment": (
            f"( setsid env -i /bin/{sleeper} & ) ; {AWAIT_PID}"
        ),
        "nohup": f"nohup {sleeper} >/dev/null 2>&1 & disown; {AWAIT_PID}",
        "deaf to signals": (
            '( setsid bash -c \'trap "" TERM INT HUP QUIT; echo $$ > pid; '
            f"while :; do sleep 0.1; done' & ) ; {AWAIT_PID}"
        ),
        "stopped": f"( setsid bash -c 'echo $$ > pid; kill -STOP $$; sleep 600' & ) ; {AWAIT_PID}",
        "renamed like a zombie": (
            '( setsid bash -c \'printf "x) Z 1 (" > /proc/$$/comm; echo $$ > pid; '
            f"while :; do sleep 0.1; done' & ) ; {AWAIT_PID}"
        ),
        "lowered its birthmark": (f"( ulimit -x 5; setsid env -i /bin/{sleeper} & ) ; {AWAIT_PID}"),
        "without open files": f"( setsid {sleeper} <&- >&- 2>&- & ) ; {AWAIT_PID}",
    }


@pytest.mark.parametrize("way", _ways_to_stay())
def test_no_way_to_stay_works(way: str, tmp_path: Path) -> None:
    seen = run(bash(_ways_to_stay()[way], tmp_path))
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, 0)
    assert not exists(read_pid(tmp_path / "pid"))
    assert seen.leftovers_killed >= 1


def test_a_clean_run_leaves_nothing_to_kill(tmp_path: Path) -> None:
    assert run(bash("true | cat; (true &); sleep 0.2", tmp_path)).leftovers_killed == 0


def test_leftovers_are_counted(tmp_path: Path) -> None:
    text = "sleep 600 & setsid sleep 600 & ( sleep 600 & ); sleep 0.3"
    assert run(bash(text, tmp_path)).leftovers_killed == 3


def test_a_daemon_cannot_write_into_the_workspace_afterwards(tmp_path: Path) -> None:
    code = DAEMON + SAY_PID + "n = 0\nwhile True:\n open('late', 'w').write(str(n)); n += 1"
    seen = run(bash(f"{_quoted(code)}; until [ -s late ]; do sleep 0.01; done", tmp_path))
    before = (tmp_path / "late").stat()
    assert not exists(read_pid(tmp_path / "pid"))
    assert seen.ending is Ending.EXITED
    assert (tmp_path / "late").stat() == before


def test_holding_the_pipe_does_not_hold_the_run(tmp_path: Path) -> None:
    seen = run(bash("setsid sleep 600 & echo over", tmp_path))
    assert (seen.ending, seen.stdout.head) == (Ending.EXITED, b"over\n")
    assert seen.duration_s < 60


def test_writing_for_ever_into_the_pipe_does_not_hold_the_run(tmp_path: Path) -> None:
    seen = run(bash("( setsid yes & ); ( setsid yes >&2 & ); sleep 0.2; exit 4", tmp_path))
    assert (seen.ending, seen.exit_code, seen.leftovers_killed) == (Ending.EXITED, 4, 2)


def test_a_process_whose_first_thread_ended_is_still_found(tmp_path: Path) -> None:
    code = DAEMON + (
        "import ctypes, threading\n"
        "def stay():\n"
        f"    {SAY_PID.strip()}\n"
        "    time.sleep(600)\n"
        "threading.Thread(target=stay).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    run(bash(f"{_quoted(code)}; {AWAIT_PID}", tmp_path))
    assert not exists(read_pid(tmp_path / "pid"))


def test_a_process_that_adopts_orphans_itself_hides_nothing(tmp_path: Path) -> None:
    code = DAEMON + (
        "import ctypes\n"
        "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
        "if os.fork() == 0:\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        f"    os.setsid(); {SAY_PID.strip()}\n"
        "    time.sleep(600)\n"
        "time.sleep(600)\n"
    )
    seen = run(bash(f"{_quoted(code)}; {AWAIT_PID}", tmp_path))
    assert not exists(read_pid(tmp_path / "pid"))
    assert seen.leftovers_killed == 2


def test_a_traced_process_dies_with_its_tracer(tmp_path: Path) -> None:
    code = DAEMON + (
        "import ctypes\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        f"    {SAY_PID.strip()}\n"
        "    time.sleep(600)\n"
        "while not os.path.exists('pid'):\n"
        "    time.sleep(0.01)\n"
        "ctypes.CDLL(None).ptrace(16, child, 0, 0)\n"
        "open('traced', 'w').write('x')\n"
        "time.sleep(600)\n"
    )
    run(bash(f"{_quoted(code)}; {AWAIT_PID}; until [ -s traced ]; do sleep 0.01; done", tmp_path))
    assert not exists(read_pid(tmp_path / "pid"))


def test_guards_that_wake_and_restart_each_other_die_together(tmp_path: Path) -> None:
    code = DAEMON + (
        "import signal\n"
        "def guard(peer):\n"
        "    end = time.time() + 30\n"
        "    while time.time() < end:\n"
        "        try:\n"
        "            os.kill(peer, signal.SIGCONT)\n"
        "        except OSError:\n"
        "            parent = os.getpid()\n"
        "            child = os.fork()\n"
        "            if child == 0:\n"
        "                os.setsid(); peer = parent\n"
        "            else:\n"
        "                peer = child\n"
        "first = os.getpid()\n"
        "second = os.fork()\n"
        "open('guards', 'a').write(f'{os.getpid()}\\n')\n"
        "guard(second or first)\n"
    )
    wait = 'until [ "$(wc -l < guards)" = 2 ]; do sleep 0.01; done'
    run(bash(f"touch guards; {_quoted(code)}; {wait}", tmp_path))
    assert not [pid for pid in (tmp_path / "guards").read_text().split() if exists(int(pid))]
    assert _strays(tmp_path) == []


def test_a_runner_that_is_never_at_the_same_pid_is_caught(tmp_path: Path) -> None:
    """Each generation forks, moves to a new session and lets its parent die."""
    code = (
        "import os, time\n"
        "end = time.time() + 30\n"
        "while time.time() < end:\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    os.setsid()\n"
    )
    seen = run(python(code, tmp_path))
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, 0)
    assert _strays(tmp_path) == []


def test_a_child_that_would_end_without_a_signal_is_caught(tmp_path: Path) -> None:
    """`clone` without SIGCHLD: such children are not among those that `wait` tells of by itself."""
    code = (
        "import ctypes, os, platform, time\n"
        "number = {'x86_64': 56, 'aarch64': 220}[platform.machine()]\n"
        "if ctypes.CDLL(None).syscall(number, 0, 0, 0, 0, 0) == 0:\n"
        "    os.setsid()\n"
        "    open('pid', 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        "while not os.path.exists('pid') or not open('pid').read(): time.sleep(0.01)\n"
    )
    assert run(python(code, tmp_path)).exit_code == 0
    assert not exists(int((tmp_path / "pid").read_text()))
    assert _strays(tmp_path) == []


@pytest.mark.storm
@pytest.mark.parametrize("new_session", [False, True])
def test_a_fork_bomb_is_defused(new_session: bool, tmp_path: Path) -> None:
    """At most 2^8 processes at a time, which go on being replaced for 30 s if nobody kills them."""
    code = (
        "import os, time\n"
        "end = time.time() + 30\n"
        "for _ in range(8):\n"
        "    os.fork()\n"
        f"    {'os.getsid(0) == os.getpid() or os.setsid()' if new_session else 'pass'}\n"
        "open(f'bomb.{os.getpid()}', 'w').close()\n"
        "while time.time() < end:\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        f"    {'os.setsid()' if new_session else 'pass'}\n"
        "    time.sleep(0.01)\n"
    )
    command = bash(f"{_quoted(code)} & sleep 600", tmp_path)
    seen = run(replace(command, limits=Limits(wall_s=2.0, grace_s=0.1)))
    assert seen.ending is Ending.TIMED_OUT
    assert len(list(tmp_path.glob("bomb.*"))) > 50
    assert _strays(tmp_path) == []


def test_a_timeout_kills_the_whole_tree(tmp_path: Path) -> None:
    text = "( setsid env -i /bin/bash -c 'echo $$ > pid; exec sleep 600' & ); sleep 600 | sleep 600"
    seen = run(replace(bash(text, tmp_path), limits=Limits(wall_s=1.0, grace_s=0.1)))
    assert seen.ending is Ending.TIMED_OUT
    assert not exists(read_pid(tmp_path / "pid"))


def test_orphans_that_end_during_a_long_run_are_buried(tmp_path: Path) -> None:
    text = (
        "for i in 1 2 3 4 5; do ( setsid true & ); done; sleep 2; "
        "cat /proc/$PPID/task/*/children > children"
    )
    before = _children()
    run(bash(text, tmp_path))
    ours = {int(pid) for pid in (tmp_path / "children").read_text().split()} - before
    assert len(ours) == 1


def test_the_harness_has_no_zombies_afterwards(tmp_path: Path) -> None:
    run(bash("for i in 1 2 3; do ( setsid sleep 600 & ); done; sleep 0.2", tmp_path))
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    states = [
        Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        for file in children
        for pid in file.read_text().split()
    ]
    assert "Z" not in states


def _children() -> set[int]:
    """Whoever this process started before."""
    files = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {int(pid) for file in files for pid in file.read_text().split()}


def _quoted(code: str) -> str:
    """A shell word that runs the Python code."""
    escaped = code.replace("'", "'\\''")
    return f"{python('', Path('/')).argv[0]} -I -S -c '{escaped}'"


def _strays(cwd: Path) -> list[int]:
    """Living processes that still work in the folder of a run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                place = (entry / "cwd").readlink()
            except OSError:
                continue
            if place == cwd:
                found.append(int(entry.name))
    return found


def test_an_outsider_who_writes_into_the_pipe_cannot_hold_the_run(tmp_path: Path) -> None:
    outsiders: list[subprocess.Popen[bytes]] = []

    def write_for_ever(pid: int) -> None:
        with open(f"/proc/{pid}/fd/1", "wb") as pipe:
            outsiders.append(subprocess.Popen(["yes"], stdout=pipe))

    try:
        seen = run(bash("sleep 0.3; exit 6", tmp_path), on_started=write_for_ever)
        assert (seen.ending, seen.exit_code) == (Ending.EXITED, 6)
        assert outsiders[0].wait() == -signal.SIGPIPE
    finally:
        outsiders[0].kill()
        outsiders[0].wait()
