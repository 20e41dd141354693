"""The processes of one run: which they are, and their certain death.

Every process below the harness that loses its parent is handed to the harness (it is their
"subreaper"), so whatever a run started hangs below one of our direct children. A direct child is
attributed by what it cannot choose freely: its session (inherited, and only ever left for a new
one) and its birthmark. What hangs below an attributed process belongs to the same run.

Without `/proc` or subreapers (other systems than Linux) only the process group is killed.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice

from signoff.domain.text import shown_list
from signoff.errors import ProcessFailed
from signoff.process.limits import (
    PidGroup,
    choose_mark,
    fix_mark,
    inherited_mark,
    mark_of,
    own_mark,
)
from signoff.process.proctable import child_lookup, descendants, has_proc, read_stat

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_PATIENCE_S = 20.0
_PAUSE_MS = 10
_WALL = 0x40000000  # also children that were cloned to end without a signal
_GATHERINGS = 5
_MOST_GATHERED = 64

# One lock for the life of our children: listing them while another thread reaps one can skip a
# neighbour, and a birthmark must not leak into somebody else's start.
_children_lock = threading.RLock()
_trees: set[Tree] = set()
_found_as_subreaper = False


class Tree:
    """One run's processes, from before the first exists until none is left."""

    def __init__(self, mark: int | None):
        self.mark = mark
        self.main: int | None = None
        self._leader: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._sessions: set[int] = set()
        self._own_session = os.getsid(0)
        self._own_mark = own_mark()
        self._older = frozenset() if mark is not None else frozenset(_our_children())

    def start(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start the main process so that it and everything after it can be told as ours."""
        with _children_lock, inherited_mark(self.mark):
            process = start()
            self._process, self.main, self._leader = process, process.pid, process.pid
            self._sessions.add(process.pid)
        fix_mark(process.pid, self.mark)
        return process

    def led_by(self, pid: int) -> None:
        """Note the session that a sandbox made for the command: that one is asked to end."""
        self._leader = pid
        self._sessions.add(pid)

    def tend(self) -> None:
        """Bury orphans that ended, and learn the sessions in use, while the run lasts."""
        if not full_control():
            return
        roots = self._roots()
        living, _ = self._bury(roots)
        for pid in (*living, *descendants(living)):
            with suppress(OSError):
                self._sessions.add(os.getsid(pid))

    def outnumbers(self, most: int) -> bool:
        """True when the run has more processes than that."""
        return next(islice(self._members(), most, None), None) is not None

    def gather(self, group: PidGroup) -> bool:
        """Put every process of the run under the group's cap; False when some stay outside."""
        for _ in range(_GATHERINGS):
            outside = [pid for pid in self._members() if pid not in group.members()]
            if not outside:
                return True
            if len(outside) > _MOST_GATHERED:
                return False
            for pid in outside:
                if not group.add(pid) and read_stat(pid) is not None:
                    return False
        return False

    def signal_group(self, number: signal.Signals) -> None:
        """Ask the command's whole group; stopped ones are woken to hear it."""
        if self._leader is not None:
            for each in (number, signal.SIGCONT):
                with suppress(OSError):
                    os.killpg(self._leader, each)

    def kill(self) -> int:
        """Kill until nothing is left; returns how many beside the main one had to be killed.

        A round that finds no member among our direct children proves that none lives: a process
        handed to us later had a living parent in the same run, which that round would have found.
        """
        if not full_control():
            for group in {pid for pid in (self.main, self._leader) if pid is not None}:
                with suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
            return 0
        if self._ended_alone():
            return 0
        killed = 0
        give_up = time.monotonic() + _PATIENCE_S
        struck: set[int] = set()
        while roots := self._roots(struck):
            living, statuses = self._bury(roots)
            for pid in descendants(living):
                _kill_with_group(pid, struck)
            struck.clear()
            if statuses:
                killed += sum(status == signal.SIGKILL for status in statuses)
                give_up = time.monotonic() + _PATIENCE_S
            elif time.monotonic() > give_up:
                raise unkillable(living, "processes of the run")
            else:
                _await_end(living[0])
        return killed

    def reap_main(self) -> int:
        """Collect the main process, which has ended; negative for a signal."""
        with _children_lock:
            return self._process.wait() if self._process is not None else 0

    def _ended_alone(self) -> bool:
        """True when the main process has ended and we have no other child at all, whoever's it is.

        The usual end, known from two questions instead of a look at every child of every thread.
        Nothing of the run can live on then: it would hang below us.
        """
        with _children_lock:
            if self._process is None or self._process.poll() is None:
                return False
            return not _has_children()

    def _members(self) -> Iterator[int]:
        roots = self._roots() if full_control() else []
        yield from roots
        yield from descendants(roots)

    def _roots(self, struck: set[int] | None = None) -> list[int]:
        """Our direct children that belong to this run, without a main process that has ended.

        With a set for the groups struck, each is killed the moment it is recognised, newest first:
        what forks and dies all the time leaves many dead behind and lives only at the list's end.
        """
        roots = []
        with _children_lock:
            others = [tree for tree in _trees if tree is not self]
            for pid in reversed(_our_children()):
                if self._owns(pid, others):
                    roots.append(pid)
                    if struck is not None:
                        _kill_with_group(pid, struck)
        return roots

    def _owns(self, pid: int, others: list[Tree]) -> bool:
        if pid == self.main:
            return not _has_ended(pid)
        try:
            session = os.getsid(pid)
        except OSError:
            return False
        if session == self._own_session or any(session == tree.main for tree in others):
            return False
        if session in self._sessions:
            return True
        if any(session in tree._sessions for tree in others):
            return False
        return self._is_marked(mark_of(pid), pid, others)

    def _is_marked(self, mark: int | None, pid: int, others: list[Tree]) -> bool:
        if self.mark is None:
            return not others and pid not in self._older
        # Not ours, not another run's, not the harness's own: nobody but a process that wants to be
        # overlooked changes this limit.
        return mark not in (None, self._own_mark, *(tree.mark for tree in others))

    def _bury(self, roots: list[int]) -> tuple[list[int], list[int]]:
        """Reap those that have ended: who is left, and how the others ended (wait statuses)."""
        living, statuses = [], []
        with _children_lock:
            for pid in roots:
                # The main one is collected by its owner.
                ended, status = (0, 0)
                if pid != self.main:
                    try:
                        ended, status = os.waitpid(pid, os.WNOHANG)
                    except ChildProcessError:
                        ended = pid
                if ended:
                    # The first process of a namespace dies with its sandbox, busy or not.
                    statuses.append(0 if pid == self._leader else status)
                else:
                    living.append(pid)
        return living, statuses


@contextmanager
def open_tree(wanted_mark: int | None = None) -> Iterator[Tree]:
    """A tree for one run; while any is open, orphans come to us instead of to init."""
    with _children_lock:
        taken = any(tree.mark == wanted_mark for tree in _trees)
        if not _trees:
            _become_subreaper()
        tree = Tree(choose_mark(None if taken else wanted_mark))
        _trees.add(tree)
    try:
        yield tree
    finally:
        with _children_lock:
            _trees.discard(tree)
            if not _trees:
                _resign_as_subreaper()


def full_control() -> bool:
    """True when whole trees can be found and killed here; otherwise only process groups are."""
    return sys.platform == "linux" and has_proc()


def _our_children() -> list[int]:
    return child_lookup()(os.getpid()) if full_control() else []


def _has_children() -> bool:
    if sys.platform == "darwin" or sys.platform == "win32":
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | _WALL)
    except ChildProcessError:
        return False
    return True


def _has_ended(pid: int) -> bool:
    if sys.platform == "darwin" or sys.platform == "win32":
        return False
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _kill_with_group(pid: int, struck: set[int]) -> None:
    # A group dies in one stroke that no fork can slip through; once a round is enough, its dead
    # may be many. Groups never reach across sessions, and a session of a run is never ours.
    try:
        os.kill(pid, signal.SIGKILL)
        group = os.getpgid(pid)
        if group not in struck and group not in (0, os.getpgrp()):
            struck.add(group)
            os.killpg(group, signal.SIGKILL)
    except OSError:
        return


def _await_end(pid: int) -> None:
    """Wait for the end of the process, but only for a moment: others may need killing."""
    if sys.platform == "linux":
        with suppress(OSError):
            fd = os.pidfd_open(pid)
            try:
                poller = select.poll()
                poller.register(fd, select.POLLIN)
                poller.poll(_PAUSE_MS)
            finally:
                os.close(fd)


def unkillable(pids: list[int], which: str) -> ProcessFailed:
    """The error for processes that even the kernel does not end."""
    shown = shown_list(map(str, pids), 10)
    return ProcessFailed(
        f"{len(pids)} {which} do not die from SIGKILL: {shown}",
        hint=f"look at them with `ps -p {pids[0]}`; end them with the rights of their user",
        facts={"pids": pids},
    )


def _become_subreaper() -> None:
    global _found_as_subreaper  # noqa: PLW0603 -- the attribute is the process's own, there is one
    if full_control():
        was = ctypes.c_int(0)
        _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.addressof(was))
        _found_as_subreaper = bool(was.value)
        if not _found_as_subreaper:
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _resign_as_subreaper() -> None:
    # Daemons that other code of this process starts between runs are none of our business.
    if full_control() and not _found_as_subreaper:
        _prctl(_PR_SET_CHILD_SUBREAPER, 0)


def _prctl(option: int, value: int) -> None:
    result: int = _libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0)
    if result != 0:
        raise ProcessFailed(
            f"the system refused to hand orphaned processes to signoff (prctl {option})",
            hint="run on a Linux kernel 3.4 or newer, outside filters that forbid `prctl`",
        )


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
