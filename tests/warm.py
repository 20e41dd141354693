"""The real command line in a process of its own, without importing it again for every start.

Black-box tests start signoff some two thousand times, and most of a start is importing. A warm
parent imports once; a start is a fork of it that gets arguments, folder, environment and streams
of its own and goes through the real `main` to a real exit. What the interpreter itself reads
before that (variables named PYTHON…, the locale) makes a start cold, as does a crash point.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NoReturn

import signoff
from signoff.testing.crash import VARIABLE as CRASH_POINT

if TYPE_CHECKING:
    from coverage import Coverage

SOURCE = str(Path(signoff.__file__).parents[1])
_TOP = str(Path(__file__).parents[1])
_COLD = (sys.executable, "-m", "signoff")
_LOCALE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
_HEADER = 8  # bytes of the length before a request


def run_to_end(
    command: Sequence[str], cwd: Path, environ: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[bytes]:
    """A command line of signoff to its end, with nobody at the terminal."""
    if not _can_be_warm(command, environ):
        return subprocess.run(
            command,
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    with open(os.devnull, "rb") as nothing, TemporaryFile() as out, TemporaryFile() as err:
        streams = [nothing.fileno(), out.fileno(), err.fileno()]
        code = _start_warm(command[len(_COLD) :], cwd, environ, timeout_s, streams)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(command), code, out.read(), err.read())


def _can_be_warm(command: Sequence[str], environ: Mapping[str, str]) -> bool:
    if tuple(command[: len(_COLD)]) != _COLD:
        return False
    early = [n for n in environ if n.startswith(("PYTHON", "LC_", "LANG", CRASH_POINT))]
    expected = {**_LOCALE, "PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1"}
    return all(environ[name] == expected.get(name) for name in early)


def _start_warm(
    arguments: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    timeout_s: float,
    streams: list[int],
) -> int:
    asked = {"arguments": list(arguments), "cwd": str(cwd), "environ": dict(environ)}
    request = json.dumps(asked).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(f"\0{_parent_address(os.getpid())}")
        socket.send_fds(line, [len(request).to_bytes(_HEADER, "big")], streams)
        line.sendall(request)
        pid = int.from_bytes(_exactly(line, _HEADER), "big")
        line.settimeout(timeout_s)
        try:
            return int.from_bytes(_exactly(line, _HEADER), "big", signed=True)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), timeout_s) from None


def _exactly(line: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = line.recv(count - len(found))
        assert part, "the warm parent is gone"
        found += part
    return found


@lru_cache(maxsize=1)
def _parent_address(owner: int) -> str:
    """One warm parent for each process that runs tests; it ends when that one does."""
    address = f"signoff-warm-{owner}"
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.warm", address, *(["measured"] if _is_measured() else [])],
        cwd=_TOP,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": SOURCE, **_LOCALE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(_end, parent)
    assert parent.stdout is not None and parent.stdout.readline() == b"warm\n"
    return address


def _is_measured() -> bool:
    """Do the tests themselves run under coverage?"""
    loaded = sys.modules.get("coverage")
    return loaded is not None and loaded.Coverage.current() is not None


def _end(parent: subprocess.Popen[bytes]) -> None:
    assert parent.stdin is not None
    parent.stdin.close()
    parent.wait(timeout=60)


class _Parent:
    """Forks a signoff for every request until its owner is gone."""

    def __init__(self, address: str) -> None:
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(f"\0{address}")
        self.door.listen()
        self.waiting: dict[int, tuple[int, socket.socket]] = {}  # pidfd → process, who waits

    def serve(self) -> None:
        """Returns in the forks only."""
        os.write(1, b"warm\n")
        while True:
            door = self.door.fileno()
            ready, _, _ = select.select([0, door, *self.waiting], [], [])
            for found in ready:
                if found == 0:
                    os._exit(0)
                if found != door:
                    self._tell_end(found)
                elif self._fork() == 0:
                    return

    def _tell_end(self, pidfd: int) -> None:
        pid, line = self.waiting.pop(pidfd)
        os.close(pidfd)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with line, suppress(OSError):
            line.sendall(code.to_bytes(_HEADER, "big", signed=True))

    def _fork(self) -> int:
        line, _ = self.door.accept()
        length, streams, _, _ = socket.recv_fds(line, _HEADER, 3)
        asked = json.loads(_exactly(line, int.from_bytes(length, "big")))
        pid = os.fork()
        if pid == 0:
            self._become(asked, streams)
            line.close()
        else:
            with suppress(OSError):
                line.sendall(pid.to_bytes(_HEADER, "big"))
            self.waiting[os.pidfd_open(pid)] = pid, line
        for stream in streams:
            os.close(stream)
        return pid

    def _become(self, asked: Mapping[str, Any], streams: Sequence[int]) -> None:
        self.door.close()
        for pidfd, (_, line) in self.waiting.items():
            os.close(pidfd)
            line.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["environ"])
        sys.argv = ["signoff", *asked["arguments"]]


def _import_everything() -> None:
    """All but what answers other programs: that one loads the libraries of models and of MCP."""
    for module in pkgutil.walk_packages(signoff.__path__, "signoff."):
        if not module.name.endswith(".__main__") and ".mcp_server" not in module.name:
            importlib.import_module(module.name)


def _measuring() -> Coverage:
    """What a start runs counts as tested, beside what the tests call themselves."""
    from coverage import Coverage

    settings, data = Path(_TOP, "pyproject.toml"), Path(_TOP, ".coverage")
    return Coverage(data_file=str(data), data_suffix=True, config_file=str(settings))


def _main_to_the_end() -> NoReturn:
    """As the interpreter ends, but for taking everything apart that was imported."""
    from signoff.__main__ import main

    code = 0
    try:
        main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    finally:
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _import_everything()
    address, *measured = sys.argv[1:]
    measuring = _measuring() if measured else None
    gc.freeze()
    _Parent(address).serve()
    if measuring is not None:
        measuring.start()
        atexit.register(measuring.save)
    _main_to_the_end()
