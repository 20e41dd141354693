"""When a confined run is over, or its harness is killed, nothing of it lives."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from pathlib import Path

from msgspec.structs import replace

from signoff.domain.verdict import Ending
from signoff.process.leftovers import kill_marked
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import shell_command

from .commands import await_true, environment, exists
from .pens import Pen

_NAME = "SIGNOFF_TEST_ATTEMPT"

# Inside a namespace a process does not know its number outside: it is found by its argument.
_STAY = """
( setsid env -i /bin/sleep {tag} & )
until pgrep -f 'sleep {tag}' > /dev/null; do :; done
"""

_DRIVER = """
import sys
sys.path[:0] = sys.argv[5].split(":")
from pathlib import Path
from signoff.domain.verdict import Isolation
from signoff.process.command import Command
from signoff.process.command import Confinement
from signoff.process.leftovers import kill_marked
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import shell_command
isolation, text, name, value, _ = sys.argv[1:]
here = Path(".").resolve()
pen = Confinement(Isolation(isolation), (here,))
run(Command(shell_command(text), here, {"PATH": "/usr/bin:/bin", name: value},
            Limits(wall_s=600), marked_by=name, confinement=pen))
"""


def _tag() -> str:
    return f"600.{uuid.uuid4().int % 10**12:012d}"


def _with_argument(tag: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and entry.name != str(os.getpid()):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if tag.encode() in words:
                found.append(int(entry.name))
    return found


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_daemon_in_its_own_session_does_not_survive(pen: Pen) -> None:
    tag = _tag()
    seen = pen.bash(_STAY.format(tag=tag) + "exit 3")
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, 3)
    assert _with_argument(tag) == []


def test_what_ignores_the_deadline_does_not_survive(pen: Pen) -> None:
    tag = _tag()
    seen = pen.bash(f"trap '' TERM; sleep {tag} & wait; sleep {tag}", Limits(wall_s=1, grace_s=0.2))
    assert seen.ending is Ending.TIMED_OUT
    assert _with_argument(tag) == []


def test_descriptors_and_temporary_folders_are_given_back(pen: Pen) -> None:
    pen.bash("true")
    before = _open_descriptors()
    seen = pen.bash('echo "$TMPDIR"; mkdir -p "$TMPDIR/a/b"; chmod 0 "$TMPDIR/a"')
    pen.with_rules(writable=(pen.root / "gone",)).bash("true")
    run(pen.command(("surely-no-such-tool",)))
    assert _open_descriptors() == before
    told = Path(seen.stdout.head.decode().strip() or "/tmp")
    assert told == Path("/tmp") or not told.exists()


def test_runs_at_the_same_time_do_not_meet(pen: Pen) -> None:
    codes: dict[int, int | None] = {}

    def one(number: int) -> None:
        codes[number] = pen.bash(f"sleep 0.2; exit {number}").exit_code

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == {number: number for number in range(8)}


def test_killing_the_harness_leaves_nothing_that_the_next_one_does_not_end(pen: Pen) -> None:
    isolation = pen.confinement.isolation
    tag, value = _tag(), uuid.uuid4().hex
    text = f"( setsid env -i /bin/sleep {tag} & ); exec sleep {tag}"
    driver = subprocess.Popen(
        [sys.executable, "-c", _DRIVER, isolation, text, _NAME, value, ":".join(sys.path)],
        cwd=pen.workspace,
        env=environment(),
    )
    try:
        await_true(lambda: len(_with_argument(tag)) >= 2, "the confined processes")
        driver.kill()
        driver.wait()
        if isolation.has_own_view:
            await_true(lambda: _with_argument(tag) == [], "the death of the namespace")
        else:
            assert kill_marked(_NAME, value) >= 2
        assert _with_argument(tag) == []
    finally:
        driver.kill()
        driver.wait()
        kill_marked(_NAME, value)


def test_a_mark_finds_a_confined_run_of_a_living_harness(pen: Pen) -> None:
    """Another driver takes over a workspace while the first still hangs."""
    tag, value = _tag(), uuid.uuid4().hex
    argv = shell_command(f"( setsid env -i /bin/sleep {tag} & ); exec sleep {tag}")
    text = "import sys; sys.path[:0] = sys.argv[1].split(':')\n"
    text += "from signoff.process.leftovers import kill_marked\nprint(kill_marked(*sys.argv[2:]))"
    command = pen.command(argv, Limits(wall_s=120), **{_NAME: value})
    killed: list[int] = []

    def hunt() -> None:
        await_true(lambda: len(_with_argument(tag)) >= 2, "the confined processes")
        hunter = [sys.executable, "-c", text, ":".join(sys.path), _NAME, value]
        killed.append(int(subprocess.run(hunter, capture_output=True, check=True).stdout))

    thread = threading.Thread(target=hunt)
    thread.start()
    seen = run(replace(command, marked_by=_NAME))
    thread.join()
    assert seen.ending is Ending.SIGNALLED
    assert killed[0] >= 1
    assert _with_argument(tag) == []


def test_a_process_that_is_gone_is_gone(pen: Pen) -> None:
    pids: list[int] = []
    run(pen.command(shell_command("exit 0")), on_started=pids.append)
    assert not exists(pids[0])
