"""A confined process cannot reach the harness, its secrets, its descriptors or its terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.domain.verdict import Ending

from .commands import PYTHON, await_true
from .pens import SECRET, Pen

REACH_FOR_PROCESS = """
import ctypes, os, sys
target, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
got = []
names = "environ mem maps auxv io stack syscall fd/0 fd/1 fd/2 cwd root exe map_files ns/user"
for name in names.split():
    path = f"/proc/{target}/{name}"
    for read in (os.listdir, os.readlink, lambda p: open(p, "rb").read(1)):
        try:
            if read(path):
                got.append(name)
        except (OSError, ValueError):
            pass
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
for request in (PTRACE_ATTACH, PTRACE_SEIZE):
    if libc.ptrace(request, target, None, None) == 0:
        got.append("ptrace")
for number in map(int, sys.argv[2].split()):
    try:
        os.kill(target, number)
        got.append(f"signal {number}")
    except OSError:
        pass
try:
    fd = os.pidfd_open(target)
    if libc.syscall(438, fd, 0, 0) >= 0:
        got.append("pidfd_getfd")
except OSError:
    pass
print(sorted(set(got)))
"""


LEAVE_NOTES = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
left = [n for n in ("shmget", "msgget") if getattr(libc, n)(int(sys.argv[1]), 0o1666, 0o1666) >= 0]
left += ["semget"] if libc.semget(int(sys.argv[1]), 1, 0o1666) >= 0 else []
try:
    os.setxattr(".", "user.note", b"seen")
    left.append("setxattr")
except OSError:
    pass
print(left)
"""


def test_a_traceless_command_leaves_no_memory_queues_or_attributes(fence: Pen) -> None:
    key = str(os.getpid())
    seen = fence.with_rules(traceless=True).python(LEAVE_NOTES, key)
    assert seen.stdout.kept == b"[]\n"


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user, outside, with a secret in its environment."""
    env = {**os.environ, "SECRET": SECRET}
    process = subprocess.Popen(["sleep", "600"], env=env)
    yield process
    process.kill()
    process.wait()


def test_another_process_can_be_neither_read_nor_traced_nor_signalled(
    pen: Pen, bystander: subprocess.Popen[bytes]
) -> None:
    environ = Path(f"/proc/{bystander.pid}/environ")
    await_true(lambda: SECRET.encode() in environ.read_bytes(), "the bystander's start")
    seen = pen.python(REACH_FOR_PROCESS, str(bystander.pid), "0 18 15 9")
    assert (seen.exit_code, seen.stdout.head) == (0, b"[]\n"), seen.stderr.kept
    assert bystander.poll() is None


def test_the_harness_can_be_neither_read_nor_traced_nor_signalled(pen: Pen) -> None:
    seen = pen.python(REACH_FOR_PROCESS, str(os.getpid()), "0 18")
    assert (seen.exit_code, seen.stdout.head) == (0, b"[]\n"), seen.stderr.kept


def test_no_environment_of_any_process_shows_the_secret(
    pen: Pen, bystander: subprocess.Popen[bytes]
) -> None:
    seen = pen.bash("cat /proc/[0-9]*/environ /proc/$PPID/environ 2> /dev/null | tr '\\0' '\\n'")
    assert b"PATH=" in seen.stdout.kept
    assert SECRET.encode() not in seen.stdout.kept


def test_signalling_everybody_reaches_only_the_run(
    cell: Pen, bystander: subprocess.Popen[bytes]
) -> None:
    seen = cell.bash("trap '' TERM; kill -TERM -1; sleep 0.1; exit 5")
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, 5)
    assert bystander.poll() is None


def test_it_inherits_no_descriptor_but_the_standard_three(pen: Pen) -> None:
    with open(pen.home / "keys" / "key") as open_secret:
        os.set_inheritable(open_secret.fileno(), True)
        code = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
        seen = pen.python(code)
        # The fourth is the listing itself.
        assert seen.stdout.head == b"[0, 1, 2, 3]\n"


def test_writing_a_report_of_its_own_into_every_descriptor_changes_nothing(cell: Pen) -> None:
    code = (
        "import os\n"
        "for fd in range(3, 200):\n"
        "    for text in (b'{ \"exit-code\": 0 }\\n', (1).to_bytes(8, 'little')):\n"
        "        try:\n"
        "            os.write(fd, text)\n"
        "        except OSError:\n"
        "            pass\n"
        "print('{ \"exit-code\": 0 }', flush=True)\n"
        "raise SystemExit(7)\n"
    )
    assert cell.python(code).exit_code == 7


def test_it_sees_only_its_own_processes(cell: Pen) -> None:
    seen = cell.bash("echo /proc/[0-9]*")
    assert len(seen.stdout.head.split()) <= 3
    shown = cell.bash("cat /proc/1/cmdline /proc/1/environ").stdout.kept
    assert str(cell.home).encode() not in shown


def test_programs_that_change_the_user_do_not(pen: Pen) -> None:
    seen = pen.bash("grep NoNewPrivs /proc/self/status; su nobody -s /bin/true < /dev/null")
    assert b"NoNewPrivs:\t1" in seen.stdout.head
    assert seen.exit_code != 0


def test_a_device_cannot_be_made(pen: Pen) -> None:
    assert pen.bash("mknod disk b 254 0 || mknod mem c 1 1").exit_code != 0


def test_the_keyring_of_the_session_is_closed(pen: Pen) -> None:
    code = (
        "import ctypes, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "keyctl, add_key = {'x86_64': (250, 248), 'aarch64': (219, 217)}[platform.machine()]\n"
        "print(libc.syscall(keyctl, 0, -3, 1), libc.syscall(add_key, b'user', b'x', b'y', 1, -3))\n"
    )
    assert pen.python(code).stdout.head == b"-1 -1\n"


def test_there_is_no_terminal_to_type_into(pen: Pen) -> None:
    code = (
        "import fcntl, os, termios\n"
        "for fd in (0, 1, 2):\n"
        "    assert not os.isatty(fd)\n"
        "try:\n"
        "    fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), termios.TIOCSTI, b'x')\n"
        "    print('typed')\n"
        "except OSError:\n"
        "    print('no terminal')\n"
    )
    driver = (
        "import os, pty, sys\n"
        "pid, fd = pty.fork()\n"
        "if pid == 0:\n"
        "    os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])\n"
        "out = b''\n"
        "try:\n"
        "    while chunk := os.read(fd, 1000):\n"
        "        out += chunk\n"
        "except OSError:\n"
        "    pass\n"
        "print(out.decode()); os.waitpid(pid, 0)\n"
    )
    inner = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path\n"
        "from signoff.process.command import Command\n"
        "from signoff.process.command import Confinement\n"
        "from signoff.process.limits import Limits\n"
        "from signoff.process.runner import run\n"
        "from signoff.domain.verdict import Isolation\n"
        f"isolation, here = Isolation({str(pen.confinement.isolation)!r}), Path('.').resolve()\n"
        "pen = Confinement(isolation, (here,))\n"
        f"argv = ({PYTHON!r}, '-I', '-S', '-c', {code!r})\n"
        "seen = run(Command(argv, here, {}, Limits(wall_s=60), confinement=pen))\n"
        "print(seen.stdout.kept.decode(), seen.stderr.kept.decode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver, inner],
        cwd=pen.workspace,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "no terminal" in done.stdout


def test_the_first_process_of_its_namespace_cannot_be_ended(cell: Pen) -> None:
    seen = cell.bash("kill -9 1; kill -TERM 1; exit 6")
    assert (seen.ending, seen.exit_code) == (Ending.EXITED, 6)


# Tells `bwrap` through the hands of pid 1 that the command ended well.
FORGE_THE_END = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
said = []
def attempt(what, act):
    try:
        if act():
            said.append(what)
    except OSError:
        pass
libc.ptrace.restype = ctypes.c_long
attempt("attach", lambda: libc.ptrace(16, 1, None, None) == 0)
attempt("seize", lambda: libc.ptrace(0x4206, 1, None, None) == 0)
attempt("memory", lambda: os.open("/proc/1/mem", os.O_RDWR) > 0)
attempt("thread", lambda: os.open("/proc/1/task/1/mem", os.O_RDWR) > 0)
attempt("list", lambda: os.listdir("/proc/1"))
fd = os.pidfd_open(1)
for number in range(64):
    taken = libc.syscall(438, fd, number, 0)
    if taken >= 0:
        said.append("descriptor")
        attempt("write", lambda: os.write(taken, (1).to_bytes(8, "little")))
vm = {"x86_64": 311, "aarch64": 271}[platform.machine()]
attempt("vm", lambda: libc.syscall(vm, 1, None, 0, None, 0, 0) == 0)
print(said)
raise SystemExit(9)
"""


def test_the_end_cannot_be_forged_through_the_process_that_reports_it(cell: Pen) -> None:
    seen = cell.python(FORGE_THE_END)
    assert (seen.exit_code, seen.stdout.head) == (9, b"[]\n"), seen.stderr.kept


def test_debuggers_still_work_on_the_runs_own_processes(pen: Pen) -> None:
    code = (
        "import ctypes, os, time\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    time.sleep(60)\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.ptrace(0x4206, child, None, None))\n"
        "os.kill(child, 9)\n"
    )
    assert pen.python(code).stdout.head == b"0\n"
