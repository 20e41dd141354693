"""Clean up after a driver that was killed itself: processes, temporary folders."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from signoff.process.limits import mark_for, mark_of
from signoff.process.proctable import all_pids, ancestors, descendants, environment_of, read_stat
from signoff.process.tree import full_control, unkillable

_PATIENCE_S = 20.0
_PAUSE_S = 0.002
_MOST_LOOKS = 50
TEMPORARY = "signoff-pen-"  # how the private folder of confined commands begins
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


WORKSPACE_VARIABLE = "SIGNOFF_WORKSPACE"  # set for agents; contracts carry only its birthmark


def kill_marked(name: str, value: str) -> int:
    """Kill every process started with NAME=value, whatever they started, and their sessions.

    Processes that emptied their environment, or never had the variable, are found by the birthmark,
    when the run was started with `marked_by=NAME` or `born_with=(NAME, value)`. Repeats until none
    is left; never touches ourselves or who started us. Returns how many died. Without `/proc`
    nothing can be found, and the answer is 0.
    """
    if not full_control():
        return 0
    hunt = _Hunt(name, value)
    give_up = time.monotonic() + _PATIENCE_S
    looks = 0
    while looks < _MOST_LOOKS:
        looks += 1
        silent_before = len(hunt.silent)
        known = len(hunt.killed)
        found = hunt.look()
        if found and len(hunt.killed) == known and time.monotonic() > give_up:
            raise unkillable(sorted(found), f"processes with `{name}={value}`")
        if found:
            looks = 0
            time.sleep(_PAUSE_S)
        elif len(hunt.silent) == silent_before:
            break
    return len(hunt.killed)


class _Hunt:
    """One search, look after look.

    A process that ended during a look may have had a child that the look did not list, and one
    that is just replacing its program shows no environment. Both are remembered as `silent`: a
    look proves that none is left only when it found nothing and met no new silent one.
    """

    def __init__(self, name: str, value: str):
        self.killed: set[int] = set()
        self.silent: set[int] = set()
        self._dead: set[int] = set()
        self._wanted = f"{name}={value}".encode("utf-8", "surrogateescape")
        self._mark = mark_for(name, value)
        self._spared = {os.getpid(), *(ancestor.pid for ancestor in ancestors())}
        # A session that we or our ancestors belong to holds more than the run that is looked for.
        self._our_sessions = {0, *map(_session, self._spared)}

    def look(self) -> set[int]:
        """Freeze the marked as they are met, newest first; then kill them and all that is theirs.

        Frozen first: while they live, what they started still hangs below them.
        """
        listed = set(all_pids())
        # Zombies that nobody collects would slow down every look; a pid that left may come again.
        self._dead &= listed
        pids = sorted(listed - self._spared - self._dead, reverse=True)
        marked = {pid for pid in pids if self._is_marked(pid) and _signal(pid, signal.SIGSTOP)}
        if not marked:
            return marked
        sessions = set(map(_session, marked)) - self._our_sessions
        members = marked | {pid for pid in pids if _session(pid) in sessions}
        for pid in descendants(members):
            if pid not in self._spared and _signal(pid, signal.SIGSTOP):
                members = members | {pid}
        members = {pid for pid in members if not _is_dead(pid)}
        for pid in members:
            if _signal(pid, signal.SIGKILL):
                self.killed.add(pid)
        return members

    def _is_marked(self, pid: int) -> bool:
        environment = environment_of(pid)
        if self._wanted in environment and self._wanted in environment.split(b"\0"):
            return True
        if mark_of(pid) == self._mark and not _is_dead(pid):
            return True
        if not environment:
            self.silent.add(pid)
            if _is_dead(pid):
                self._dead.add(pid)
        return False


def _signal(pid: int, number: signal.Signals) -> bool:
    with suppress(OSError):
        os.kill(pid, number)
        return True
    return False


def _session(pid: int) -> int:
    with suppress(OSError):
        return os.getsid(pid)
    return 0


def _is_dead(pid: int) -> bool:
    found = read_stat(pid)
    return found is None or found.dead


def make_temporary_folder() -> tuple[Path, int]:
    """A folder that is in use as long as its lock is held; those that nobody uses are removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"):
        with suppress(OSError, RecursionError):
            _remove_unused(left)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=TEMPORARY)).resolve()
        with suppress(FileNotFoundError):  # taken for unused before it was locked
            lock = os.open(folder, _OPEN_FOLDER)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_unused(folder: Path) -> None:
    lock = os.open(folder, _OPEN_FOLDER)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.geteuid():
            empty_folder(folder)
            folder.rmdir()
    finally:
        os.close(lock)


def empty_folder(folder: Path) -> None:
    """Remove what lies there; folders that the command made read-only do not keep their content."""
    for place, names, _files in os.walk(folder):
        for inner in (Path(place, name) for name in names):
            if not inner.is_symlink():
                inner.chmod(stat.S_IRWXU)
    for entry in list(os.scandir(folder)):
        (shutil.rmtree if entry.is_dir(follow_symlinks=False) else os.unlink)(entry.path)
