"""Composition: a step handed to a session of its own, within the budget and without circles."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.agents.session import PlanSession
from signoff.domain.ledger import Choice, Draft, Kind
from signoff.domain.plan import Budget, Cost
from signoff.domain.session import DEEPEST_DELEGATION, Decision, SessionStanding
from signoff.usecases.open_session import open_session
from tests.agents.session_kit import BRIEF, Bureau, checked


@pytest.fixture
def bureau(tmp_path: Path) -> Bureau:
    made = Bureau(tmp_path)
    made.session = open_session(made.harness, made.root, author="agent", budget=Budget(1000, 1.0))
    made.plan("one", "two")
    return made


def _child(session: PlanSession, objective: str = "a part", tokens: int = 100) -> PlanSession:
    made = session.delegate(1, objective, tokens=tokens)
    assert made.session is not None, made.text
    return made.session


def _delegated(bureau: Bureau) -> str:
    return f"tool:{bureau.call('delegate', reads={})}"


def test_a_step_cannot_be_done_while_its_childs_gate_is_shut(bureau: Bureau) -> None:
    session = bureau.session
    child = _child(session)
    assert "not finished" in session.step_update(1, "done", f"tool:{bureau.call()}")
    child.plan_create("a part", [checked("Make it", "file_exists", path="made")], [])
    assert "not finished" in session.step_update(1, "done", f"tool:{bureau.call()}")
    bureau.write("made")
    assert child.try_finish("done").decision is Decision.ACCEPTED
    assert session.step_update(1, "done", _delegated(bureau)) == "step 1 → done"
    (bureau.root / "made").unlink()
    assert "child session" in session.gate().missing[0].what


def test_a_child_whose_answer_was_never_accepted_keeps_its_parent_shut(bureau: Bureau) -> None:
    session = bureau.session
    call = bureau.call()
    session.step_update(1, "done", f"tool:{call}")
    session.step_update(2, "done", f"tool:{call}")
    assert session.gate().open
    _child(session)
    assert not session.gate().open


def test_a_child_without_a_plan_proves_nothing_to_its_parent(bureau: Bureau) -> None:
    session = bureau.session
    child = _child(session)
    ended = child.try_finish("all done")
    assert ended.decision is Decision.REFUSED and "plan_create" in ended.text
    call = bureau.call("delegate", reads={})
    assert "not finished" in session.step_update(1, "done", f"tool:{call}")
    assert session.report().proved == ()


def test_a_parent_sees_its_children_from_another_process(bureau: Bureau) -> None:
    child = _child(bureau.session)
    (seen,) = bureau.again().children()
    assert seen.id == child.id
    assert bureau.again().report().children == (child.id,)


def test_budgets_are_conserved_down_the_tree(bureau: Bureau) -> None:
    session = bureau.session
    session.record_usage(200)
    child = _child(session, tokens=500)
    assert session.left().tokens == 300
    refused = session.delegate(2, "another part", tokens=301)
    assert (refused.session, refused.text) == (
        None,
        "refused: 300 tokens are left of this session's budget",
    )
    child.record_usage(100)
    assert (child.left().tokens, session.left().tokens) == (400, 300)
    child.plan_create("a part", [checked("Read it", "file_exists", path=BRIEF)], [])
    child.try_finish("that was all")
    assert session.left().tokens == 700
    assert session.spent() == Cost(300)


def test_a_child_that_overspends_takes_it_from_its_parent(bureau: Bureau) -> None:
    child = _child(bureau.session, tokens=100)
    child.record_usage(600)
    assert (child.left().tokens, bureau.session.left().tokens) == (0, 400)


def test_a_grandchilds_cost_counts_for_everybody_above(bureau: Bureau) -> None:
    child = _child(bureau.session, tokens=500)
    child.plan_create("a part", ["sub"], [])
    grandchild = _child(child, "a part of the part", tokens=200)
    grandchild.record_usage(150)
    assert bureau.session.spent().tokens == 150
    assert child.left().tokens == 300


def test_without_a_number_a_child_gets_half_of_what_is_left(bureau: Bureau) -> None:
    made = bureau.session.delegate(1, "a part")
    assert made.session is not None
    assert made.session.left() == Budget(500, 0.5)


@pytest.mark.parametrize("tokens", [0, -5, True, 1.5, 10**9])
def test_a_share_that_is_none_is_refused(bureau: Bureau, tokens: int) -> None:
    assert bureau.session.delegate(1, "a part", tokens=tokens).session is None


def test_a_session_cannot_delegate_what_it_is_for_itself(bureau: Bureau) -> None:
    session = bureau.session
    assert "is for already" in session.delegate(1, " get it  DONE ").text
    child = _child(session, "a part")
    child.plan_create("other words", ["sub"], [])
    for aim in ("get it done", "A part", "other words"):
        assert "is for already" in child.delegate(1, aim).text


def test_delegation_ends_at_a_depth(bureau: Bureau) -> None:
    session = bureau.session
    for depth in range(DEEPEST_DELEGATION):
        session = _child(session, f"level {depth}", tokens=50 - depth)
        session.plan_create(f"plan {depth}", ["sub"], [])
    refused = session.delegate(1, "one more")
    assert refused.session is None
    assert f"{DEEPEST_DELEGATION} deep at most" in refused.text


@pytest.mark.parametrize("number", [0, 3, "1", None])
def test_only_a_step_of_the_plan_can_be_delegated(bureau: Bureau, number: object) -> None:
    assert bureau.session.delegate(number, "a part").text.startswith("error: ")
    assert bureau.session.delegate(1, " ").text.startswith("error: ")


def test_children_are_signed_with_their_parent(bureau: Bureau) -> None:
    child = _child(bureau.session)
    child.plan_create("a part", [checked("Make it", "file_exists", path="made")], [])
    bureau.write("made")
    child.try_finish("done")
    for number in (1, 2):
        bureau.session.step_update(number, "done", f"tool:{bureau.call()}")
    assert bureau.sign().standing is SessionStanding.KEPT_SELF_SET
    assert child.standing is SessionStanding.KEPT_SELF_SET


def test_a_step_is_handed_to_its_unfinished_child_again_and_to_no_second_one(
    bureau: Bureau,
) -> None:
    session = bureau.session
    child = _child(session, tokens=300)
    child.record_usage(tokens=100)
    again = bureau.again().delegate(1, "a part", tokens=500)
    assert again.session is not None and again.resumed
    assert (again.session.id, again.session.left().tokens) == (child.id, 200)
    assert session.left().tokens == 700, "the share is not given twice"


def test_a_child_that_a_crash_kept_from_beginning_begins_when_it_is_taken_up(
    bureau: Bureau,
) -> None:
    given = {"child": "session-00000000000000aa", "objective": "x", "tokens": 300, "usd": None}
    session = bureau.session
    session.append(Draft(Kind.SESSION_DELEGATED, given, step="1"))
    again = session.delegate(1, "a part")
    assert again.session is not None and again.session.left().tokens == 300
    assert again.session.plan_create("a part", ["one"], []).startswith("plan created")


def test_a_child_that_waits_for_a_person_is_not_taken_up_by_its_parent(bureau: Bureau) -> None:
    child = _child(bureau.session)
    child.plan_create("a part", ["one"], [])
    while child.try_finish("done").decision is not Decision.ESCALATED:
        pass
    said = bureau.session.delegate(1, "a part")
    assert said.session is None and "waits for a person" in said.text
    bureau.answer(Choice.RETRY)
    assert bureau.session.delegate(1, "a part").resumed
