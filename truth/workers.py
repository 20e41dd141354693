"""Cases played side by side, each worker a process of its own: a hostile agent may kill its driver.

A worker reads `ISOLATION NAME` or `ISOLATION+lanes NAME` lines, and answers each with one line of
JSON.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from signoff.domain.verdict import Isolation
from truth.corpus import Filed, find, in_lanes
from truth.report import Report, failed, play

CASE_LIMIT_S = 600  # some compile a language from scratch each time they are judged
GRACE_S = 15
WORKER_FLAG = "--worker"
IN_LANES = "+lanes"


def play_all(cases: Sequence[Filed], isolation: Isolation, jobs: int) -> Iterator[Report]:
    """Reports in the order in which the cases end."""
    waiting: queue.SimpleQueue[Filed] = queue.SimpleQueue()
    told: queue.SimpleQueue[Report] = queue.SimpleQueue()
    for filed in cases:
        waiting.put(filed)
    with ThreadPoolExecutor(jobs) as pool:
        for _ in range(jobs):
            pool.submit(_feed, waiting, told, isolation)
        for _ in cases:
            yield told.get()


def _feed(
    waiting: queue.SimpleQueue[Filed], told: queue.SimpleQueue[Report], isolation: Isolation
) -> None:
    """Keep one worker busy; one that died is replaced."""
    worker: _Worker | None = None
    with suppress(queue.Empty):
        while True:
            filed = waiting.get_nowait()
            worker = worker or _Worker()
            report = worker.play(filed, isolation)
            if report is None:
                report = failed(filed, isolation, f"the driver ended: {worker.close()}")
                worker = None
            told.put(report)
    if worker is not None:
        worker.close()


class _Worker:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("run.py")), WORKER_FLAG],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def play(self, filed: Filed, isolation: Isolation) -> Report | None:
        """None when the worker is gone, by itself or because the case did not end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # Interrupted first: the product then ends what it started before it leaves.
        timers = [
            threading.Timer(CASE_LIMIT_S, self._process.send_signal, (signal.SIGINT,)),
            threading.Timer(CASE_LIMIT_S + GRACE_S, self._process.kill),
        ]
        for timer in timers:
            timer.start()
        try:
            where = f"{isolation.value}{IN_LANES if filed.case.lanes else ''}"
            print(where, filed.case.name, file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            return None
        finally:
            for timer in timers:
                timer.cancel()
        return Report.from_json(line) if line else None

    def close(self) -> str:
        """How it ended."""
        with suppress(BrokenPipeError):
            self._process.communicate(timeout=GRACE_S)
        return f"exit {self._process.returncode}"


def serve() -> None:
    """The worker's side; whatever is printed meanwhile goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        mode, _, name = line.rstrip("\n").partition(" ")
        filed, isolation = find(name), Isolation(mode.removesuffix(IN_LANES))
        filed = in_lanes(filed) if mode.endswith(IN_LANES) else filed
        try:
            report = play(filed, isolation)
        except Exception:
            report = failed(filed, isolation, traceback.format_exc())
        print(report.to_json(), file=answers, flush=True)
