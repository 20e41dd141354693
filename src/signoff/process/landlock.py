"""Running a command under Landlock: rules that a thread puts on itself and its children keep.

The rules, the loss of capabilities and the system call filter hold for one thread and whatever it
starts. So a thread of ours gives up its rights, starts the command and ends: no launcher runs in
between, and the other threads of the harness keep theirs.

Weaker than bubblewrap: other processes can be seen (not read, traced or signalled), attributes of
files can be changed wherever the user may, sockets in the file system can be reached, nothing is
private but one temporary folder, and loopback is gone with the network.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from signoff.process import kernel
from signoff.process.command import Command, Confinement, Refusal, Unavailable, is_within, popen
from signoff.process.limits import PidGroup, limit_running
from signoff.process.seccomp import can_filter, filter_program
from signoff.process.tree import Tree

OLDEST_ABI = 3  # the first that also controls truncation
SCOPED_SINCE_ABI = 6  # signals and abstract sockets

_READ = kernel.EXECUTE | kernel.READ_FILE | kernel.READ_DIR
_ON_FILES = (
    kernel.EXECUTE | kernel.WRITE_FILE | kernel.READ_FILE | kernel.TRUNCATE | kernel.IOCTL_DEVICE
)
_DEVICES = ("null", "zero", "full", "random", "urandom")


class Unconfined:
    """No sandbox: the main process is the command."""

    def __init__(self, command: Command):
        self.command = command

    def popen(self) -> subprocess.Popen[bytes]:
        """Start the command itself."""
        return popen(self.command, self.command.argv, self.command.env, self.command.cwd)

    def settle(
        self, process: subprocess.Popen[bytes], tree: Tree, group: PidGroup | None
    ) -> int | None:
        """Limit the running command from outside: a `preexec_fn` would make it a full fork.

        What it forked in the meantime gets the limits too, so only processor time and files of
        the first moments go uncounted.
        """
        del tree, group  # most commands have ended by the time a group would hold them
        return limit_running(process.pid, self.command.limits)

    def outcome(self, code: int, stderr: bytes) -> int | Refusal:
        """The command's own end."""
        del stderr
        return code

    def close(self) -> None:
        """Nothing is held."""


class LandlockSandbox(Unconfined):
    """One run under Landlock."""

    def __init__(self, command: Command, confinement: Confinement):
        super().__init__(command)
        self._confinement = confinement
        self._ruleset = -1
        self._temporary: Path | None = None
        _refuse_impossible(confinement)
        try:
            self._temporary = Path(tempfile.mkdtemp(prefix="signoff-")).resolve()
            self._ruleset = self._make_ruleset(self._temporary)
        except BaseException:
            self.close()
            raise

    def popen(self) -> subprocess.Popen[bytes]:
        """Start the command from a thread that has given up its rights."""
        return _on_thread_of_its_own(self._give_up_rights_and_start)

    def close(self) -> None:
        """Forget the rules and remove the temporary folder."""
        if self._ruleset >= 0:
            os.close(self._ruleset)
            self._ruleset = -1
        if self._temporary is not None:
            # What a hostile command leaves there may resist; it is a temporary folder's business.
            with suppress(OSError, RecursionError):
                _unlock(self._temporary)
                shutil.rmtree(self._temporary)

    def _give_up_rights_and_start(self) -> subprocess.Popen[bytes]:
        kernel.drop_capabilities()
        kernel.forbid_new_privileges()
        kernel.restrict_thread(self._ruleset)
        if can_filter():
            families = None if self._confinement.network else (socket.AF_UNIX,)
            traceless = self._confinement.traceless
            kernel.filter_thread(filter_program(families, traceless=traceless))
        command = self.command
        return popen(command, command.argv, self._environment(), command.cwd)

    def _environment(self) -> dict[str, str]:
        env = {**self.command.env, "TMPDIR": str(self._temporary)}
        if self._confinement.scratch:
            # Nothing can be private in its usual place; what follows the standard goes here.
            env["XDG_CACHE_HOME"] = str(self._temporary)
        return env

    def _make_ruleset(self, temporary: Path) -> int:
        abi = kernel.landlock_abi()
        fs = kernel.file_rights(abi)
        scopes = kernel.SCOPES if abi >= SCOPED_SINCE_ABI else 0
        tcp = 0 if self._confinement.network or abi < 4 else kernel.TCP
        ruleset = kernel.create_ruleset(fs, tcp, scopes)
        try:
            for path in (*_readable_places(self._confinement), *self._confinement.shown):
                _allow(ruleset, path, _READ)
            for name in _DEVICES:
                _allow(ruleset, Path("/dev", name), (_READ | kernel.WRITE_FILE) & fs)
            for path in (temporary, *self._confinement.writable):
                _allow(ruleset, path, fs)
        except BaseException:
            os.close(ruleset)
            raise
        return ruleset


def _refuse_impossible(confinement: Confinement) -> None:
    if kernel.landlock_abi() < OLDEST_ABI:
        raise Unavailable(f"the kernel offers Landlock {kernel.landlock_abi()}, not {OLDEST_ABI}")
    if not confinement.network and not can_filter():
        raise Unavailable("on this processor Landlock cannot take the network away")
    if confinement.mounts:
        raise Unavailable("Landlock cannot show a folder at another place")
    for root in confinement.writable:
        if not root.exists():
            raise Unavailable(f"`{root}` is to be writable and is not there")
        for hidden in confinement.hidden:
            if hidden.exists() and is_within(hidden, root):
                raise Unavailable(f"Landlock cannot hide `{hidden}` in the writable `{root}`")


def _readable_places(confinement: Confinement) -> Iterator[Path]:
    """The largest folders and files that together are everything except what is hidden.

    Landlock only adds rights downwards: a folder with something hidden below gets none itself.
    """
    hidden = {path.resolve() for path in confinement.hidden if path.exists()}
    hidden.add(Path("/dev"))
    on_the_way = {parent for path in hidden for parent in path.parents}
    folders = [Path("/")]
    while folders:
        for entry in _entries(folders.pop()):
            if entry in on_the_way:
                folders.append(entry)
            elif entry not in hidden:
                yield entry


def _entries(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if not entry.is_symlink()]
    except OSError:
        return []


def _allow(ruleset: int, path: Path, rights: int) -> None:
    if sys.platform != "linux":
        return
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # Gone or not ours to enter: no right is lost by granting none.
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _ON_FILES
        kernel.allow_beneath(ruleset, fd, rights)
    finally:
        os.close(fd)


def _unlock(folder: Path) -> None:
    """Folders that the command made read-only must not keep their content."""
    for place, names, _files in os.walk(folder):
        for inner in (Path(place, name) for name in names):
            if not inner.is_symlink():
                inner.chmod(stat.S_IRWXU)


def _on_thread_of_its_own(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """What a function returns or raises on a thread that ends with it."""
    started: Future[subprocess.Popen[bytes]] = Future()

    def work() -> None:
        try:
            started.set_result(start())
        except BaseException as error:
            started.set_exception(error)

    thread = threading.Thread(target=work, name="signoff-landlock")
    try:
        thread.start()
    except RuntimeError:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
    thread.join()
    return started.result()
