"""Running one command to its certain end: deadline, output, and no process left behind.

run
  open_tree            orphans of this run will come to us
  start                sandbox, own session, limits
  _Watch.until_end     feed stdin, drain both pipes, until the main process ends or must
  _kill_surely         everything that is left
  _Watch.drain         what still lies in the pipes
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from msgspec.structs import replace

from signoff.domain.verdict import Ending, Observation
from signoff.process.command import Command, Refusal, StreamName, StreamRecord
from signoff.process.limits import Limits, mark_for
from signoff.process.proctable import open_pidfd
from signoff.process.spawn import Started, start
from signoff.process.tree import Tree, open_tree

__all__ = ["Command", "Limits", "run"]

_READ_SIZE = 262_144
_WIDE_PIPE = 1_048_576
_STDIN_CHUNK = 65_536
_CANCEL_TICK_S = 0.1
_TEND_TICK_S = 0.5
_COUNT_TICK_S = 0.02
_NO_PIDFD_TICK_S = 0.02

Cancelled = Callable[[], bool]
OnOutput = Callable[[StreamName, bytes], None]


def run(
    command: Command,
    *,
    cancelled: Cancelled | None = None,
    on_output: OnOutput | None = None,
    on_started: Callable[[int], None] | None = None,
    also: tuple[int, Callable[[], None]] | None = None,
) -> Observation:
    """Run it; when this returns or raises, no process of the run is alive.

    `also` is a descriptor of the caller's, and what to call whenever it can be read.
    """
    began = time.monotonic()
    records = _records(command)
    with open_tree(_wanted_mark(command)) as tree, ExitStack() as cleanup:
        try:
            started = start(command, tree, cleanup)
            if isinstance(started, Refusal):
                return _not_run(started, records, began)
            watch = _Watch(command, started, tree, records, on_output, also, started.box.listener)
            cleanup.callback(watch.close)
            if on_started is not None:
                on_started(started.process.pid)
            stopped = watch.until_end(began + command.limits.wall_s, cancelled)
            ended = time.monotonic()
        finally:
            killed = _kill_surely(tree)
            code = tree.reap_main()
        watch.drain()
        stopped = stopped or (Ending.OUTPUT_LIMIT if watch.over_limit() else None)
        if stopped is None:
            outcome = started.box.outcome(code, records[StreamName.STDERR].output().kept)
            if isinstance(outcome, Refusal):
                return _not_run(outcome, records, began)
            code = outcome
    seen = _observation(command, code, stopped, records, killed=killed, duration_s=ended - began)
    box = started.box
    return replace(seen, denied=box.denied, denied_hosts=box.denied_hosts)


class _Watch:
    """Both pipes, the standard input and the end of one process, in one poll loop."""

    def __init__(
        self,
        command: Command,
        started: Started,
        tree: Tree,
        records: dict[StreamName, StreamRecord],
        on_output: OnOutput | None,
        *also: tuple[int, Callable[[], None]] | None,
    ):
        self._limits = command.limits
        self._process: subprocess.Popen[bytes] = started.process
        self._most = started.most_processes
        self._group = started.group
        self._tree = tree
        self._records = records
        self._on_output = on_output
        self._poller = select.poll()
        self._also = dict(filter(None, also))
        for fd in self._also:
            self._poller.register(fd, select.POLLIN)
        self._streams: dict[int, StreamName] = {}
        self._unsent = memoryview(command.stdin)
        self._stdin_fd = -1
        self._pidfd = open_pidfd(started.process.pid)
        if self._pidfd >= 0:
            self._poller.register(self._pidfd, select.POLLIN)
        self._connect()

    def until_end(self, deadline: float, cancelled: Cancelled | None) -> Ending | None:
        """Wait until the main process ends by itself (None), or it is time to kill it (why)."""
        stopped: Ending | None = None
        tend = _Tick(_TEND_TICK_S)
        ask = _Tick(_CANCEL_TICK_S)
        count = _Tick(_COUNT_TICK_S)
        while True:
            looks = [deadline, tend.at]
            looks += [ask.at] if cancelled is not None else []
            looks += [count.at] if self._most is not None else []
            if self._turn(min(looks) - time.monotonic()):
                return stopped
            if self.over_limit():
                return stopped or Ending.OUTPUT_LIMIT
            if self._most is not None and count.is_due() and self._outnumbers(self._most):
                return stopped or Ending.SIGNALLED
            if tend.is_due():
                self._tree.tend()
            if cancelled is not None and ask.is_due() and cancelled():
                stopped = Ending.CANCELLED
            elif time.monotonic() >= deadline:
                if stopped is not None:
                    return stopped
                stopped = Ending.TIMED_OUT
            else:
                continue
            self._tree.signal_group(signal.SIGTERM)
            deadline, cancelled = time.monotonic() + self._limits.grace_s, None

    def over_limit(self) -> bool:
        """True when both streams together exceed what the command may print."""
        limit = self._limits.max_output
        return limit is not None and sum(record.size for record in self._records.values()) > limit

    def drain(self) -> None:
        """Take what lies in the pipes; bounded, should somebody outside the run hold one open."""
        for fd in list(self._streams):
            left = _WIDE_PIPE
            while left > 0 and fd in self._streams:
                took = self._receive(fd)
                left -= took
                if not took:
                    break

    def close(self) -> None:
        """Release every descriptor."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)

    def _outnumbers(self, most: int) -> bool:
        """True when there are too many processes; later the kernel limits them, if it may."""
        if self._tree.outnumbers(most):
            return True
        if self._group is not None and self._tree.gather(self._group):
            self._most = None
        self._group = None
        return False

    def _connect(self) -> None:
        pairs = (
            (self._process.stdout, StreamName.STDOUT),
            (self._process.stderr, StreamName.STDERR),
        )
        for stream, name in pairs:
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._streams[stream.fileno()] = name
            self._poller.register(stream.fileno(), select.POLLIN)
        if self._process.stdin is not None:
            self._stdin_fd = self._process.stdin.fileno()
            os.set_blocking(self._stdin_fd, False)
            self._poller.register(self._stdin_fd, select.POLLOUT)

    def _turn(self, timeout_s: float) -> bool:
        """One wait and whatever it brought; True when the main process has ended."""
        ended = False
        if self._pidfd < 0:
            timeout_s = min(timeout_s, _NO_PIDFD_TICK_S)
        for fd, _event in self._poller.poll(max(0.0, timeout_s) * 1000):
            if fd == self._pidfd:
                ended = True
            elif fd == self._stdin_fd:
                self._send()
            elif fd in self._streams:
                self._receive(fd)
            elif fd in self._also:
                self._also[fd]()
        return ended or (self._pidfd < 0 and self._process.poll() is not None)

    def _send(self) -> None:
        try:
            sent = os.write(self._stdin_fd, self._unsent[:_STDIN_CHUNK])
            self._unsent = self._unsent[sent:]
        except BlockingIOError:
            return
        except OSError:
            # Not reading its input is the process's own affair.
            self._unsent = self._unsent[:0]
        if not self._unsent and self._process.stdin is not None:
            self._poller.unregister(self._stdin_fd)
            self._process.stdin.close()
            self._stdin_fd = -1

    def _receive(self, fd: int) -> int:
        """Pass one chunk on; 0 when there is none for now, or ever again."""
        try:
            chunk = os.read(fd, _READ_SIZE)
        except BlockingIOError:
            return 0
        name = self._streams[fd]
        if not chunk:
            self._poller.unregister(fd)
            del self._streams[fd]
            return 0
        record = self._records[name]
        if record.size == 0 and len(chunk) >= _STDIN_CHUNK:
            _widen(fd)
        record.feed(chunk)
        if self._on_output is not None:
            self._on_output(name, chunk)
        return len(chunk)


class _Tick:
    """Something to do now and then, however often the loop turns."""

    def __init__(self, every_s: float):
        self._every_s = every_s
        self.at = time.monotonic() + every_s

    def is_due(self) -> bool:
        """True when its time has come; the next time counts from now."""
        now = time.monotonic()
        if now < self.at:
            return False
        self.at = now + self._every_s
        return True


def _kill_surely(tree: Tree) -> int:
    """Kill the tree even when the person at the keyboard is impatient."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            killed = tree.kill()
            break
        except KeyboardInterrupt as again:
            interrupt = again
    if interrupt is not None:
        raise interrupt
    return killed


def _records(command: Command) -> dict[StreamName, StreamRecord]:
    head, tail = command.limits.keep_head, command.limits.keep_tail
    return {
        StreamName.STDOUT: StreamRecord(head, tail, command.find_stdout),
        StreamName.STDERR: StreamRecord(head, tail, command.find_stderr),
    }


def _wanted_mark(command: Command) -> int | None:
    if command.born_with is not None:
        return mark_for(*command.born_with)
    name = command.marked_by
    return mark_for(name, command.env[name]) if name in command.env and name else None


def _widen(fd: int) -> None:
    """Widen the pipe of a talkative process, so that it costs fewer turns; refused is fine."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _WIDE_PIPE)


def _not_run(
    refusal: Refusal, records: dict[StreamName, StreamRecord], began: float
) -> Observation:
    return _observed(records, refusal.ending, time.monotonic() - began, detail=refusal.detail)


def _observation(
    command: Command,
    code: int,
    stopped: Ending | None,
    records: dict[StreamName, StreamRecord],
    *,
    killed: int,
    duration_s: float,
) -> Observation:
    number = -code if stopped is None and code < 0 else None
    if stopped is Ending.SIGNALLED:
        number = signal.SIGKILL
    # A process that we stopped may still exit 0 on SIGTERM: its code then says nothing.
    seen = _observed(
        records,
        stopped or _ending_of(code),
        duration_s,
        detail=_detail(command.limits, stopped, code),
    )
    return replace(
        seen,
        exit_code=code if stopped is None and code >= 0 else None,
        signal=number,
        leftovers_killed=killed,
    )


def _observed(
    records: dict[StreamName, StreamRecord], ending: Ending, duration_s: float, *, detail: str
) -> Observation:
    stdout, stderr = records[StreamName.STDOUT], records[StreamName.STDERR]
    return Observation(
        ending=ending,
        exit_code=None,
        signal=None,
        duration_s=duration_s,
        stdout=stdout.output(),
        stderr=stderr.output(),
        detail=detail,
        stdout_matches=stdout.matches(),
        stderr_matches=stderr.matches(),
    )


def _ending_of(code: int) -> Ending:
    if code < 0:
        return Ending.SIGNALLED
    return {126: Ending.NOT_EXECUTABLE, 127: Ending.NOT_FOUND}.get(code, Ending.EXITED)


def _detail(limits: Limits, stopped: Ending | None, code: int) -> str:
    if stopped is Ending.TIMED_OUT:
        return f"after {limits.wall_s:g} s"
    if stopped is Ending.OUTPUT_LIMIT:
        return f"more than {limits.max_output} bytes of output"
    if stopped is Ending.SIGNALLED:
        return f"more than {limits.processes} processes"
    if stopped is None and code in (126, 127):
        return f"exit code {code}"
    return ""
