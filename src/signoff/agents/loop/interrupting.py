"""Ctrl-C that cannot get lost: what a signal handler raises lands anywhere, what it notes stays.

Python drops a KeyboardInterrupt that is raised while a weak reference or a finalizer is cleared,
and a library may take the cancelling of its task for its own. So the handler also writes down that
somebody wants the loop to stop, and the loop looks.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_Handler = Callable[[int, FrameType | None], Any]
_T = TypeVar("_T")


class Interrupts:
    """Whether somebody interrupted; that is whatever makes the handler in force say so."""

    def __init__(self) -> None:
        self.noted = False
        self._calm = False
        self._cancel: Callable[[], object] | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notice interrupts in here; only the main thread gets any."""
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            # One that is no function is the system's own: it ends the process, or does nothing.
            found = {number: signal.getsignal(number) for number in _SIGNALS}
            before = {number: handler for number, handler in found.items() if callable(handler)}
        try:
            for number, handler in before.items():
                signal.signal(number, self._noting(handler))
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def calmly(self) -> Iterator[None]:
        """In here the first interrupt is noted and no more: what is half written gets written."""
        was, self._calm = self._calm, True
        try:
            yield
        finally:
            self._calm = was

    def check(self) -> None:
        """Stop here if somebody asked for it, wherever that was lost."""
        if self.noted:
            raise KeyboardInterrupt

    def run(self, runner: asyncio.Runner, work: Coroutine[Any, Any, _T]) -> _T:
        """Run it to its end; an interrupt cancels it, so that it closes what it opened."""
        try:
            with self.calmly():
                return runner.run(self._cancellable(work))
        except asyncio.CancelledError:
            self.check()
            raise

    async def _cancellable(self, work: Coroutine[Any, Any, _T]) -> _T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        # Through the loop, because it may sleep: only its own queue wakes it.
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            if self.noted:
                work.close()
                raise asyncio.CancelledError
            return await work
        finally:
            self._cancel = None

    def _noting(self, handler: _Handler) -> _Handler:
        def note(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except KeyboardInterrupt:
                again, self.noted = self.noted, True
                if again or not self._calm:
                    raise
                if self._cancel is not None:
                    self._cancel()

        return note
