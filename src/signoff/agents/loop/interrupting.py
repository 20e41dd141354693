"""Ctrl-C that cannot get lost: what a signal handler raises lands anywhere, what it notes stays.

Python drops a KeyboardInterrupt that is raised while a weak reference or a finalizer is cleared,
and a library may take the cancelling of its task for its own. So the handler also writes down that
somebody wants the loop to stop, and the loop looks. Whoever awaits an agent interrupts it from
another thread: then the note is all there is.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import Any, Literal, TypeVar

from signoff.agents.sessions.chain import CANCELLED

LOOK_EVERY_S = 0.1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_Handler = Callable[[int, FrameType | None], Any]
_T = TypeVar("_T")


class Interrupts:
    """Notes that somebody interrupted: any signal for which the handler in force raises."""

    def __init__(self) -> None:
        self.noted = False
        self._calm = False
        self._cancel: Callable[[], object] | None = None

    @classmethod
    def in_force(cls) -> Interrupts:
        """The interrupts of the caller that awaits this work; new ones where nobody does."""
        return _AWAITED.get() or cls()

    def interrupt(self) -> None:
        """Stop the work from another thread: an answer that is awaited is cancelled."""
        self.noted = True
        if (cancel := self._cancel) is not None:
            with suppress(RuntimeError):  # its event loop just closed: nothing is awaited
                cancel()

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
        """Only note the first interrupt in this block, so that half-written data gets written."""
        was, self._calm = self._calm, True
        try:
            yield
        finally:
            self._calm = was

    def check(self) -> Literal[False]:
        """Stop here if somebody asked for it, wherever that was lost."""
        if self.noted:
            raise KeyboardInterrupt
        return False

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


_AWAITED: ContextVar[Interrupts | None] = ContextVar("awaited", default=None)


async def in_thread(work: Callable[[], _T]) -> _T:
    """Do blocking work beside the running event loop; a cancelled one is over when this ends."""
    interrupts, begun = _begin(work)
    done = asyncio.wrap_future(begun)
    try:
        await asyncio.wait([done])
    except BaseException as error:
        interrupts.interrupt()
        if isinstance(error, asyncio.CancelledError):
            await asyncio.wait([done])
            done.exception()  # asked for, or the event loop would complain
        raise
    return done.result()


def outside_event_loop(work: Callable[[], _T]) -> _T:
    """Do it here, or in a thread of its own where an event loop runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    interrupts, done = _begin(work)
    task = asyncio.current_task()
    try:
        while not wait([done], LOOK_EVERY_S).done:
            # The handler of `asyncio.run` only cancels the task, and the task cannot notice here.
            if task is not None and task.cancelling():
                interrupts.interrupt()
    except KeyboardInterrupt:
        interrupts.interrupt()
        wait([done])
    return done.result()


def _begin(work: Callable[[], _T]) -> tuple[Interrupts, Future[_T]]:
    interrupts, context = Interrupts(), copy_context()
    context.run(_AWAITED.set, interrupts)
    context.run(CANCELLED.set, interrupts.check)
    pool = ThreadPoolExecutor(1, "signoff-agent")
    done = pool.submit(context.run, work)
    pool.shutdown(wait=False)
    return interrupts, done
