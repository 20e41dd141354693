"""Set a command up in namespaces of its own, as `bwrap` does, on machines that have no `bwrap`.

Run as a script by `Cell`, with bubblewrap's options: those that signoff uses, in their order. Three
processes: the *monitor*, which stays outside and reports; the *first process* of the new process
namespace, which makes the view of files, waits at the gate and relays the exit code; the *command*.
When the first process ends, the kernel ends everything in the namespace.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

if __name__ == "__main__":  # started without site-packages and without a search path of anybody
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(__file__))))

from signoff.process import kernel

_NEW_MOUNTS, _NEW_USER, _NEW_PROCESSES = 0x20000, 0x10000000, 0x20000000
_UNSHARED = {
    "--unshare-user": _NEW_USER,
    "--unshare-pid": _NEW_PROCESSES,
    "--unshare-ipc": 0x08000000,
    "--unshare-uts": 0x04000000,
    "--unshare-cgroup-try": 0x02000000,
    "--unshare-net": 0x40000000,
}
_NEW_NETWORK = _UNSHARED["--unshare-net"]
_FLAGS = {"--new-session", "--die-with-parent", "--disable-userns", "--clearenv"}
_VALUES = {"--seccomp", "--chdir", "--cap-drop"}
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXEC = 1, 2, 4, 8
_PLAIN = _NO_SETUID | _NO_DEVICES
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_BASE = "/tmp"  # a folder that every system has; only this mount namespace sees what it becomes
_NEW, _OLD = "/new", "/old"


class _Request:
    """A parsed set of options. No dataclass: loading that takes longer than all of this."""

    def __init__(self) -> None:
        self.unshared = 0
        self.flags: set[str] = set()
        self.values: dict[str, str] = {}
        self.env: dict[str, str] = {}
        self.mounts: list[tuple[str, str, str]] = []


def main(argv: Sequence[str]) -> int:
    """Run the command behind `--`; the exit code is the command's, 128 + n for a signal n."""
    split = argv.index("--")
    given = dict(zip(argv[:split:2], argv[1:split:2], strict=True))
    with open(int(given["--args"]), "rb") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    request = _parse(words)
    status, gate = int(given["--json-status-fd"]), int(given["--block-fd"])
    try:
        kernel.die_with_parent()
        pid = _fork_first_process(request, gate, status, argv[split + 1 :])
    except OSError as error:
        return _fail(error)
    os.close(gate)
    os.write(status, f'{{ "child-pid": {pid} }}\n'.encode())
    return _as_shells_say(os.waitpid(pid, 0)[1])


def _parse(words: list[str]) -> _Request:
    request, rest, mode = _Request(), iter(words), "0755"
    for word in rest:
        if word in _UNSHARED:
            request.unshared |= _UNSHARED[word]
        elif word in _FLAGS:
            request.flags.add(word)
        elif word in _VALUES:
            request.values[word] = next(rest)
        elif word == "--setenv":
            name = next(rest)
            request.env[name] = next(rest)
        elif word == "--perms":
            mode = next(rest)
        elif word in ("--bind", "--ro-bind"):
            request.mounts.append((word, next(rest), next(rest)))
        elif word in ("--tmpfs", "--proc", "--dev", "--remount-ro"):
            request.mounts.append((word, next(rest), mode))
            mode = "0755"
        else:
            raise ValueError(f"unknown option {word}")
    return request


def _fork_first_process(request: _Request, gate: int, status: int, command: Sequence[str]) -> int:
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    _enter_user_namespace(proc, request.unshared)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = _first_process(request, proc, gate, status, command)
        except OSError as error:
            code = _fail(error)
        finally:
            os._exit(code)
    os.close(proc)
    return pid


def _first_process(
    request: _Request, proc: int, gate: int, status: int, command: Sequence[str]
) -> int:
    kernel.die_with_parent()
    # Signals to the group reach the command; the first process of a namespace ignores them all,
    # but those for which Python has a handler.
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.unshare(_NEW_MOUNTS)
    if request.unshared & _NEW_NETWORK:
        kernel.bring_loopback_up()
    _make_view(request.mounts)
    if "--disable-userns" in request.flags:
        _forbid_user_namespaces(proc)
    os.close(proc)
    if not os.read(gate, 1):
        return 1  # nobody is there to open it
    os.close(gate)
    return _run(request, status, command)


def _run(request: _Request, status: int, command: Sequence[str]) -> int:
    """Start the command and wait for its end; report that it ran, unless it could not start."""
    failed, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(status)
        try:
            _become(request, command)
        except OSError as error:
            os.write(tell, b"1")
            os.write(2, f"bwrap: execvp {command[0]}: {os.strerror(error.errno or 0)}\n".encode())
        finally:
            os._exit(1)
    os.close(tell)
    started = not os.read(failed, 1)
    ended, wait_status = os.wait()
    while ended != pid:  # orphans of the namespace
        ended, wait_status = os.wait()
    code = _as_shells_say(wait_status)
    if started:
        os.write(status, f'{{ "exit-code": {code} }}\n'.encode())
    return code


def _become(request: _Request, command: Sequence[str]) -> None:
    os.chdir(request.values.get("--chdir", "/"))
    program = b""
    if "--seccomp" in request.values:
        with open(int(request.values["--seccomp"]), "rb") as file:
            program = file.read()
    kernel.drop_capabilities()
    kernel.forbid_new_privileges()
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # as they were before Python
        signal.signal(number, signal.SIG_DFL)
    if program:
        kernel.filter_thread(program)
    os.execvpe(command[0], list(command), request.env)


def _enter_user_namespace(proc: int, unshared: int) -> None:
    """Unshare, and stay who we are in the new user namespace."""
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(unshared)
    _write(proc, "self/setgroups", "deny")
    _write(proc, "self/uid_map", f"{user} {user} 1")
    _write(proc, "self/gid_map", f"{group} {group} 1")


def _forbid_user_namespaces(proc: int) -> None:
    """Use up the one user namespace that is left: with a new one come capabilities again."""
    _write(proc, "sys/user/max_user_namespaces", "1")
    _enter_user_namespace(proc, _NEW_USER)


def _write(proc: int, name: str, text: str) -> None:
    descriptor = os.open(name, os.O_WRONLY, dir_fd=proc)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _make_view(mounts: list[tuple[str, str, str]]) -> None:
    """Build the new root beside the old one, then leave the old one for good."""
    kernel.keep_mounts_private()
    kernel.mount("tmpfs", _BASE, _PLAIN, "mode=0755")
    os.mkdir(_BASE + _NEW)
    os.mkdir(_BASE + _OLD)
    kernel.pivot_root(_BASE, _BASE + _OLD)
    os.chdir("/")
    for mount in mounts:
        _apply(*mount)
    os.chdir(_NEW)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")  # the old root lies on top; below it is the new one
    os.chdir("/")


def _apply(kind: str, first: str, second: str) -> None:
    if kind in ("--bind", "--ro-bind"):
        _bind(first, second, _PLAIN | (_READ_ONLY if kind == "--ro-bind" else 0))
        return
    target = _NEW + first
    if kind == "--remount-ro":
        kernel.set_mount_attributes(target, _READ_ONLY, recursive=False)
    elif kind == "--tmpfs":
        os.makedirs(target, exist_ok=True)
        kernel.mount("tmpfs", target, _PLAIN, f"mode={second}")
    elif kind == "--proc":
        kernel.mount("proc", target, _PLAIN | _NO_EXEC)
    else:
        _make_devices(target, first)


def _bind(source: str, at: str, attributes: int) -> None:
    target = (_NEW + at).rstrip("/")
    if not os.path.lexists(target):
        is_folder = os.path.isdir(_OLD + source)
        os.makedirs(target if is_folder else os.path.dirname(target), exist_ok=True)
        if not is_folder:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o444))
    kernel.bind(_OLD + source, target)
    kernel.set_mount_attributes(target, attributes, recursive=True)


def _make_devices(folder: str, at: str) -> None:
    kernel.mount("tmpfs", folder, _NO_SETUID, "mode=0755")
    for name in _DEVICES:
        _bind(f"/dev/{name}", f"{at}/{name}", _NO_SETUID)
    links = {"fd": "/proc/self/fd", "ptmx": "pts/ptmx"}
    links |= {name: f"/proc/self/fd/{n}" for n, name in enumerate(("stdin", "stdout", "stderr"))}
    for name, target in links.items():
        os.symlink(target, f"{folder}/{name}")
    for name in ("shm", "pts"):
        os.mkdir(f"{folder}/{name}")
    os.chmod(f"{folder}/shm", 0o1777)
    options = "newinstance,ptmxmode=0666,mode=620"
    kernel.mount("devpts", f"{folder}/pts", _NO_SETUID | _NO_EXEC, options)


def _as_shells_say(wait_status: int) -> int:
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


def _fail(error: OSError) -> int:
    os.write(2, f"bwrap: {error}\n".encode())
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
