"""Calls carried out: looks beside each other, everything else one by one, results in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Protocol

from signoff.toolbatch.calls import Call, Result
from signoff.toolbatch.duplicates import key_of

MOST_BESIDE = 8
NOT_FINISHED = (
    "error: the harness was stopped before this call gave a result. It may have run in part: look "
    "at what is there before you repeat it."
)


class Execute(Protocol):
    """Carries out one call. What goes wrong with it is a Result; looks may come from threads."""

    def __call__(self, call: Call) -> Result:
        """Do it."""


def groups_of(calls: Sequence[Call]) -> Iterator[tuple[Call, ...]]:
    """Neighbouring looks together, unless one is there twice; everything else by itself."""
    group: dict[str, Call] = {}
    for call in calls:
        if not call.shape.reads_only or call.malformed:
            yield from _closed(group)
            yield (call,)
            continue
        key = key_of(call)
        if key in group or len(group) == MOST_BESIDE:
            yield from _closed(group)
        group[key] = call
    yield from _closed(group)


def execute_beside(execute: Execute, calls: Sequence[Call], results: dict[int, Result]) -> None:
    """Carry out a group and add each result under its call's place; ids may be there twice.

    Interrupted, what had begun is waited for, so that no thread works on behind the caller's back,
    and what had ended is in `results`.
    """
    if len(calls) == 1:
        results[0] = execute(calls[0])
        return
    if not calls:
        return
    with ThreadPoolExecutor(max_workers=min(len(calls), MOST_BESIDE)) as pool:
        begun = [pool.submit(execute, call) for call in calls]
        try:
            wait(begun, return_when=FIRST_EXCEPTION)
        finally:
            for future in begun:
                future.cancel()
            pool.shutdown(wait=True)
            results |= {n: f.result() for n, f in enumerate(begun) if _ended_well(f)}
        for future in begun:
            if not future.cancelled():
                future.result()


def _closed(group: dict[str, Call]) -> Iterator[tuple[Call, ...]]:
    if group:
        yield tuple(group.values())
    group.clear()


def _ended_well(future: Future[Result]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
