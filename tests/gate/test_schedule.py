"""The order of a run's steps, with each `for_each` step replaced by one step per item."""

from __future__ import annotations

from signoff.gate.state import Schedule
from tests.gate.scribe import plan_of, step


def ids(schedule: Schedule) -> list[str]:
    return [s.id for s in schedule.steps]


def test_the_steps_stand_in_the_order_of_the_plan() -> None:
    schedule = Schedule(plan_of(step("2"), step("1")))
    assert ids(schedule) == ["2", "1"]
    assert (schedule.position("2"), schedule.position("1")) == (0, 1)
    assert schedule.step("1").title == "title 1"


def test_items_take_the_place_of_their_template_and_later_steps_move_down() -> None:
    schedule = Schedule(plan_of(step("1"), step("2", for_each="ls"), step("3")))
    schedule.expand("2", ("a", "b"))
    assert ids(schedule) == ["1", "2[a]", "2[b]", "3"]
    assert schedule.position("3") == 3
    assert not schedule.has("2")
    assert schedule.has("2[b]")
    assert schedule.step("2[b]").item == "b"
    assert schedule.parents() == {"2": ("2[a]", "2[b]")}


def test_two_lists_expand_independently() -> None:
    schedule = Schedule(plan_of(step("1", for_each="ls"), step("2", for_each="ls")))
    schedule.expand("2", ("x",))
    schedule.expand("1", ("a", "b"))
    assert ids(schedule) == ["1[a]", "1[b]", "2[x]"]
    assert schedule.position("2[x]") == 2


def test_what_needed_the_template_needs_every_item() -> None:
    last = step("3", "1", "2")
    schedule = Schedule(plan_of(step("1"), step("2", for_each="ls"), last))
    assert schedule.needed(last) == ("1", "2")
    schedule.expand("2", ("a", "b"))
    assert schedule.needed(last) == ("1", "2[a]", "2[b]")


def test_items_need_what_their_template_needed() -> None:
    schedule = Schedule(plan_of(step("1", for_each="ls"), step("2", "1", for_each="ls")))
    schedule.expand("1", ("a",))
    schedule.expand("2", ("b",))
    assert schedule.needed(schedule.step("2[b]")) == ("1[a]",)


def test_the_plan_itself_is_not_changed_by_an_expansion() -> None:
    plan = plan_of(step("1", for_each="ls"))
    Schedule(plan).expand("1", ("a",))
    assert [s.id for s in plan.steps] == ["1"]
