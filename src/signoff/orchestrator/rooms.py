"""Rooms beside the workspace in which contracts are judged side by side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from signoff.domain.verdict import Reason, Verdict
from signoff.orchestrator.openrun import JudgingRoom, LaneMaker
from signoff.verification.evidence import Case
from signoff.verification.judge import Judge


class RoomPool:
    """Rooms of one workspace; in each, one contract is judged at a time."""

    def __init__(self, maker: LaneMaker | None):
        self._maker = maker
        self._free: list[JudgingRoom] = []
        self._made = 0
        self._lock = threading.Lock()

    def take(self) -> JudgingRoom:
        """A room in which nothing is judged; give it back with `leave`."""
        assert self._maker is not None
        with self._lock:
            if self._free:
                return self._free.pop()
            self._made += 1
            number = self._made
        return self._maker.room(number)

    def leave(self, room: JudgingRoom) -> None:
        """Give a room back."""
        self._free.append(room)


def judge_side_by_side(maker: LaneMaker, judge: Judge, cases: Sequence[Case]) -> dict[str, Verdict]:
    """Judge the cases on the content that lies there now, identical ones once; by subject.

    Without those that could not be judged beside the workspace, and without all of them where the
    content changed meanwhile: they are to be judged in it.
    """
    content, pool, stop = judge.workspace.snapshot().digest, RoomPool(maker), threading.Event()
    distinct: list[Case] = []
    same_as: dict[str, Case] = {}
    for case in cases:
        same_as[case.subject] = found = next((c for c in distinct if _is_same(case, c)), case)
        if found is case:
            distinct.append(case)

    def judged(case: Case) -> Verdict:
        room = pool.take()
        try:
            return room.judge_of(judge, content, stop.is_set).judge(replace(case, beside=True))
        finally:
            pool.leave(room)

    with ThreadPoolExecutor(maker.most) as threads:
        try:
            every = list(threads.map(judged, distinct))
        finally:
            stop.set()
    if judge.workspace.snapshot().digest != content:
        return {}
    made = {case.subject: v for case, v in zip(distinct, every, strict=True)}
    verdicts = {i: replace(made[case.subject], subject=i) for i, case in same_as.items()}
    return {i: v for i, v in verdicts.items() if v.reason is not Reason.INFRASTRUCTURE}


def _is_same(one: Case, other: Case) -> bool:
    """True when both get the same verdict: only who made a file may have changed it."""
    makers = {product.step for product in one.guard.products.values()}
    if not makers.isdisjoint((one.subject, other.subject)):
        return False
    guard = replace(one.guard, subject=other.guard.subject)
    return replace(one, subject=other.subject, guard=guard) == other
