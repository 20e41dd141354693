"""Who started a process is known from the kernel, not from what it says about itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from signoff.process.proctable import ancestors, environment_has, identify, is_alive
from signoff.process.runner import run

from .commands import environment, python


def test_the_ancestors_start_with_the_parent_and_end_at_the_first_process() -> None:
    found = ancestors()
    assert found[0].pid == os.getppid()
    assert len({identity.pid for identity in found}) == len(found)
    assert all(is_alive(identity) for identity in found)
    assert os.getpid() not in [identity.pid for identity in found]


def test_a_pid_used_again_is_another_process() -> None:
    me = identify(os.getpid())
    assert me is not None
    assert is_alive(me)
    assert not is_alive(replace(me, started="1@" + me.started.split("@")[1]))
    assert not is_alive(replace(me, started=me.started.split("@")[0] + "@another boot"))


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen(["sleep", "600"])
    identity = identify(child.pid)
    assert identity is not None
    assert is_alive(identity)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(identity)
    assert identify(child.pid) is None
    child.wait()
    assert not is_alive(identity)


def test_a_name_made_of_parentheses_does_not_confuse(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[1].split(':')\n"
        "import os; open('/proc/self/comm', 'w').write('a) Z 1 (b')\n"
        "from signoff.process.proctable import identify\n"
        "print(identify(os.getpid()) is not None)\n"
    )
    seen = run(python(code, tmp_path, ":".join(sys.path)))
    assert (seen.stdout.head, seen.stderr.head) == (b"True\n", b"")


def test_unsetting_a_variable_does_not_hide_it_from_its_children(tmp_path: Path) -> None:
    """An agent that approves as `env -u NAME signoff approve` still has the name above it."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1].split(':')\n"
        "import os\n"
        "from signoff.process.proctable import ancestors, environment_has\n"
        "above = [environment_has(a.pid, 'SIGNOFF_ATTEMPT') for a in ancestors()]\n"
        "print('SIGNOFF_ATTEMPT' in os.environ, any(above))\n"
    )
    inner = python(code, tmp_path, ":".join(sys.path)).argv
    text = 'unset SIGNOFF_ATTEMPT; env -u SIGNOFF_ATTEMPT "$@"; exit'
    seen = run(
        replace(
            python("", tmp_path),
            argv=("/bin/bash", "-c", text, "bash", *inner),
            env=environment(SIGNOFF_ATTEMPT="7"),
        )
    )
    assert (seen.stdout.head, seen.stderr.head) == (b"False True\n", b"")


def test_an_orphan_in_an_attempt_has_the_driver_above_it(tmp_path: Path) -> None:
    """Losing every parent of the attempt leads to the harness that drives it, not to nobody."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1].split(':')\n"
        "import os, time\n"
        "from signoff.process.proctable import ancestors\n"
        "parent = os.getpid()\n"
        "if os.fork() == 0:\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    os.setsid()\n"
        "    while os.getppid() not in (1, int(sys.argv[2])):\n"
        "        time.sleep(0.01)\n"
        "    open('above', 'w').write(' '.join(str(a.pid) for a in ancestors()))\n"
        "    os._exit(0)\n"
        "while not (os.path.exists('above') and open('above').read()):\n"
        "    time.sleep(0.01)\n"
    )
    run(python(code, tmp_path, ":".join(sys.path), str(os.getpid())))
    assert str(os.getpid()) in (tmp_path / "above").read_text().split()


def test_only_whole_names_count() -> None:
    child = subprocess.Popen(["sleep", "600"], env={"AB": "1", "X": "C=2"})
    try:
        assert environment_has(child.pid, "AB")
        assert not environment_has(child.pid, "A")
        assert not environment_has(child.pid, "B")
        assert not environment_has(child.pid, "C")
        assert not environment_has(2**22 + 1, "AB")
    finally:
        child.kill()
        child.wait()
