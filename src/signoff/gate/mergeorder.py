"""In which order finished plans are merged: what others need first, then small before large."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from signoff.gate.dependencies import in_order, needed_plans, rings


@dataclass(frozen=True)
class Finished:
    """A plan that was signed off on its own branch; `diff_size` is its changed lines."""

    name: str
    depends_on: tuple[str, ...] = ()
    diff_size: int = 0


@dataclass(frozen=True)
class HeldBack:
    """A finished plan that cannot be merged yet, and the plans that must be merged before it."""

    name: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class MergeOrder:
    """Every finished plan that is not merged: in the order, held back, or on a cycle.

    A cycle is named in full, each plan in front of one that it needs: `a`, `b`, `a`.
    """

    order: tuple[str, ...]
    held_back: tuple[HeldBack, ...]
    cycles: tuple[tuple[str, ...], ...]


def merge_order(finished: Sequence[Finished], merged: Collection[str] = ()) -> MergeOrder:
    """Order what is finished; `merged` are the names of the plans that are in the base already.

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
    done = set(order)
    cycles = rings(needs)
    held_back = tuple(
        HeldBack(name, tuple(n for n in needs[name] if n not in done))
        for name in sorted(needs)
        if name not in done and name not in cycles
    )
    return MergeOrder(tuple(order), held_back, tuple(sorted(set(cycles.values()))))
