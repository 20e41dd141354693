"""After a driver was killed with -9, the next one finds and kills what it left running."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from signoff.process.leftovers import kill_marked

from .commands import await_true, environment, exists, read_pid

_NAME = "SIGNOFF_TEST_ATTEMPT"


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def _kill_driver_of(text: str, cwd: Path, value: str, code: str | None = None) -> None:
    """Start a driver that runs the text as a marked command, and kill it with -9 at `pid`."""
    driver = subprocess.Popen(
        [sys.executable, "-c", code or _DRIVER, text, _NAME, value],
        cwd=cwd,
        env={**environment(), "PYTHONPATH": ":".join(sys.path)},
    )
    read_pid(cwd / "pid")
    driver.kill()
    driver.wait()


_DRIVER = """
import sys
from pathlib import Path
from signoff.process.command import Command
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import shell_command
text, name, value = sys.argv[1:]
run(Command(shell_command(text), Path("."), {"PATH": "/usr/bin:/bin", name: value},
            Limits(wall_s=600), marked_by=name))
"""

_SLEEPER = "bash -c 'echo $$ > pid; exec sleep 600'"


@pytest.mark.parametrize(
    ("way", "least"),
    [
        (f"{_SLEEPER} & sleep 600", 3),
        (f"trap '' TERM HUP; ( setsid {_SLEEPER} & ); sleep 600", 2),
        (f"( setsid env -i /bin/{_SLEEPER} & ); sleep 600", 2),
        (f"( setsid env -i /bin/{_SLEEPER} & ); exec env -i sleep 600", 2),
    ],
)
def test_every_process_of_the_dead_drivers_attempt_is_killed(
    way: str, least: int, tmp_path: Path
) -> None:
    value = uuid.uuid4().hex
    _kill_driver_of(way, tmp_path, value)
    pid = read_pid(tmp_path / "pid")
    assert _lives(pid)
    assert kill_marked(_NAME, value) >= least
    assert not _lives(pid)
    assert kill_marked(_NAME, value) == 0


def test_what_was_only_born_with_the_mark_is_killed_and_shows_no_variable(tmp_path: Path) -> None:
    value = uuid.uuid4().hex
    driver = _DRIVER.replace(", name: value}", "}").replace(
        "marked_by=name", "born_with=(name, value)"
    )
    _kill_driver_of(f"( setsid {_SLEEPER} & ); sleep 600", tmp_path, value, driver)
    pid = read_pid(tmp_path / "pid")
    assert value.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    assert kill_marked(_NAME, value) >= 2
    assert not _lives(pid)


def test_only_the_exact_mark_is_killed(tmp_path: Path) -> None:
    value = uuid.uuid4().hex
    others = [
        subprocess.Popen(["sleep", "600"], env={**environment(), **extra}, start_new_session=True)
        for extra in ({_NAME: value + "1"}, {f"X{_NAME}": value}, {"Y": f"{_NAME}={value}"}, {})
    ]
    marked = subprocess.Popen(["sleep", "600"], env=environment(**{_NAME: value}))
    try:
        assert kill_marked(_NAME, value) == 1
        assert marked.wait() == -9
        assert [other.poll() for other in others] == [None] * 4
    finally:
        for process in (*others, marked):
            process.kill()
            process.wait()


def test_an_unmarked_neighbour_in_our_own_session_is_spared() -> None:
    value = uuid.uuid4().hex
    marked = subprocess.Popen(["sleep", "600"], env=environment(**{_NAME: value}))
    neighbour = subprocess.Popen(["sleep", "600"], env=environment())
    try:
        assert kill_marked(_NAME, value) == 1
        assert neighbour.poll() is None
    finally:
        for process in (marked, neighbour):
            process.kill()
            process.wait()


def test_neither_the_caller_nor_who_started_it_is_killed(tmp_path: Path) -> None:
    """A marked shell starts a marked Python that cleans up its own mark, and lives to say so."""
    value = uuid.uuid4().hex
    code = (
        "import os, sys; from signoff.process.leftovers import kill_marked\n"
        "print(kill_marked(*sys.argv[1:]), flush=True)\n"
    )
    text = f'sleep 600 & "$0" -c "$1" {_NAME} {value}; echo shell lives'
    done = subprocess.run(
        ["bash", "-c", text, sys.executable, code],
        env={**environment(**{_NAME: value}), "PYTHONPATH": ":".join(sys.path)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    assert done.stdout == b"1\nshell lives\n"


def test_a_marked_process_that_respawns_itself_is_caught(tmp_path: Path) -> None:
    value = uuid.uuid4().hex
    code = (
        "import os, time\n"
        "open('pid', 'w').write(f'{os.getpid()}\\n')\n"
        "end = time.time() + 30\n"
        "while time.time() < end:\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    os.setsid(); time.sleep(0.02)\n"
        "    open('generations', 'a').write(f'{os.getpid()}\\n')\n"
    )
    first = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, env=environment(**{_NAME: value})
    )
    first.wait()
    generations = tmp_path / "generations"
    await_true(generations.exists, "the second generation")
    assert kill_marked(_NAME, value) >= 1
    assert not [pid for pid in generations.read_text().split() if _lives(int(pid))]


def test_the_dead_are_not_mistaken_for_the_living() -> None:
    value = uuid.uuid4().hex
    zombie = subprocess.Popen(["true"], env=environment(**{_NAME: value}))
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert kill_marked(_NAME, value) == 0
    assert exists(zombie.pid)
    zombie.wait()
