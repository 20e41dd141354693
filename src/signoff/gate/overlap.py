"""Which plans can change the same files, by the globs of their `touches`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from signoff.domain.globs import common_path, covers_nothing, spelled_start

# Far beyond what anybody writes, so that no plan makes all others wait for the comparison.
MAX_GLOB_CHARACTERS = 1000
MAX_WILD_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Overlap:
    """Another plan that can change the same files: one glob of each, and a path both cover."""

    other: str
    mine: str
    theirs: str
    path: str


def unusable(touches: tuple[str, ...]) -> tuple[str, ...]:
    """The globs from which nothing can be told: too long, or covering no path of a workspace.

    `.` is one of them: whoever writes it means everything, and as a glob it covers nothing.
    """
    too_long = [g for g in touches if len(g) > MAX_GLOB_CHARACTERS]
    usable = [g for g in touches if len(g) <= MAX_GLOB_CHARACTERS]
    if sum(len(g) - len(spelled_start(g)) for g in usable) > MAX_WILD_CHARACTERS:
        return touches
    return (*too_long, *(g for g in usable if covers_nothing(g)))


class Overlaps:
    """What some plans touch: who is in whose way, and of whom that cannot be told."""

    def __init__(self, touches: Mapping[str, tuple[str, ...]]):
        self._names = frozenset(touches)
        # Nobody knows what a plan changes that does not say so in globs that mean something.
        self._unknown = frozenset(n for n, globs in touches.items() if not globs or unusable(globs))
        known = {name: touches[name] for name in sorted(self._names - self._unknown)}
        self._overlaps = _overlaps(known)

    def overlaps(self, name: str) -> tuple[Overlap, ...]:
        """The others that can change the same files, by name."""
        found = self._overlaps.get(name, {})
        return tuple(found[other] for other in sorted(found))

    def cannot_tell(self, name: str) -> tuple[str, ...]:
        """The others of whom that is not known, because one of the two does not say enough."""
        others = self._names if name in self._unknown else self._unknown
        return tuple(sorted(others - {name}))

    def in_the_way(self, name: str) -> frozenset[str]:
        """With whom the plan may not run at the same time: what is not known is never safe."""
        others = self._names if name in self._unknown else self._unknown.union(self._overlaps[name])
        return others - {name}

    def groups(self, names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """The names in groups that may run together: each in the first that it can join."""
        groups: list[dict[str, None]] = []
        for name in names:
            others = self.in_the_way(name)
            group = next((g for g in groups if others.isdisjoint(g)), None)
            if group is None:
                groups.append({name: None})
            else:
                group[name] = None
        return tuple(map(tuple, groups))


def _overlaps(touches: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, Overlap]]:
    """For each plan the others, with the first two globs that meet."""
    plans_of: dict[str, list[str]] = {}
    for plan, globs in touches.items():
        for glob in dict.fromkeys(globs):
            plans_of.setdefault(glob, []).append(plan)
    found: dict[str, dict[str, Overlap]] = {plan: {} for plan in touches}
    shared = ((glob, glob) for glob, plans in plans_of.items() if len(plans) > 1)
    for one, other in chain(shared, _comparable(plans_of)):
        path = common_path(one, other)
        if path is None:
            continue
        for plan in plans_of[one]:
            for another in plans_of[other]:
                if plan != another and another not in found[plan]:
                    found[plan][another] = Overlap(another, one, other, path)
                    found[another][plan] = Overlap(plan, other, one, path)
    return found


def _comparable(globs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each two of which one spells the beginning of the other: no others can meet."""
    ordered = sorted(globs, key=spelled_start)
    for place, glob in enumerate(ordered):
        for other in ordered[place + 1 :]:
            # What begins alike stands together, so the first that does not is the last to see.
            if not spelled_start(other).startswith(spelled_start(glob)):
                break
            yield glob, other
