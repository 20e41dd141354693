"""Running a command under Landlock: rules that a thread puts on itself and its children keep.

The rules, the loss of capabilities and the system call filter hold for one thread and whatever it
starts. So a thread of ours gives up its rights and starts the command: no launcher runs in
between, and the other threads of the harness keep theirs. It cannot take them back, so it is kept
for the next command that is confined in the same way.

Weaker than bubblewrap: other processes can be seen (not read, traced or signalled), attributes of
files can be changed wherever the user may, sockets in the file system can be reached, nothing is
private but one temporary folder, and loopback is gone with the network.
"""

from __future__ import annotations

import atexit
import errno
import itertools
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from signoff.process import kernel
from signoff.process.command import Command, Confinement, Unavailable, Unconfined, is_within, popen
from signoff.process.leftovers import empty_folder, make_temporary_folder
from signoff.process.limits import can_filter, filter_program

OLDEST_ABI = 3  # the first that also controls truncation
SCOPED_SINCE_ABI = 6  # signals and abstract sockets

_READ = kernel.EXECUTE | kernel.READ_FILE | kernel.READ_DIR
_ON_FILES = (
    kernel.EXECUTE | kernel.WRITE_FILE | kernel.READ_FILE | kernel.TRUNCATE | kernel.IOCTL_DEVICE
)
_DEVICES = ("null", "zero", "full", "random", "urandom")
_MOST_IDLE = 8
_T = TypeVar("_T")
_TICK_NS = 20_000_000  # two changes of a folder within this time may carry the same time


class LandlockSandbox(Unconfined):
    """One run under Landlock."""

    def __init__(self, command: Command, confinement: Confinement):
        super().__init__(command)
        self._denied: dict[str, None] = {}
        self._thread = _take_thread(confinement)
        self._thread.make_temporary()

    def popen(self) -> subprocess.Popen[bytes]:
        """Start the command from a thread that has given up its rights."""
        command = self.command
        env = {**command.env, "TMPDIR": str(self._thread.temporary)}
        if self._thread.confinement.scratch:
            # Nothing can be private in its usual place; what follows the standard goes here.
            env["XDG_CACHE_HOME"] = env["TMPDIR"]
        return self._thread.do(lambda: popen(command, command.argv, env, command.cwd))

    def close(self) -> None:
        """Remove the temporary folder; nothing of this run is left for the next one."""
        _give_back(self._thread)

    @property
    def listener(self) -> tuple[int, Callable[[], None]] | None:
        """Tells of sockets that lead out of the machine, or into it."""
        return (self._thread.listener, self._refuse_socket) if self._thread.listener >= 0 else None

    @property
    def denied(self) -> tuple[str, ...]:
        """The families of sockets that were asked for."""
        return tuple(self._denied)

    def _refuse_socket(self) -> None:
        with suppress(OSError):  # who asked may have been killed meanwhile
            family, *_ = kernel.refuse_call(self._thread.listener, errno.EPERM)
            named = {int(f): f.name for f in socket.AddressFamily}
            self._denied[named.get(family & 0xFFFFFFFF, "a socket")] = None


class _ConfinedThread:
    """A thread that has given up its rights, and the folder below which temporary files may be.

    For one command at a time.
    """

    def __init__(self, confinement: Confinement):
        self.confinement = confinement
        self.listener = -1
        self._busy = False
        self._asked: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        _refuse_impossible(confinement)
        self.folder, self._lock = make_temporary_folder()
        _folders.add(self.folder)
        self.temporary = self.folder
        self._numbers = itertools.count()
        self._as_made: tuple[_Look, _Look] | None = None
        try:
            self._start_thread()
            self._named = self._look_at_named()
            self._list_places()
            ruleset = _make_ruleset(confinement, self._places, self.folder)
            try:
                self.do(lambda: self._give_up_rights(ruleset))
            finally:
                os.close(ruleset)
        except BaseException:
            self.close()
            raise

    def still_holds(self) -> bool:
        """True when rules made now would be the same: they name what lay there when they were made.

        What is hidden must be there still, or still be missing; a listing must still be whole.
        """
        if self._look_at_named() != self._named:
            return False
        if self._is_settled and self._listed == {folder: _seen(folder) for folder in self._listed}:
            return True
        before = self._places
        self._list_places()
        return self._places == before

    def do(self, work: Callable[[], _T]) -> _T:
        """Run a function on the thread; return or raise what it does."""
        self._busy = True
        self._asked.put(work)
        answer, error = self._answers.get()
        self._busy = False
        if error is not None:
            raise error
        return cast("_T", answer)

    def make_temporary(self) -> None:
        """Make a temporary folder for one command, or keep the one before if it was left alone."""
        if self._as_made is not None:
            return
        try:
            self.temporary = self.folder / str(next(self._numbers))
            self.temporary.mkdir(mode=0o700)
            _link_opened_caches(self.confinement, self.temporary)
            self._as_made = self._look_at_folders()
        except BaseException:
            self.close()
            raise

    def is_as_new(self) -> bool:
        """True when no trace of the command is left, once its files are removed."""
        try:
            now = self._look_at_folders()
            # A link in there may have been made to lead elsewhere.
            if now != self._as_made or now[1][2]:
                self._as_made = None
                empty_folder(self.folder)
            mode, *_, marks = now[0]
        except (OSError, RecursionError):
            return False
        return not self._busy and stat.S_IMODE(mode) == stat.S_IRWXU and not marks

    def _look_at_folders(self) -> tuple[_Look, _Look]:
        return _look_at(self.folder), _look_at(self.temporary)

    def close(self) -> None:
        """Let the thread end, and remove the folder."""
        self._asked.put(None)
        if self.listener >= 0:
            os.close(self.listener)
            self.listener = -1
        # What a hostile command leaves there may resist; it is a temporary folder's business.
        with suppress(OSError, RecursionError):
            self.folder.chmod(stat.S_IRWXU)
            empty_folder(self.folder)
            self.folder.rmdir()
        os.close(self._lock)
        _folders.discard(self.folder)

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name="signoff-landlock", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None

    def _work(self) -> None:
        while (work := self._asked.get()) is not None:
            try:
                self._answers.put((work(), None))
            except BaseException as error:
                self._answers.put((None, error))

    def _give_up_rights(self, ruleset: int) -> None:
        kernel.drop_capabilities()
        kernel.forbid_new_privileges()
        kernel.restrict_thread(ruleset)
        if not can_filter():
            return
        families = None if self.confinement.network else (socket.AF_UNIX,)
        traceless = self.confinement.traceless
        if families is not None:
            # With somebody who is told of refused sockets, unless a filter around us has one.
            with suppress(OSError):
                asks = filter_program(families, traceless=traceless, asks=True)
                self.listener = kernel.filter_thread_and_listen(asks)
                return
        kernel.filter_thread(filter_program(families, traceless=traceless))

    def _list_places(self) -> None:
        began_ns = time.time_ns()
        self._places, folders = _readable_places(self.confinement)
        self._listed = {folder: _seen(folder) for folder in folders}
        changed_ns = max(seen[2] for seen in self._listed.values() if seen)
        self._is_settled = changed_ns < began_ns - _TICK_NS

    def _look_at_named(self) -> list[tuple[int, int] | None]:
        rules = self.confinement
        named = (*rules.hidden, *rules.writable, *rules.shown)
        return [seen and seen[:2] for seen in map(_seen, named)]


_Look = tuple[int, int, list[str], list[str]]


def _look_at(folder: Path) -> _Look:
    """State of a folder that a command can change; without access times, which looking changes."""
    found = folder.stat()
    marks = os.listxattr(folder) if sys.platform == "linux" else []
    return found.st_mode, found.st_mtime_ns, os.listdir(folder), marks  # noqa: PTH208 - names


def _seen(path: Path) -> tuple[int, int, int] | None:
    """Identity of a file, and when it changed; None where there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino, found.st_ctime_ns
    return None


_folders: set[Path] = set()  # of all threads; none may read in another's
_idle: list[_ConfinedThread] = []
_idle_lock = threading.Lock()


def _take_thread(confinement: Confinement) -> _ConfinedThread:
    """One that nobody uses, if there is any for this confinement, else a new one."""
    while True:
        with _idle_lock:
            at = next((i for i, p in enumerate(_idle) if p.confinement == confinement), None)
            thread = None if at is None else _idle.pop(at)
        if thread is None:
            return _ConfinedThread(confinement)
        if thread.still_holds():
            return thread
        thread.close()


def _give_back(thread: _ConfinedThread) -> None:
    if not thread.is_as_new():
        thread.close()
        return
    with _idle_lock:
        _idle.append(thread)
        oldest = _idle.pop(0) if len(_idle) > _MOST_IDLE else None
    if oldest is not None:
        oldest.close()


@atexit.register
def put_away() -> None:
    """Remove the folders that are kept for the next command; there will be none."""
    with _idle_lock:
        while _idle:
            _idle.pop().close()


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


def _link_opened_caches(confinement: Confinement, temporary: Path) -> None:
    """Link what the user opened in a cache into the folder that stands for the cache."""
    for path in (*confinement.readable, *confinement.writable):
        for cache in confinement.scratch:
            if path != cache and path.is_relative_to(cache) and path.exists():
                link = temporary / path.relative_to(cache)
                link.parent.mkdir(parents=True, exist_ok=True)
                if not os.path.lexists(link):
                    link.symlink_to(path)


def _make_ruleset(confinement: Confinement, places: Iterable[Path], temporary: Path) -> int:
    abi = kernel.landlock_abi()
    fs = kernel.file_rights(abi)
    scopes = kernel.SCOPES if abi >= SCOPED_SINCE_ABI else 0
    tcp = 0 if confinement.network or abi < 4 else kernel.TCP
    ruleset = kernel.create_ruleset(fs, tcp, scopes)
    try:
        for path in (*places, *confinement.shown):
            _allow(ruleset, path, _READ)
        for name in _DEVICES:
            _allow(ruleset, Path("/dev", name), (_READ | kernel.WRITE_FILE) & fs)
        for path in (temporary, *confinement.writable):
            _allow(ruleset, path, fs)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _readable_places(confinement: Confinement) -> tuple[dict[Path, int], list[Path]]:
    """The largest folders and files that together are everything except what is hidden.

    With their inodes. Landlock only adds rights downwards: a folder with something hidden below
    gets none itself. Those come second.
    """
    hidden = {path.resolve() for path in confinement.hidden if path.exists()}
    hidden.add(Path("/dev"))
    on_the_way = {parent for path in hidden for parent in path.parents}
    found, folders = dict[Path, int](), [Path("/")]
    for folder in folders:
        for entry, inode in _entries(folder):
            if entry in on_the_way:
                folders.append(entry)
            elif entry not in hidden and entry not in _folders:
                found[entry] = inode
    return found, folders


def _entries(folder: Path) -> list[tuple[Path, int]]:
    try:
        with os.scandir(folder) as entries:
            return [(Path(e.path), e.inode()) for e in entries if not e.is_symlink()]
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
