"""Code of others, given so much time and no more; what it raises is an answer, never an end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
PATIENCE_S = 30.0


class Outsider(Exception):
    """It broke down, or wanted to end the program."""


class Late(Outsider):
    """It did not come back; it may still be at it."""


class _Errand(threading.Thread, Generic[T]):
    """One call in a thread that nobody waits for at the end of the program."""

    def __init__(self, work: Callable[[], T]):
        super().__init__(daemon=True)
        self._work = work
        self.results: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.results.append(self._work())
        except BaseException as error:  # `sys.exit` would pass for an answer
            self.error = error


def within(patience_s: float, work: Callable[[], T]) -> T:
    """What `work` returns; Outsider when it does anything else."""
    errand = _Errand(work)
    errand.start()
    errand.join(patience_s)
    if errand.is_alive():
        raise Late(f"no answer within {patience_s:g} s")
    if errand.error is not None or not errand.results:
        error = errand.error
        said = " ".join(str(error).split())
        raise Outsider(f"{type(error).__name__}: {said}"[:200]) from error
    return errand.results[0]
