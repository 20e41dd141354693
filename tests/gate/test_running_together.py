"""Which ready plans may run at the same time; what is not known is never assumed safe."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from signoff.domain.globs import Overlap, intersect
from signoff.gate.ready import Candidate, PlanStanding, PlanState, readiness
from tests.gate.test_readiness import S, meant, plan, startable, vaults

OCCUPYING = [S.IN_PROGRESS, S.INTERRUPTED, S.WAITING_FOR_PERSON]


def test_plans_that_touch_different_files_run_together() -> None:
    answer = readiness([plan("a"), plan("b"), plan("c")])
    assert answer.together == (("a", "b", "c"),)
    assert all(p.overlaps == () and p.cannot_tell == () for p in answer.plans)


def test_an_overlap_names_both_globs() -> None:
    answer = readiness(
        [plan("a", touches=("docs", "src/**/a*.py")), plan("b", touches=("lib", "src/x/ab.py"))]
    )
    assert answer.by_name["a"].overlaps == (Overlap("b", "src/**/a*.py", "src/x/ab.py"),)
    assert answer.by_name["b"].overlaps == (Overlap("a", "src/x/ab.py", "src/**/a*.py"),)
    assert answer.together == (("a",), ("b",))
    assert startable(answer) == ("a",)


def test_globs_that_begin_alike_are_compared() -> None:
    plans = [plan("a", touches=("src/?.py",)), plan("b", touches=("src/*.py",))]
    assert readiness(plans).together == (("a",), ("b",))
    plans = [plan("a", touches=("src/?.py",)), plan("b", touches=("src/*.md",))]
    assert readiness(plans).together == (("a", "b"),)


def test_plans_that_overlap_go_into_the_first_group_they_can_join() -> None:
    answer = readiness(
        [
            plan("a", touches=("src/**",)),
            plan("b", touches=("src/x",)),
            plan("c", touches=("docs",)),
            plan("d", touches=("src/y", "docs/d.md")),
        ]
    )
    assert answer.together == (("a", "c"), ("b", "d"))


@pytest.mark.parametrize("touches", [(), (".",), ("./",), ("",), ("/",), ("src/a", "../lib")])
def test_a_plan_that_does_not_say_what_it_touches_runs_alone(touches: tuple[str, ...]) -> None:
    """`.` looks like everything and covers nothing: nobody may slip through with it."""
    answer = readiness([plan("a"), plan("b", touches=touches), plan("c")])
    assert answer.together == (("a", "c"), ("b",))
    assert answer.by_name["b"].cannot_tell == ("a", "c")
    assert answer.by_name["a"].cannot_tell == ("b",)
    assert answer.by_name["b"].unusable_touches == tuple(t for t in touches if t != "src/a")


def test_two_plans_that_say_nothing_do_not_run_together() -> None:
    answer = readiness([plan("a", touches=()), plan("b", touches=())])
    assert answer.together == (("a",), ("b",))


def test_many_plain_paths_are_no_reason_to_give_up() -> None:
    many = tuple(f"src/module_{i}/file_{i}.py" for i in range(500))
    answer = readiness([plan("a", touches=many), plan("b", touches=("src/module_7/**",))])
    assert answer.by_name["a"].unusable_touches == ()
    assert [o.theirs for o in answer.by_name["b"].overlaps] == ["src/module_7/file_7.py"]


@pytest.mark.parametrize("standing", OCCUPYING)
def test_a_plan_that_was_begun_occupies_what_it_touches(standing: PlanStanding) -> None:
    answer = readiness(
        [
            plan("busy", standing=standing, touches=("src/**",)),
            plan("same", touches=("src/x",), priority="high"),
            plan("other", touches=("docs",)),
        ]
    )
    assert answer.by_name["same"].state is PlanState.READY
    assert answer.by_name["same"].kept_back_by == ("busy",)
    assert [o.other for o in answer.by_name["same"].overlaps] == ["busy"]
    assert "same" not in sum(answer.together, ())
    assert "other" in startable(answer)


@pytest.mark.parametrize("standing", OCCUPYING)
def test_nothing_new_starts_beside_a_begun_plan_that_does_not_say_what_it_touches(
    standing: PlanStanding,
) -> None:
    answer = readiness([plan("busy", standing=standing, touches=()), plan("a")])
    assert answer.by_name["a"].cannot_tell == ("busy",)
    assert answer.by_name["a"].kept_back_by == ("busy",)
    assert startable(answer) == (("busy",) if standing is S.INTERRUPTED else ())


def test_a_claimed_plan_occupies_what_it_touches_before_it_begins() -> None:
    answer = readiness(
        [plan("a", holder="anna", touches=("src",)), plan("b", touches=("src/b.py",))]
    )
    assert answer.by_name["b"].kept_back_by == ("a",)


def test_two_interrupted_plans_do_not_wait_for_each_other() -> None:
    answer = readiness(
        [
            plan("a", standing=S.INTERRUPTED, touches=("src",)),
            plan("b", standing=S.INTERRUPTED, touches=("src/b",)),
            plan("c", standing=S.INTERRUPTED, touches=()),
        ]
    )
    assert answer.together == (("a",), ("b",), ("c",))
    assert startable(answer) == ("a",)


def test_an_interrupted_plan_does_not_keep_back_what_it_waits_for() -> None:
    answer = readiness(
        [
            plan("a", "b", standing=S.INTERRUPTED, touches=("src",)),
            plan("b", "c", touches=("src/b",)),
            plan("c", touches=("src/c",)),
            plan("d", touches=("src/d",)),
        ]
    )
    assert startable(answer) == ("c",)
    assert answer.by_name["d"].kept_back_by == ("a",)


def test_interrupted_plans_let_through_what_any_of_them_waits_for() -> None:
    """Each would keep back what the other waits for, and nothing would ever go on."""
    one, other = (plan(a, b, standing=S.INTERRUPTED, touches=()) for a, b in ("ac", "bd"))
    answer = readiness([one, other, plan("c"), plan("d"), plan("e")])
    assert startable(answer) == ("c", "d")
    assert answer.by_name["e"].kept_back_by == ("a", "b")


def test_an_unapproved_plan_takes_no_place_from_an_approved_one() -> None:
    answer = readiness(
        [
            plan("a", standing=S.NOT_APPROVED, priority="high", touches=("src",)),
            plan("b", priority="low", touches=("src/b",)),
        ]
    )
    assert startable(answer) == ("b",)
    assert answer.together == (("b",), ("a",))


def test_what_is_done_or_failed_is_in_nobodys_way() -> None:
    for standing in (S.SIGNED_OFF, S.SIGNED_OFF_UNMERGED, S.FAILED, S.INVALID):
        answer = readiness([plan("a", standing=standing, touches=()), plan("b")])
        assert startable(answer) == ("b",)
        assert answer.by_name["b"].cannot_tell == ()


VOID = "."


def may_run_together(one: Candidate, other: Candidate) -> bool:
    if not one.touches or not other.touches or VOID in (*one.touches, *other.touches):
        return False
    return not any(intersect(a, b) for a in one.touches for b in other.touches)


def begun(candidate: Candidate) -> bool:
    done = candidate.standing in (S.SIGNED_OFF, S.SIGNED_OFF_UNMERGED)
    return candidate.standing in OCCUPYING or (candidate.holder != "" and not done)


@settings(max_examples=300)
@given(vaults())
def test_no_group_holds_two_plans_that_could_meet(vault: list[Candidate]) -> None:
    plans = {p.name: p for p in vault}
    answer = readiness(vault)
    ready = {p.name for p in answer.plans if p.state is PlanState.READY}
    grouped = [name for group in answer.together for name in group]
    assert len(set(grouped)) == len(grouped)
    assert set(grouped) == {n for n in ready if not answer.by_name[n].kept_back_by}
    for group in answer.together:
        assert all(may_run_together(plans[a], plans[b]) for a in group for b in group if a != b)
    running = [p for p in vault if begun(p) and p.standing is not S.INTERRUPTED]
    for name in grouped:
        assert all(may_run_together(plans[name], other) for other in running if other.name != name)


@settings(max_examples=300)
@given(vaults())
def test_no_plan_is_left_out_of_a_group_that_it_could_join(vault: list[Candidate]) -> None:
    plans = {p.name: p for p in vault}
    groups = readiness(vault).together
    for place, group in enumerate(groups):
        for name in (n for later in groups[place + 1 :] for n in later):
            assert not all(may_run_together(plans[name], plans[other]) for other in group)


@settings(max_examples=300)
@given(vaults())
def test_each_two_that_are_there_overlap_or_do_not_or_nobody_can_tell(
    vault: list[Candidate],
) -> None:
    plans = {p.name: p for p in vault}
    answer = readiness(vault)
    there = {p.name for p in answer.plans if p.state is PlanState.READY or begun(plans[p.name])}
    for one in answer.plans:
        if one.state is not PlanState.READY:
            assert not (one.overlaps or one.cannot_tell or one.kept_back_by)
            continue
        met = {o.other for o in one.overlaps}
        assert met.isdisjoint(one.cannot_tell)
        for other in there - {one.name}:
            together = may_run_together(plans[one.name], plans[other])
            assert together == (other not in met and other not in one.cannot_tell)
        for o in one.overlaps:
            assert o.mine in plans[one.name].touches
            assert o.theirs in plans[o.other].touches
            assert intersect(o.mine, o.theirs)


def waits_for(plans: dict[str, Candidate], name: str) -> set[str]:
    seen: set[str] = set()
    todo = [name]
    while todo:
        here = plans.get(todo.pop())
        new = {meant(n) for n in here.depends_on} - seen if here else set()
        seen |= new
        todo += new
    return seen


@settings(max_examples=500)
@given(vaults(standings=[S.INTERRUPTED, S.INTERRUPTED, S.APPROVED, S.SIGNED_OFF], holders=[""]))
def test_where_nobody_works_plans_never_wait_for_each_other_in_turn(
    vault: list[Candidate],
) -> None:
    answer = readiness(vault)
    plans = {p.name: p for p in vault}
    ready = {p.name for p in answer.plans if p.state is PlanState.READY}
    if ready and not startable(answer):
        stuck = [p for p in vault if p.standing is S.INTERRUPTED]
        assert stuck
        assert all(waits_for(plans, p.name).isdisjoint(ready) for p in stuck)
        assert not any(p.resumes for p in answer.plans)
