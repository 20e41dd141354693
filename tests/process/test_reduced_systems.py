"""Where the system offers less, runs still end, and as much is killed as can be found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.process.proctable import children_from_lists, children_from_parents, identify

from .commands import await_true, environment, exists, read_pid

_RUN = """
from pathlib import Path
from signoff.process.command import Command
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import shell_command
from signoff.process.tree import full_control
env = {"PATH": "/usr/bin:/bin"}
seen = run(Command(shell_command(sys.argv[1]), Path("."), env, Limits(wall_s=60)))
print(full_control(), seen.ending, seen.exit_code, seen.stdout.head)
"""

_ORPHAN = (
    "( setsid env -i /bin/bash -c 'echo $$ > pid; exec sleep 600' & ); "
    "until [ -s pid ]; do sleep 0.01; done; exit 3"
)


def _python(code: str, text: str, cwd: Path, *prefix: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, sys.executable, "-c", code, text],
        cwd=cwd,
        env={**environment(), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_without_room_for_a_birthmark_orphans_still_die(tmp_path: Path) -> None:
    code = (
        "import resource, subprocess, sys\n"
        "resource.setrlimit(10, (100, 100))\n"
        "stranger = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"{_RUN}\n"
        "print(stranger.poll())\n"
        "stranger.kill(); stranger.wait()\n"
    )
    done = _python(code, _ORPHAN, tmp_path)
    assert (done.stdout, done.stderr) == ("True exited 3 b''\nNone\n", "")
    assert not exists(read_pid(tmp_path / "pid"))


def test_without_proc_the_process_group_dies_and_the_door_says_so(tmp_path: Path) -> None:
    hide = ("unshare", "-rm", "bash", "-c", 'mount -t tmpfs none /proc && exec "$@"', "bash")
    if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system does not let us hide /proc")
    text = "sleep 600 & echo $! > pid; echo said; exit 3"
    done = _python("import sys\n" + _RUN, text, tmp_path, *hide)
    assert (done.stdout, done.stderr) == ("False exited 3 b'said\\n'\n", "")
    await_true(lambda: identify(read_pid(tmp_path / "pid")) is None, "the death of the child")


def test_without_lists_of_children_parents_tell_the_same() -> None:
    child = subprocess.Popen(["sleep", "600"])
    try:
        by_lists = sorted(children_from_lists(os.getpid()))
        assert child.pid in by_lists
        assert sorted(children_from_parents()(os.getpid())) == by_lists
    finally:
        child.kill()
        child.wait()
