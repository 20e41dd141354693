"""Which plans may be started now, and why the others may not."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.gate.ready import (
    Candidate,
    NotReadyReason,
    PlanReadiness,
    PlanStanding,
    PlanState,
    Readiness,
    ReasonKind,
    readiness,
)

S = PlanStanding
DONE = (S.SIGNED_OFF, S.SIGNED_OFF_UNMERGED)


def plan(name: str, *depends_on: str, standing: S = S.APPROVED, **rest: Any) -> Candidate:
    """A plan that touches files of its own, unless something else is said."""
    rest.setdefault("touches", (f"src/{name or 'unnamed'}/**",))
    return Candidate(name, standing, depends_on, **rest)


def startable(answer: Readiness) -> tuple[str, ...]:
    """The plans that may be started or resumed now, all at once, the most urgent first."""
    first = answer.together[0] if answer.together else ()
    return tuple(name for name in first if answer.by_name[name].approved)


def look(*plans: Candidate) -> dict[str, PlanReadiness]:
    return readiness(plans).by_name


def words(answer: PlanReadiness) -> list[str]:
    return [str(reason) for reason in answer.reasons]


def test_a_plan_that_waits_for_nobody_is_ready() -> None:
    found = look(plan("a"))["a"]
    assert (found.state, found.reasons, found.approved) == (PlanState.READY, (), True)
    assert not found.resumes


def test_an_approval_is_still_needed_to_start_a_ready_plan() -> None:
    answer = readiness([plan("a", standing=S.NOT_APPROVED), plan("b")])
    assert answer.by_name["a"].state is PlanState.READY
    assert not answer.by_name["a"].approved
    assert startable(answer) == ("b",)


@pytest.mark.parametrize(
    ("standing", "state"),
    [
        (S.NOT_APPROVED, PlanState.READY),
        (S.APPROVED, PlanState.READY),
        (S.INTERRUPTED, PlanState.READY),
        (S.IN_PROGRESS, PlanState.RUNNING),
        (S.WAITING_FOR_PERSON, PlanState.WAITING),
        (S.FAILED, PlanState.FAILED),
        (S.INVALID, PlanState.BLOCKED),
        (S.SIGNED_OFF, PlanState.DONE),
        (S.SIGNED_OFF_UNMERGED, PlanState.DONE),
    ],
)
def test_only_a_plan_that_is_signed_off_and_merged_frees_its_dependents(
    standing: S, state: PlanState
) -> None:
    found = look(plan("a", standing=standing), plan("b", "a"))
    assert found["a"].state is state
    free = standing is S.SIGNED_OFF
    assert found["b"].state is (PlanState.READY if free else PlanState.WAITING)
    assert [reason.plans for reason in found["b"].reasons] == ([] if free else [("a",)])


def test_each_reason_to_wait_is_named() -> None:
    found = look(
        plan("a"),
        plan("b", standing=S.SIGNED_OFF_UNMERGED),
        plan("c", "a", "b", standing=S.WAITING_FOR_PERSON),
    )
    assert words(found["c"]) == [
        "waits for a person",
        "waits for `a`",
        "waits for `b` to be merged",
    ]
    assert words(found["b"]) == ["waits for `b` to be merged"]


def test_a_dependency_that_is_no_plan_blocks_and_is_named() -> None:
    found = look(plan("a", "ghost"), plan("b", "a"))
    assert found["a"].state is PlanState.BLOCKED
    assert found["a"].reasons == (NotReadyReason(ReasonKind.DANGLING, ("ghost",)),)
    assert words(found["a"]) == ["depends on `ghost`, and there is no such plan"]
    assert (found["b"].state, words(found["b"])) == (PlanState.WAITING, ["waits for `a`"])


def test_a_cycle_is_named_in_full_order_and_who_needs_it_waits() -> None:
    found = look(plan("c", "a"), plan("a", "b"), plan("b", "c"), plan("d", "b"), plan("e", "d"))
    for name in "abc":
        assert found[name].state is PlanState.BLOCKED
        assert words(found[name]) == ["depends on itself: a → b → c → a"]
    assert (found["d"].state, words(found["d"])) == (PlanState.WAITING, ["waits for `b`"])
    assert (found["e"].state, words(found["e"])) == (PlanState.WAITING, ["waits for `d`"])


def test_a_plan_that_needs_itself_is_a_cycle() -> None:
    found = look(plan("a", "PLAN-a.md"), plan("", "PLAN"))
    assert words(found["a"]) == ["depends on itself: a → a"]
    assert words(found[""]) == ["depends on itself: PLAN → PLAN"]


def test_a_plan_between_two_cycles_is_on_neither() -> None:
    found = look(plan("a", "a"), plan("m", "a"), plan("z", "z", "m"))
    assert found["m"].state is PlanState.WAITING
    assert found["m"].reasons == (NotReadyReason(ReasonKind.PLAN, ("a",)),)
    assert found["z"].reasons == (
        NotReadyReason(ReasonKind.CYCLE, ("z", "z")),
        NotReadyReason(ReasonKind.PLAN, ("m",)),
    )


def test_what_is_signed_off_and_merged_closes_no_cycle() -> None:
    """Somebody could edit the file of a finished plan to stop all others."""
    found = look(plan("a", "b"), plan("b", "a", standing=S.SIGNED_OFF))
    assert found["a"].state is PlanState.READY
    found = look(plan("a", "b"), plan("b", "a", standing=S.SIGNED_OFF_UNMERGED))
    assert (found["a"].state, found["b"].state) == (PlanState.BLOCKED, PlanState.DONE)


@pytest.mark.parametrize("written", ["auth", "PLAN-auth", "auth.md", "PLAN-auth.md"])
def test_a_dependency_is_meant_however_its_name_is_written(written: str) -> None:
    found = look(plan("auth"), plan("b", written, "auth"))
    assert found["b"].reasons == (NotReadyReason(ReasonKind.PLAN, ("auth",)),)


@pytest.mark.parametrize("written", ["PLAN", "PLAN.md"])
def test_the_unnamed_plan_is_called_plan(written: str) -> None:
    assert words(look(plan(""), plan("b", written))["b"]) == ["waits for `PLAN`"]


@pytest.mark.parametrize(
    "written", ["", " ", "../auth", "Auth", "auth ", "-auth", "plan", "a\u202eb"]
)
def test_a_name_that_nobody_can_have_dangles_instead_of_meaning_another(written: str) -> None:
    done = [plan(name, standing=S.SIGNED_OFF) for name in ("", "auth", "ab")]
    found = look(*done, plan("b", written))["b"]
    assert found.state is PlanState.BLOCKED
    assert [reason.kind for reason in found.reasons] == [ReasonKind.DANGLING]


def test_who_holds_a_plan_is_told() -> None:
    found = look(plan("a", standing=S.IN_PROGRESS, holder="anna since 12:00"))["a"]
    assert (found.state, words(found)) == (PlanState.RUNNING, ["held by anna since 12:00"])


@pytest.mark.parametrize(
    "standing", [S.APPROVED, S.NOT_APPROVED, S.INTERRUPTED, S.FAILED, S.INVALID]
)
def test_a_claimed_plan_is_nobody_elses_to_start(standing: S) -> None:
    answer = readiness([plan("a", standing=standing, holder="anna")])
    assert answer.by_name["a"].state is PlanState.RUNNING
    assert startable(answer) == ()


def test_a_claim_left_on_a_finished_plan_changes_nothing() -> None:
    found = look(plan("a", standing=S.SIGNED_OFF, holder="anna"), plan("b", touches=("src/**",)))
    assert found["a"].state is PlanState.DONE
    assert found["b"].kept_back_by == ()


def test_an_interrupted_plan_is_resumed() -> None:
    answer = readiness([plan("a", standing=S.INTERRUPTED)])
    assert answer.by_name["a"].resumes
    assert answer.by_name["a"].approved
    assert startable(answer) == ("a",)


def test_an_interrupted_plan_waits_for_a_dependency_that_it_was_given_since() -> None:
    found = look(plan("a", "b", standing=S.INTERRUPTED), plan("b"))["a"]
    assert (found.state, found.resumes) == (PlanState.WAITING, False)


def test_urgent_plans_come_first_then_shallow_ones_then_by_name() -> None:
    answer = readiness(
        [
            plan("base", standing=S.SIGNED_OFF),
            plan("a-deep", "base"),
            plan("b"),
            plan("c"),
            plan("odd", priority="whatever"),
            plan("z-high", priority=" High "),
            plan("a-low", priority="low"),
            plan("0-unapproved", standing=S.NOT_APPROVED, priority="high"),
        ]
    )
    approved = ("z-high", "b", "c", "odd", "a-deep", "a-low")
    assert answer.together == ((*approved, "0-unapproved"),)
    assert startable(answer) == approved


def test_two_plans_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same name"):
        readiness([plan("a"), plan("a")])


def test_no_plans_are_no_problem() -> None:
    assert readiness([]) == Readiness((), ())
    assert startable(readiness([])) == ()


def test_the_order_in_which_plans_are_found_says_nothing() -> None:
    plans = [plan("c", "a"), plan("b", touches=("**",)), plan("a"), plan("d", touches=())]
    assert readiness(plans) == readiness(plans[::-1])


names = st.sampled_from(["", "a", "b", "c", "d", "e", "f"])


@st.composite
def vaults(
    draw: st.DrawFn, standings: Sequence[S] = tuple(S), holders: Sequence[str] = ("", "", "anna")
) -> list[Candidate]:
    chosen = draw(st.lists(names, unique=True, max_size=7))
    needed = st.sampled_from(["PLAN", "a", "b", "c", "PLAN-d.md", "e", "f", "ghost"])
    globs = st.sampled_from(
        ["src/**", "src/a", "src/*/x", "src/?", "docs/*.md", "**/x", ".", "lib/?"]
    )
    return [
        Candidate(
            name,
            draw(st.sampled_from(standings)),
            tuple(draw(st.lists(needed, max_size=2))),
            tuple(draw(st.lists(globs, max_size=2))),
            draw(st.sampled_from(["high", "normal", "low", ""])),
            draw(st.sampled_from(holders)),
        )
        for name in chosen
    ]


def meant(written: str) -> str:
    return "" if written == "PLAN" else written.removesuffix(".md").removeprefix("PLAN-")


def comes_back(plans: dict[str, Candidate], name: str) -> bool:
    """By walking on until nothing new is found."""
    seen: set[str] = set()
    todo = {name}
    while todo:
        here = todo.pop()
        if here in plans and plans[here].standing is not S.SIGNED_OFF:
            new = {meant(n) for n in plans[here].depends_on} - seen
            seen |= new
            todo |= new
    return name in seen


def expected_state(plans: dict[str, Candidate], name: str) -> PlanState:
    me = plans[name]
    others = [plans.get(meant(n)) for n in me.depends_on]
    if me.standing in DONE:
        return PlanState.DONE
    if me.standing is S.IN_PROGRESS or (me.holder and me.standing is not S.WAITING_FOR_PERSON):
        return PlanState.RUNNING
    if me.standing is S.FAILED:
        return PlanState.FAILED
    if None in others or me.standing is S.INVALID or comes_back(plans, name):
        return PlanState.BLOCKED
    unmet = [o for o in others if o is not None and o.standing is not S.SIGNED_OFF]
    return PlanState.WAITING if unmet or me.standing is S.WAITING_FOR_PERSON else PlanState.READY


@settings(max_examples=300)
@given(vaults())
def test_the_state_is_what_walking_the_dependencies_says(vault: list[Candidate]) -> None:
    plans = {p.name: p for p in vault}
    for name, answer in look(*vault).items():
        assert answer.state is expected_state(plans, name), name


@settings(max_examples=300)
@given(vaults())
def test_whoever_is_not_ready_can_say_why(vault: list[Candidate]) -> None:
    for answer in readiness(vault).plans:
        settled = answer.state in (PlanState.READY, PlanState.DONE, PlanState.FAILED)
        assert settled or answer.reasons
        assert all(words(answer))
        for reason in answer.reasons:
            if reason.kind is ReasonKind.CYCLE:
                check_ring({p.name: p for p in vault}, answer.name, reason.plans)


def check_ring(plans: dict[str, Candidate], name: str, ring: tuple[str, ...]) -> None:
    assert name in ring
    assert ring[0] == ring[-1] == min(ring)
    assert len(set(ring)) == len(ring) - 1
    for one, other in itertools.pairwise(ring):
        assert other in {meant(n) for n in plans[one].depends_on}


def test_a_thousand_plans_are_looked_at_without_recursion_and_soon() -> None:
    chain = [plan(f"c{i}", f"c{i + 1}") for i in range(3000)]
    ring = [plan(f"r{i}", f"r{(i + 1) % 1000}") for i in range(1000)]
    apart = [
        plan(f"p{i}", touches=(f"src/p{i}/**", f"tests/*/p{i}_*.py", f"docs/p{i}.md"))
        for i in range(1000)
    ]
    started = time.monotonic()
    answer = readiness([*chain, *ring, *apart])
    assert time.monotonic() - started < 60
    assert answer.by_name["c2999"].state is PlanState.BLOCKED
    assert len(answer.by_name["r7"].reasons[0].plans) == 1001
    assert len(startable(answer)) == 1000
