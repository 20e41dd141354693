"""Running a command inside bubblewrap: own namespaces, no capabilities, its own view of files.

The harness starts `bwrap`; `bwrap` starts the first process of a new process namespace, sets the
view up and waits at a gate. The harness puts the limits on that first process and opens the gate;
only then the command is started, born with its limits. `bwrap` dies with the harness, the first
process with `bwrap`, and with the first process the kernel kills everything in the namespace.
"""

from __future__ import annotations

import errno
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from signoff.domain.verdict import Ending, Isolation
from signoff.process.command import (
    Command,
    Confinement,
    Refusal,
    Unavailable,
    as_bytes,
    is_within,
    mount_arguments,
    popen,
    refusal_of_folder,
    refusal_of_program,
)
from signoff.process.environment import STANDARD_PATH
from signoff.process.limits import (
    PidGroup,
    apply_limits,
    can_filter,
    cap_user_processes,
    filter_program,
    fix_mark,
)
from signoff.process.proctable import (
    children_from_lists,
    open_pidfd,
    read_proc,
    read_stat,
    remembers_exits,
    wait_status,
)
from signoff.process.shell import find_tool
from signoff.process.tree import Tree

if TYPE_CHECKING:
    from signoff.process.egress import EgressProxy

# Run by an interpreter of its own, which needs nothing else of ours.
_NAMESPACES_PROGRAM = Path(__file__).with_name("namespaces.py")


class Placeholders:
    """Placeholders for mounts: made at once, taken away by `remove`."""

    def __init__(self, paths: Iterable[Path]):
        self._made: list[Path] = []
        for path in paths:
            # There already, or in a folder that is not: then there is nothing to hold.
            with suppress(OSError):
                self._make(path)

    def remove(self) -> None:
        """Take away what is still as it was made."""
        while self._made:
            path = self._made.pop()
            with suppress(OSError):
                if path.is_dir():
                    path.rmdir()
                elif not path.is_symlink() and path.stat().st_size == 0:
                    path.unlink()

    def _make(self, path: Path) -> None:
        """Make one: a name with an ending is a file's, any other a folder's."""
        if path.suffix:
            path.touch(exist_ok=False)
        else:
            path.mkdir()
        self._made.append(path)


_NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts")
_NESTED_SINCE = (0, 8)
_VERSION_PATIENCE_S = 10.0
_LOOK_AGAIN_S = 0.0003  # a shell that does nothing lives ten times as long
_READ_SIZE = 65_536
# A network namespace of its own does not cut off the hypervisor (AF_VSOCK) and its like.
_LOCAL_FAMILIES = (
    socket.AF_UNIX,
    socket.AF_INET,
    socket.AF_INET6,
    getattr(socket, "AF_NETLINK", 16),
)
_EXEC_FAILED = re.compile(rb"^bwrap: execvp .*: (.+?)\n?\Z", re.S)
_EXEC_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOEXEC, errno.EPERM)


class NamespaceSandbox:
    """One run inside bubblewrap."""

    listener: tuple[int, Callable[[], None]] | None = None  # it has sockets of its own
    denied: tuple[str, ...] = ()

    def __init__(self, command: Command, confinement: Confinement):
        self._command = command
        self._launcher = _launcher(confinement.isolation)
        self._fds: set[int] = set()
        self._command_fd = -1
        self._heard = b""
        self._hosts = confinement.hosts
        self._proxy: EgressProxy | None = None
        missing = refusal_of_folder(command.cwd)
        if missing is not None:
            raise Unavailable(missing.detail)
        self._placeholders = Placeholders(confinement.absent)
        try:
            self._open(_arguments(command, confinement))
        except BaseException:
            self.close()
            raise

    def popen(self) -> subprocess.Popen[bytes]:
        """Start `bwrap`, with nothing in its own environment that could steer it."""
        name = self._command.marked_by
        env = {"LC_ALL": "C"}
        if name is not None and name in self._command.env:
            env[name] = self._command.env[name]
        fds = (self._args_fd, self._filter_fd, self._status_write, self._gate_read)
        argv = (
            *(*self._launcher, "--args", str(self._args_fd)),
            *("--json-status-fd", str(self._status_write), "--block-fd", str(self._gate_read)),
            *("--", *self._command.argv),
        )
        try:
            return popen(self._command, argv, env, Path("/"), tuple(fd for fd in fds if fd >= 0))
        finally:
            for fd in fds:
                self._close(fd)

    def settle(
        self, process: subprocess.Popen[bytes], tree: Tree, group: PidGroup | None
    ) -> int | None:
        """Limit the first process of the namespace at its gate, then let it start the command."""
        del process
        deadline = time.monotonic() + self._command.limits.wall_s
        init = self._hear_of_init(deadline)
        if init is None:
            return None
        tree.led_by(init)
        fix_mark(init, tree.mark)
        if self._hosts is not None:
            # As below: most commands get no network, or all of it.
            from signoff.process.egress import EgressProxy  # noqa: PLC0415

            self._proxy = EgressProxy(self._hosts, init)
        unseen = self._limit(init, group)
        with suppress(OSError):
            os.write(self._gate_write, b"1")
        self._close(self._gate_write)
        if remembers_exits():
            self._command_fd = self._find_command(init, deadline)
        return unseen

    def outcome(self, code: int, stderr: bytes) -> int | Refusal:
        """The command's end as `bwrap` reports it; without a report the command never ran."""
        self._hear()
        reported = re.search(rb'"exit-code": (\d+)', self._heard)
        if reported is not None:
            return self._as_the_kernel_saw_it(int(reported.group(1)))
        return code if code < 0 else self._refusal(stderr)

    @property
    def denied_hosts(self) -> tuple[str, ...]:
        """Hosts that the command asked for and may not reach."""
        return self._proxy.denied if self._proxy is not None else ()

    def close(self) -> None:
        """Close every descriptor, and hold no place any more."""
        if self._proxy is not None:
            self._proxy.close()
        for fd in list(self._fds):
            self._close(fd)
        self._placeholders.remove()

    def _open(self, arguments: list[str]) -> None:
        self._filter_fd = -1
        confinement = self._command.confinement
        if can_filter() and confinement is not None:
            program = filter_program(_LOCAL_FAMILIES if _is_cut_off(confinement) else None)
            self._filter_fd = self._keep(_memory_file("filter", program))
            arguments = ["--seccomp", str(self._filter_fd), *arguments]
        # Separated by NUL: one inside an argument would become arguments of its own.
        if any("\0" in argument for argument in arguments):
            raise Unavailable("embedded null byte in a path or the environment")
        data = b"".join(as_bytes(argument) + b"\0" for argument in arguments)
        self._args_fd = self._keep(_memory_file("arguments", data))
        self._status_read, self._status_write = map(self._keep, os.pipe())
        self._gate_read, self._gate_write = map(self._keep, os.pipe())
        os.set_blocking(self._status_read, False)

    def _limit(self, init: int, group: PidGroup | None) -> int | None:
        limits = self._command.limits
        apply_limits([init], limits)
        if limits.processes is None:
            return None
        # The first process of the namespace comes on top of the command's own.
        cap_user_processes(init, limits.processes + 1)
        if os.geteuid() != 0 or (group is not None and group.add(init)):
            return None
        return limits.processes + 2

    def _hear_of_init(self, deadline: float) -> int | None:
        """The first process of the namespace; None when `bwrap` ended before it had one."""
        poller = select.poll()
        poller.register(self._status_read, select.POLLIN)
        while b"\n" not in self._heard:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not poller.poll(left_s * 1000) or not self._hear():
                return None
        try:
            return int(json.loads(self._heard.split(b"\n")[0])["child-pid"])
        except (ValueError, KeyError):
            return None

    def _hear(self) -> bool:
        """Take what `bwrap` has reported; False at its end."""
        with suppress(BlockingIOError):
            while chunk := os.read(self._status_read, _READ_SIZE):
                self._heard += chunk
            return False
        return True

    def _find_command(self, init: int, deadline: float) -> int:
        """A handle on the command, to learn how it ended; -1 when it ended sooner than we look."""
        while time.monotonic() < deadline:
            for pid in children_from_lists(init):
                fd = open_pidfd(pid)
                if fd >= 0 and _is_second_in_namespace(pid):
                    return self._keep(fd)
                if fd >= 0:
                    os.close(fd)
            stat = read_stat(init)
            if stat is None or stat.dead:
                break
            time.sleep(_LOOK_AGAIN_S)
        return -1

    def _as_the_kernel_saw_it(self, code: int) -> int | Refusal:
        """The ending as the kernel saw it: `bwrap` turns a signal n into 128 + n, as shells do.

        Where it does not tell, a signal is assumed: that is never mistaken for a judgement.
        """
        status = wait_status(self._command_fd) if self._command_fd >= 0 else None
        if status is None:
            return 128 - code if 128 < code < 128 + signal.NSIG else code
        if os.WIFSIGNALED(status):
            return -os.WTERMSIG(status)
        if os.WEXITSTATUS(status) == code:
            return code
        detail = f"bubblewrap reports exit code {code}, the kernel {os.WEXITSTATUS(status)}"
        return Refusal(Ending.NOT_STARTED, detail)

    def _refusal(self, stderr: bytes) -> Refusal:
        program = self._command.argv[0]
        failed = _EXEC_FAILED.match(stderr)
        if failed is not None:
            for number in _EXEC_ERRORS:
                if failed.group(1) == os.strerror(number).encode():
                    return refusal_of_program(program, number)
        said = stderr.decode(errors="replace").strip().removeprefix("bwrap: ")
        return Refusal(Ending.NOT_STARTED, f"bubblewrap: {said or 'ended without a reason'}")

    def _keep(self, fd: int) -> int:
        self._fds.add(fd)
        return fd

    def _close(self, fd: int) -> None:
        if fd in self._fds:
            self._fds.discard(fd)
            os.close(fd)


def bubblewrap_version() -> tuple[int, ...]:
    """The installed version; raises Unavailable without one."""
    return _version(_program())


def _arguments(command: Command, confinement: Confinement) -> list[str]:
    arguments = [*_NAMESPACES, "--unshare-cgroup-try", "--cap-drop", "ALL"]
    arguments += ["--new-session", "--die-with-parent"]
    if _is_cut_off(confinement):
        arguments.append("--unshare-net")
    ours = confinement.isolation is Isolation.NAMESPACES
    if ours or bubblewrap_version() >= _NESTED_SINCE:
        arguments.append("--disable-userns")
    arguments += [
        *mount_arguments(confinement),
        "--chdir",
        os.path.realpath(command.cwd),
        "--clearenv",
    ]
    for name, value in _environment(command, confinement).items():
        arguments += ["--setenv", name, value]
    return arguments


def _environment(command: Command, confinement: Confinement) -> dict[str, str]:
    env = dict(command.env)
    places = (*confinement.writable, *confinement.scratch)
    temporary = env.get("TMPDIR")
    if temporary and not any(is_within(Path(temporary), place) for place in places):
        env["TMPDIR"] = "/tmp"
    if confinement.hosts is None:
        return env
    from signoff.process.egress import VARIABLES  # noqa: PLC0415 - few commands are kept to hosts

    return env | VARIABLES


def _is_cut_off(confinement: Confinement) -> bool:
    """True when it has a network of its own, with no way out but our proxy."""
    return not confinement.network or confinement.hosts is not None


def _is_second_in_namespace(pid: int) -> bool:
    for line in read_proc(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"NSpid:"):
            return line.split()[-1] == b"2"
    return False


def _memory_file(name: str, data: bytes) -> int:
    if sys.platform != "linux":
        raise Unavailable("bubblewrap needs Linux")
    fd = os.memfd_create(name)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _launcher(isolation: Isolation) -> tuple[str, ...]:
    if isolation is Isolation.BUBBLEWRAP:
        return (_program(),)
    return (sys.executable, "-I", "-S", str(_NAMESPACES_PROGRAM))


def _program() -> str:
    found = find_tool("bwrap", STANDARD_PATH)
    if found is None:
        raise Unavailable(f"no `bwrap` in {STANDARD_PATH}")
    return str(found)


@lru_cache(maxsize=1)
def _version(program: str) -> tuple[int, ...]:
    try:
        said = subprocess.run(
            (program, "--version"),
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_PATIENCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"`{program} --version` failed: {error}") from None
    numbers = re.search(rb"(\d+(?:\.\d+)+)", said.stdout)
    if numbers is None:
        raise Unavailable(f"`{program} --version` names no version")
    return tuple(map(int, numbers.group(1).split(b".")))
