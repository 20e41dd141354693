"""In which order finished plans are merged."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.gate.dependencies import Finished, HeldBack, MergeOrder, merge_order


def test_what_others_need_comes_first_then_small_ones_then_by_name() -> None:
    found = merge_order(
        [
            Finished("large", (), 500),
            Finished("needed", (), 900),
            Finished("small", ("needed",), 1),
            Finished("b", (), 10),
            Finished("a", (), 10),
        ]
    )
    assert found == MergeOrder(("a", "b", "large", "needed", "small"), (), ())


def test_a_small_plan_comes_as_soon_as_what_it_needs_has_come() -> None:
    found = merge_order([Finished("a", (), 1), Finished("b", ("a",), 2), Finished("c", (), 50)])
    assert found.order == ("a", "b", "c")


def test_what_is_merged_already_is_waited_for_by_nobody() -> None:
    plans = [Finished("b", ("PLAN-a.md", "PLAN")), Finished("a")]
    assert merge_order(plans, {"a", ""}) == MergeOrder(("b",), (), ())


def test_a_plan_is_held_back_by_one_that_is_not_finished_and_holds_back_others() -> None:
    found = merge_order(
        [Finished("a", ("open", "b")), Finished("b"), Finished("c", ("a",)), Finished("d", ("b",))]
    )
    assert found.order == ("b", "d")
    assert found.held_back == (HeldBack("a", ("open",)), HeldBack("c", ("a",)))
    assert found.cycles == ()


def test_a_cycle_is_named_in_order_and_the_rest_is_still_ordered() -> None:
    found = merge_order(
        [
            Finished("c", ("a",)),
            Finished("b", ("c",)),
            Finished("a", ("b",)),
            Finished("me", ("me.md",)),
            Finished("after", ("b",)),
            Finished("apart"),
        ]
    )
    assert found.cycles == (("a", "b", "c", "a"), ("me", "me"))
    assert found.order == ("apart",)
    assert found.held_back == (HeldBack("after", ("b",)),)


def test_an_empty_name_means_no_plan_and_not_the_unnamed_one() -> None:
    assert merge_order([Finished("a", ("",))], {""}).held_back == (HeldBack("a", (" ",)),)
    assert merge_order([Finished("a", ("PLAN",)), Finished("")]).order == ("", "a")


def test_nothing_to_merge_is_an_answer() -> None:
    assert merge_order([]) == MergeOrder((), (), ())


def test_long_chains_and_rings_are_no_problem() -> None:
    chain = [Finished(f"p{i}", (f"p{i + 1}",)) for i in range(3000)]
    found = merge_order(chain, {"p3000"})
    assert found.order[0] == "p2999"
    assert found.order[-1] == "p0"
    assert len(merge_order([*chain, Finished("p3000", ("p0",))]).cycles[0]) == 3002


NAMES = "abcde"


@st.composite
def sets_of_plans(draw: st.DrawFn) -> list[Finished]:
    chosen = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    needs = st.lists(st.sampled_from([*NAMES, "x"]), max_size=2)
    return [Finished(n, tuple(draw(needs)), draw(st.integers(0, 2))) for n in chosen]


merged_plans = st.sets(st.sampled_from(["x", *NAMES]), max_size=2)


@settings(max_examples=300)
@given(sets_of_plans(), merged_plans)
def test_every_plan_is_in_the_order_held_back_or_on_a_cycle(
    plans: list[Finished], merged: set[str]
) -> None:
    found = merge_order(plans, merged)
    on_cycles = [n for ring in found.cycles for n in ring[1:]]
    held = [h.name for h in found.held_back]
    places = [*found.order, *held, *set(on_cycles)]
    assert sorted(places) == sorted(p.name for p in plans if p.name not in merged)
    assert all(h.needs for h in found.held_back)
    needs = {p.name: p.depends_on for p in plans}
    for ring in found.cycles:
        assert ring[0] == ring[-1] == min(ring)
        assert all(b in needs[a] for a, b in itertools.pairwise(ring))


@settings(max_examples=300)
@given(sets_of_plans(), merged_plans)
def test_at_each_place_stands_the_smallest_plan_that_is_free(
    plans: list[Finished], merged: set[str]
) -> None:
    """Against picking by hand, one after the other."""
    left = {p.name: p for p in plans if p.name not in merged}
    present, expected = set(merged), []
    while free := [p for p in left.values() if set(p.depends_on) <= present]:
        first = min(free, key=lambda p: (p.diff_size, p.name))
        expected.append(first.name)
        present.add(first.name)
        del left[first.name]
    assert merge_order(plans, merged).order == tuple(expected)


@given(sets_of_plans(), merged_plans)
def test_the_order_of_finding_says_nothing(plans: list[Finished], merged: set[str]) -> None:
    assert merge_order(plans, merged) == merge_order(plans[::-1], merged)
