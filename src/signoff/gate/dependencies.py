"""Dependencies between plans: names as plans write them, and an order that respects them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

from msgspec import Struct

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
    sorter = TopologicalSorter({n: [m for m in graph[n] if m in graph] for n in graph})
    with suppress(CycleError):  # what lies on no ring still comes
        sorter.prepare()
    free: list[tuple[int, str]] = []
    out: list[str] = []
    while True:
        for name in sorter.get_ready():
            heappush(free, (rank(name), name))
        if not free:
            return out
        out.append(heappop(free)[1])
        sorter.done(out[-1])


def depths(graph: Graph) -> dict[str, int]:
    """Length of the longest chain of needs below each plan; nothing for plans behind a ring."""
    found: dict[str, int] = {}
    for name in in_order(graph, lambda _: 0):
        found[name] = max((found[n] + 1 for n in graph[name] if n in graph), default=0)
    return found


def all_needs(graph: Graph, names: Iterable[str]) -> dict[str, str]:
    """Every plan that these need, directly or not, each with one plan that needs it."""
    found: dict[str, str] = {}
    waiting = list(names)
    for name in waiting:  # grows meanwhile: the nearest come first
        for needed in sorted(graph.get(name, ())):
            if needed not in found:
                found[needed] = name
                waiting.append(needed)
    return found


def rings(graph: Graph) -> dict[str, tuple[str, ...]]:
    """A ring for each plan that needs itself in the end: `a`, `b`, `a`.

    Each plan points at the one it needs; the first of them by name comes first and last.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(_between_rings(graph)):
        needed_by = all_needs(graph, [name]) if name not in found else {}
        if name not in needed_by:
            continue
        ring = [needed_by[name]]
        while ring[-1] != name:
            ring.append(needed_by[ring[-1]])
        ring = [*reversed(ring)]
        first = ring.index(min(ring))
        turned = (*ring[first:], *ring[:first], ring[first])
        found |= {member: turned for member in ring if member not in found}
    return found


def _between_rings(graph: Graph) -> set[str]:
    """The plans that need a ring and are needed by one: few, however long the chains behind are."""
    stuck = graph.keys() - set(in_order(graph, lambda _: 0))
    needed_by: dict[str, tuple[str, ...]] = dict.fromkeys(stuck, ())
    for name in stuck:
        for needed in stuck.intersection(graph[name]):
            needed_by[needed] = (*needed_by[needed], name)
    return stuck - set(in_order(needed_by, lambda _: 0))


class Finished(Struct, frozen=True):
    """A plan that was signed off on its own branch; `diff_size` is its changed lines."""

    name: str
    depends_on: tuple[str, ...] = ()
    diff_size: int = 0


class HeldBack(Struct, frozen=True):
    """A finished plan that cannot be merged yet, and the plans that must be merged before it."""

    name: str
    needs: tuple[str, ...]


class MergeOrder(Struct, frozen=True):
    """Every finished plan that is not merged: in the order, held back, or on a cycle.

    A cycle is named in full, each plan in front of one that it needs: `a`, `b`, `a`.
    """

    order: tuple[str, ...]
    held_back: tuple[HeldBack, ...]
    cycles: tuple[tuple[str, ...], ...]


def merge_order(finished: Sequence[Finished], merged: Collection[str] = ()) -> MergeOrder:
    """Order plans: needed ones first, then small before large; `merged` ones are in the base.

    A plan that needs one which is neither is held back, and so is whoever needs that plan.
    """
    sizes = {plan.name: plan.diff_size for plan in finished if plan.name not in merged}
    needs = {
        plan.name: tuple(n for n in needed_plans(plan.depends_on) if n not in merged)
        for plan in finished
        if plan.name in sizes
    }
    # A plan that nobody finished is given a need that never comes, so it holds back its dependents.
    absent = {n: (n,) for others in needs.values() for n in others if n not in needs}
    order = in_order({**needs, **absent}, lambda name: sizes.get(name, 0))
    cycles = rings(needs)
    held_back = tuple(
        HeldBack(name, tuple(n for n in needs[name] if n not in order))
        for name in sorted(needs.keys() - set(order) - cycles.keys())
    )
    return MergeOrder(tuple(order), held_back, tuple(sorted(set(cycles.values()))))
