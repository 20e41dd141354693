"""Whatever the ledger says of opinions, they only take away: a gate that was shut stays shut."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from signoff.domain.ledger import Kind
from signoff.domain.plan import Plan
from signoff.domain.second_look import OpinionGiven, OpinionResult
from signoff.gate.fold import fold
from signoff.gate.gate import evaluate
from signoff.gate.state import State
from tests.gate.acts import Act, acts, perform, plans, subjects_of
from tests.gate.scribe import NOW, RUN, Scribe, step

HOLDS = OpinionGiven("m", OpinionResult.HOLDS, input="i", about="a", snapshot=NOW)
OPINIONS = st.builds(
    OpinionGiven,
    st.sampled_from(["m", "n"]),
    st.sampled_from(list(OpinionResult)),
    st.sampled_from(["", "kept", "approved"]),
    input=st.sampled_from(["i", "j"]),
    about=st.sampled_from(["a", "b"]),
    snapshot=st.sampled_from([NOW, "other"]),
    tokens=st.sampled_from([0, 100, None]),
)


def with_rubrics(plan: Plan) -> Plan:
    return replace(
        plan,
        steps=tuple(replace(s, rubric=("it reads well",)) for s in plan.steps),
        postconditions=tuple(replace(p, rubric=("it is true",)) for p in plan.postconditions),
    )


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(plans(), st.lists(st.tuples(acts(), OPINIONS | st.none()), max_size=20), st.booleans())
def test_no_opinion_opens_a_gate_that_is_shut_without_it(
    plan: Plan, written: list[tuple[Act, OpinionGiven | None]], rubrics: bool
) -> None:
    ledger = Scribe(plan=with_rubrics(plan) if rubrics else plan)
    for act, given_opinion in written:
        perform(ledger, act)
        if given_opinion is not None:
            subjects = subjects_of(ledger.plan)
            subject = subjects[act.pick % len(subjects)]
            ledger.write(Kind.OPINION_GIVEN, to_builtins(given_opinion), subject)
    told = evaluate(fold(State(ledger.plan, RUN), ledger.entries), NOW)
    silent = fold(
        State(ledger.plan, RUN), [e for e in ledger.entries if e.kind is not Kind.OPINION_GIVEN]
    )
    for record in silent.records.values():
        record.opinion = HOLDS
    at_best = evaluate(silent, NOW)
    assert at_best.open or not told.open
    assert {m.subject for m in at_best.missing} <= {m.subject for m in told.missing}


def test_a_kept_contract_beside_a_rubric_is_not_proved_without_an_opinion() -> None:
    ledger = Scribe(replace(step("1"), rubric=("it reads well",)))
    ledger.begun()
    ledger.started("1")
    ledger.finished("1")
    ledger.settle("1")
    (missing,) = ledger.gate().missing
    assert missing.what.endswith("and no opinion on its rubric lets it pass")
    ledger.write(Kind.OPINION_GIVEN, to_builtins(HOLDS), "1")
    assert ledger.gate().open
    veto = replace(HOLDS, result=OpinionResult.VETO)
    ledger.write(Kind.OPINION_GIVEN, to_builtins(veto), "1")
    assert not ledger.gate().open
