"""No sequence of entries opens the gate without proof: generated ledgers against the oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from signoff.domain.ledger import Kind
from signoff.domain.plan import Contract, Plan, RedFirst
from signoff.domain.verdict import Phase
from signoff.gate.fold import fold
from signoff.gate.gate import Gate, evaluate
from signoff.gate.state import State
from tests.gate.acts import (
    ITEMS,
    NEARLY_SETTLED,
    Act,
    acts,
    perform,
    plans,
    subjects_of,
    write_nearly,
)
from tests.gate.oracle import Oracle
from tests.gate.scribe import BEFORE_NOW, NOW, RUN, Scribe, contract, step

CONTENTS = (NOW, BEFORE_NOW, None)
TRICKS = (
    "nearly settle",
    "nearly settle",
    "nearly waive",
    "verdict",
    "provisional verdict",
    "misfiled verdict",
    "done",
    "done with foreign key",
    "restored",
    "ask",
    "answer",
    "waived",
    "accept",
    "ended",
    "expanded",
    "listed",
    "repeat",
)
BEARING = (Kind.VERDICT, Kind.STEP_DONE, Kind.ESCALATION_ANSWERED, Kind.STEP_WAIVED)


def settle_all_but(ledger: Scribe, victim: int) -> None:
    """What an honest run writes at its end, except for one subject."""
    subjects = subjects_of(ledger.plan)
    _write_honestly(ledger, set(), left_out=subjects[victim % len(subjects)])


def honest(plan: Plan, waived: set[int]) -> Scribe:
    """The ledger of a run in which everything was kept, or waived by a person."""
    ledger = Scribe(plan=plan)
    subjects = subjects_of(plan)
    _write_honestly(ledger, {subjects[i % len(subjects)] for i in waived}, left_out=None)
    return ledger


def _write_honestly(ledger: Scribe, waived: set[str], left_out: str | None) -> None:
    for each in ledger.plan.steps:
        if each.for_each is not None and each.id not in (*waived, left_out):
            ledger.listed(each.id, *ITEMS)
            ledger.expanded(each.id, *ITEMS)
    for each in ledger.state.schedule.steps:
        if each.id in waived:
            ledger.waive(each.id, f"q {each.id}")
        elif each.id != left_out:
            ledger.settle(each.id)
    for promise in ledger.plan.postconditions:
        if promise.id in waived:
            ledger.waive(promise.id, f"q {promise.id}")
        elif promise.id != left_out:
            ledger.verdict(promise.id, phase=Phase.SWEEP)


def claims_hold(ledger: Scribe) -> None:
    for snapshot in CONTENTS:
        report = evaluate(ledger.state, snapshot)
        oracle = Oracle(ledger.plan, ledger.entries, RUN, snapshot)
        if report.gate is not Gate.SHUT:
            assert oracle.proven(), f"the gate is {report.gate} without proof"
        assert (report.gate is Gate.SHUT) == bool(report.missing)
        assert (report.gate is Gate.OPEN_WITH_WAIVERS) <= bool(report.waived)


@pytest.mark.parametrize("judged", [contract(), contract(red_first=RedFirst.REQUIRED)])
def test_nothing_that_lacks_one_detail_opens_the_gate_alone_or_after_another(
    judged: Contract,
) -> None:
    every = range(len(NEARLY_SETTLED))
    for first, second in product(every, repeat=2):
        ledger = Scribe(step("1", judged=judged), step("2"))
        ledger.settle("2")
        write_nearly(ledger, "1", first)
        assert ledger.gate().gate is Gate.SHUT, NEARLY_SETTLED[first]
        write_nearly(ledger, "1", second)
        claims_hold(ledger)


@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(plan=plans(), written=st.lists(acts(), max_size=14))
def test_no_generated_ledger_opens_the_gate_without_proof(plan: Plan, written: list[Act]) -> None:
    ledger = Scribe(plan=plan)
    for act in written:
        perform(ledger, act)
    claims_hold(ledger)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    plan=plans(),
    victim=st.integers(0, 11),
    tricks=st.lists(acts(TRICKS), min_size=1, max_size=8),
)
def test_no_trick_about_the_last_open_subject_replaces_its_proof(
    plan: Plan, victim: int, tricks: list[Act]
) -> None:
    ledger = Scribe(plan=plan)
    settle_all_but(ledger, victim)
    for trick in tricks:
        perform(ledger, replace(trick, pick=victim))
        claims_hold(ledger)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(plan=plans(), waived=st.sets(st.integers(0, 11), max_size=2), dropped=st.integers(0, 99))
def test_every_entry_that_an_honest_sign_off_rests_on_is_needed(
    plan: Plan, waived: set[int], dropped: int
) -> None:
    ledger = honest(plan, waived)
    if ledger.gate().gate is Gate.SHUT:
        assert not Oracle(plan, ledger.entries, RUN, NOW).proven()
        return
    bearing = [i for i, e in enumerate(ledger.entries) if e.kind in BEARING]
    gone = bearing[dropped % len(bearing)]
    rest = [e for i, e in enumerate(ledger.entries) if i != gone]
    state = fold(State(plan, RUN), rest)
    assert evaluate(state, NOW).gate is Gate.SHUT, f"not needed: {ledger.entries[gone]}"


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(plan=plans(), waived=st.sets(st.integers(0, 11), max_size=2))
def test_an_honest_run_opens_the_gate_whenever_it_is_proved(plan: Plan, waived: set[int]) -> None:
    ledger = honest(plan, waived)
    proven = Oracle(plan, ledger.entries, RUN, NOW).proven()
    assert proven == (ledger.gate().gate is not Gate.SHUT)
    if not waived and all(p.contract is not None for p in plan.postconditions):
        assert ledger.gate().gate is Gate.OPEN


class Ledger(RuleBasedStateMachine):
    """A ledger that anything may be written to, checked after every entry."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Scribe(plan=Plan("empty", ()))

    @initialize(plan=plans(), victim=st.none() | st.integers(0, 11))
    def begin(self, plan: Plan, victim: int | None) -> None:
        self.ledger = Scribe(plan=plan)
        if victim is not None:
            settle_all_but(self.ledger, victim)

    @rule(act=acts())
    def write_anything(self, act: Act) -> None:
        perform(self.ledger, act)

    @rule(act=acts(TRICKS))
    def try_a_trick(self, act: Act) -> None:
        perform(self.ledger, act)

    @rule()
    def sweep(self) -> None:
        for each in self.ledger.state.schedule.steps:
            if self.ledger.record(each.id).done:
                self.ledger.verdict(each.id, phase=Phase.SWEEP)

    @invariant()
    def the_gate_is_shut_or_the_plan_is_proved(self) -> None:
        claims_hold(self.ledger)

    @invariant()
    def a_new_fold_of_the_same_entries_agrees(self) -> None:
        again = fold(State(self.ledger.plan, RUN), self.ledger.entries)
        assert evaluate(again, NOW) == self.ledger.gate()


Ledger.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=20,
    suppress_health_check=list(HealthCheck),
)
TestLedger = Ledger.TestCase
