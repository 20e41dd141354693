"""Tells pages that something was appended: the database is asked here, never by a page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress

from signoff.errors import SignoffError
from signoff.storage.records import ChainHead

LOOK_AGAIN_S = 0.25
STILL_THERE_S = 15.0
COME_BACK_MS = 1_000


class Feed:
    """The number of the last entry of every plan, and who waits for the next."""

    def __init__(
        self,
        heads: Callable[[], Mapping[str, ChainHead]],
        gone: Callable[[], frozenset[str]],
        executor: Executor,
    ):
        self._heads, self._gone, self._executor = heads, gone, executor
        self._seqs: dict[str, int] = {}
        self._without_driver: frozenset[str] = frozenset()
        self._moved = asyncio.Event()
        self._over = False

    def end(self) -> None:
        """End every stream: the server stops."""
        self._over = True
        self._moved.set()

    def at(self, plan: str) -> int:
        """The last entry of a plan; of all plans together, the number of their entries."""
        return self._seqs.get(plan, 0) if plan else sum(self._seqs.values())

    async def watch(self) -> None:
        """Look at the heads of all chains for as long as the server runs."""
        loop = asyncio.get_running_loop()
        while True:
            seqs, gone = self._seqs, self._without_driver
            with suppress(SignoffError):  # a database that is busy or gone may come back
                heads = await loop.run_in_executor(self._executor, self._heads)
                seqs = {plan: head.seq for plan, head in heads.items()}
                gone = await loop.run_in_executor(self._executor, self._gone)
            if (seqs, gone) != (self._seqs, self._without_driver):
                self._seqs, self._without_driver = seqs, gone
                self._moved.set()
                self._moved = asyncio.Event()
            await asyncio.sleep(LOOK_AGAIN_S)

    async def stream(self, plan: str, seen: int) -> AsyncIterator[str]:
        """Server-sent events: one at once when something happened since `seen`, then each time."""
        yield f"retry: {COME_BACK_MS}\n\n"
        gone = self._without_driver
        while not self._over:
            moved, now = self._moved, self.at(plan)
            if now != seen or gone != self._without_driver:
                seen, gone = now, self._without_driver
                yield f"id: {now}\nevent: moved\ndata: {now}\n\n"
                continue
            try:
                await asyncio.wait_for(moved.wait(), STILL_THERE_S)
            except TimeoutError:
                yield ": still there\n\n"
