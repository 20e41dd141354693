"""Which step comes before which, answered without listing all pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from signoff.domain.plan import Step


class StepOrder:
    """Questions about `needs`; steps stand for their place in the plan."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        places: dict[str, int] = {}
        for i, step in enumerate(steps):
            places.setdefault(step.id, i)
        self._places: Mapping[str, int] = places
        self._needs = [
            tuple(places[n] for n in step.needs if n in places and places[n] != i)
            for i, step in enumerate(steps)
        ]
        self.cycle: tuple[str, ...] = ()
        self._floor = [0] * len(steps)
        for i in self._sorted(steps):
            self._floor[i] = self._floor_of(i)

    def _sorted(self, steps: tuple[Step, ...]) -> Iterable[int]:
        """Places in an order that respects all needs; nothing when there is none."""
        if all(need < i for i, needs in enumerate(self._needs) for need in needs):
            return range(len(steps))
        try:
            return list(TopologicalSorter(dict(enumerate(self._needs))).static_order())
        except CycleError as error:
            self.cycle = tuple(steps[i].id for i in error.args[1])
            return ()

    def _floor_of(self, i: int) -> int:
        """All places below this number come before step `i`: in a plain sequence, all there are."""
        floor = 0
        for need in self._needs[i]:
            below = self._floor[need]
            floor = max(floor, need + 1 if below == need else below)
        return floor

    def comes_before(self, earlier: int, later: int) -> bool:
        """Whether `later` needs `earlier`, directly or through other steps."""
        if earlier < self._floor[later]:
            return True
        waiting = list(self._needs[later])
        seen: set[int] = set()
        while waiting:
            here = waiting.pop()
            if here == earlier:
                return True
            if here not in seen:
                seen.add(here)
                waiting.extend(self._needs[here])
        return False
