"""Whatever agents, contracts, people and crashes do, a run ends or waits for a named question."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from signoff.domain.ledger import Cause, Choice, Kind, Outcome
from signoff.domain.plan import Budget, Effects, OnFail, Plan, RedFirst, Then
from signoff.gate.actions import Finish, Wait
from signoff.gate.gate import Gate, evaluate
from signoff.settings.policy import HeldBeforeRule, Policy
from signoff.settings.roles import HUMAN_ROLE
from tests.gate.acts import plans
from tests.gate.oracle import Oracle
from tests.gate.scribe import EARLIER_RUN, RUN, contract, plan_of, post, step
from tests.gate.simulation import Simulation, World


@st.composite
def missions(draw: st.DrawFn) -> Plan:
    """Plans with every policy, some steps for people, and perhaps a budget."""
    plan = draw(plans())
    steps = tuple(
        replace(
            each,
            target=draw(st.sampled_from(["coder", "coder", HUMAN_ROLE])),
            on_fail=OnFail(draw(st.integers(0, 2)), draw(st.sampled_from(list(Then)))),
        )
        for each in plan.steps
    )
    budget = Budget(tokens=draw(st.none() | st.integers(1, 100)))
    return replace(plan, steps=steps, budget=budget)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """From a world in which nothing ever holds to one in which everything does."""
    return World(
        chance=Random(draw(st.integers(0, 2**32))),
        kept=draw(st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0])),
        patience=draw(st.integers(0, 12)),
        crashes=draw(st.integers(0, 3)),
        answers=tuple(draw(st.lists(st.sampled_from(list(Choice)), min_size=1, unique=True))),
    )


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(
    plan=missions(),
    world=worlds(),
    policy=st.builds(
        Policy,
        require_red_first=st.booleans(),
        held_before=st.sampled_from(list(HeldBeforeRule)),
    ),
    known=st.sets(st.integers(0, 3)),
)
def test_every_run_ends_or_waits_and_is_done_only_with_an_open_gate(
    plan: Plan, world: World, policy: Policy, known: set[int]
) -> None:
    simulation = Simulation(plan, world, policy)
    for index, each in enumerate(plan.steps):
        if index in known:
            simulation.ledger.done(each.id, run=EARLIER_RUN)
    end = simulation.run()
    assert isinstance(end, Finish | Wait)
    content = simulation.snapshot()
    if end == Finish(Outcome.DONE):
        assert evaluate(simulation.state, content).gate is not Gate.SHUT
        assert Oracle(plan, simulation.ledger.entries, RUN, content).proven()
    if isinstance(end, Wait):
        assert set(end.questions) <= set(simulation.state.questions)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(plan=plans(), seed=st.integers(0, 2**32), crashes=st.integers(0, 3))
def test_honest_work_is_signed_off_however_often_the_driver_dies(
    plan: Plan, seed: int, crashes: int
) -> None:
    world = World(Random(seed), 1.0, patience=60, crashes=crashes, answers=(Choice.RETRY,))
    judged = tuple(p for p in plan.postconditions if p.contract is not None)
    plan = replace(plan, postconditions=judged)
    simulation = Simulation(plan, world, Policy())
    assert simulation.run() == Finish(Outcome.DONE)
    assert evaluate(simulation.state, simulation.snapshot()).gate is Gate.OPEN


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(plan=missions(), seed=st.integers(0, 2**32), patience=st.integers(0, 6))
def test_work_that_never_holds_is_never_signed_off(plan: Plan, seed: int, patience: int) -> None:
    answers = (Choice.RETRY, Choice.ABORT)
    world = World(Random(seed), 0.0, patience, crashes=1, answers=answers)
    end = Simulation(plan, world, Policy()).run()
    assert end != Finish(Outcome.DONE)


def test_two_steps_that_keep_breaking_each_other_end_with_a_person() -> None:
    plan = plan_of(step("1", retries=2), step("2", "1", retries=2), posts=(post(),))
    for seed in range(30):
        world = World(Random(seed), 0.5, patience=0, crashes=0)
        end = Simulation(plan, world, Policy()).run()
        assert isinstance(end, Wait) or end == Finish(Outcome.DONE)


def test_a_plan_of_which_everything_is_waived_ends_as_failed() -> None:
    world = World(Random(1), 0.0, patience=9, crashes=0, answers=(Choice.WAIVE,))
    plan = plan_of(step("1"), step("2"), posts=(post(judged=False),))
    assert Simulation(plan, world, Policy()).run() == Finish(Outcome.FAILED)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(plan=plans(), seed=st.integers(0, 2**32), crashes=st.integers(0, 3))
def test_a_plan_of_which_nothing_was_seen_red_is_done_only_by_a_persons_word(
    plan: Plan, seed: int, crashes: int
) -> None:
    world = World(Random(seed), 1.0, patience=60, crashes=crashes, answers=(Choice.RETRY,))
    # What reaches outside is not looked at before.
    inside = tuple(
        replace(s, contract=replace(s.contract or contract(), effects=Effects.NONE))
        for s in plan.steps
    )
    plan = replace(plan, steps=inside, postconditions=())
    simulation = Simulation(plan, world, Policy())
    assert simulation.run() == Finish(Outcome.DONE)
    causes = [
        q.data["cause"] for q in simulation.ledger.entries if q.kind is Kind.ESCALATION_OPENED
    ]
    asked = Cause.HELD_BEFORE in causes
    to_be_red = [s for s in plan.steps if s.contract and s.contract.red_first is not RedFirst.OFF]
    assert asked == bool(to_be_red)
