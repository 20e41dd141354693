"""Which plan needs which: names as plans write them, an order that respects them, and rings."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush

from signoff.domain.names import UNNAMED_PLAN, plan_slug, shown_name

# Each plan with those it needs; a name that is no key of the graph is nobody's business here.
Graph = Mapping[str, tuple[str, ...]]
# Empty would mean the unnamed plan, and a lone space can be no plan's name.
_BLANK = " "


def needed_plans(depends_on: Iterable[str]) -> tuple[str, ...]:
    """The names of the plans meant, each once; what can be no plan's name stays as it was written.

    Nobody carries such a name, so it dangles and is shown, instead of meaning some other plan.
    """
    return tuple(dict.fromkeys(map(_meant, depends_on)))


def _meant(written: str) -> str:
    if written in (UNNAMED_PLAN, shown_name("")):
        return ""
    try:
        return plan_slug(written)
    except ValueError:
        return written or _BLANK


def in_order(graph: Graph, rank: Callable[[str], int]) -> list[str]:
    """Every plan behind those it needs; among the free ones lowest rank, then name, comes first.

    Plans on a ring, and those that need them, can never come: they are left out.
    """
    missing = {name: sum(n in graph for n in set(needs)) for name, needs in graph.items()}
    needed_by = _turned(graph)
    free = [(rank(name), name) for name, count in missing.items() if count == 0]
    heapify(free)
    out: list[str] = []
    while free:
        name = heappop(free)[1]
        out.append(name)
        for other in needed_by[name]:
            missing[other] -= 1
            if missing[other] == 0:
                heappush(free, (rank(other), other))
    return out


def depths(graph: Graph) -> dict[str, int]:
    """How long the longest chain of needs below each plan is; nothing for plans behind a ring."""
    found: dict[str, int] = {}
    for name in in_order(graph, lambda _: 0):
        found[name] = max((found[n] + 1 for n in graph[name] if n in graph), default=0)
    return found


def all_needs(graph: Graph, names: Iterable[str]) -> set[str]:
    """Whatever these plans need, and what that needs, and so on."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        new = set(graph.get(waiting.pop(), ())) - found
        found |= new
        waiting.extend(new)
    return found


def rings(graph: Graph) -> dict[str, tuple[str, ...]]:
    """For each plan that needs itself in the end, a way round on which it lies: `a`, `b`, `a`.

    Each plan points at the one it needs; the first of them by name comes first and last.
    """
    stuck = _without(graph, in_order(graph, lambda _: 0))
    behind = _turned(stuck)
    stuck = _without(stuck, in_order(behind, lambda _: 0))
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(stuck):
        if name not in found and (ring := _way_round(stuck, name)):
            first = ring.index(min(ring))
            turned = (*ring[first:], *ring[:first], ring[first])
            found |= {member: turned for member in ring if member not in found}
    return found


def _without(graph: Graph, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    left = graph.keys() - set(names)
    return {name: tuple(n for n in graph[name] if n in left) for name in sorted(left)}


def _turned(graph: Graph) -> dict[str, tuple[str, ...]]:
    """Each plan with those that need it."""
    out: dict[str, list[str]] = {name: [] for name in graph}
    for name, needs in graph.items():
        for needed in set(needs):
            if needed in out:
                out[needed].append(name)
    return {name: tuple(others) for name, others in out.items()}


def _way_round(graph: Graph, start: str) -> tuple[str, ...]:
    """The plans on a shortest way from this one back to it; empty if there is none."""
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for needed in sorted(graph[name]):
            if needed == start:
                return _way_back(came_from, name)
            if needed not in came_from:
                came_from[needed] = name
                waiting.append(needed)
    return ()


def _way_back(came_from: dict[str, str], last: str) -> tuple[str, ...]:
    way = [last]
    while way[-1] in came_from:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))
