"""A derived plan in the one state: ticks, drops, what stays beside an agent's plan, old ledgers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Author, Contract
from signoff.domain.session import ROUND_BUDGET, ClaimStatus, Declared, TaskBasis, ToolCall
from signoff.domain.verdict import Phase, Reason, Result, Verdict
from signoff.gate.gate import GateReport, evaluate
from signoff.gate.state import State
from signoff.gate.subjects import StepState
from signoff.gate.task import RoundStatus, asked_drops, task_of
from signoff.planfile.compose import compose
from signoff.toolbatch.taskplan import MemoryBooks, Part

FILE = Part("make a.md", Contract("test -f ./a.md"), "a.md", asked=True)
OTHER = Part("make b.md", Contract("test -f ./b.md"), "b.md")
ITEM = Part("read it again")
CHECK = Part("project check 1 holds", Contract("make test"))
NOW = "content"


def derived(*steps: Part, posts: tuple[Part, ...] = (), basis: bool = True) -> Draft:
    asked = tuple(str(n) for n, part in enumerate(steps, 1) if part.asked)
    declared = {
        str(n): Declared((part.path,)).to_data() for n, part in enumerate(steps, 1) if part.path
    }
    data: dict[str, Any] = {
        "text": compose("the task", steps, posts),
        "declared": declared,
        "derived": True,
    }
    if basis:
        data["task"] = TaskBasis(asked=asked).to_data()
    return Draft(Kind.PLAN_WRITTEN, data)


def own(*steps: Part) -> Draft:
    return Draft(Kind.PLAN_WRITTEN, {"text": compose("mine", steps, ()), "declared": {}})


def claim(subject: str, status: ClaimStatus, notes: str = "") -> Draft:
    return Draft(Kind.STEP_CLAIMED, {"status": status, "notes": notes}, step=subject)


def judged(subject: str, *, kept: bool = True, on: str = NOW, provisional: bool = True) -> Draft:
    result = Result.KEPT if kept else Result.BROKEN
    reason = Reason.HELD if kept else Reason.EXPECTATION
    verdict = Verdict(subject, Phase.ATTEMPT, result, reason, "", on, on, provisional=provisional)
    return Draft(Kind.VERDICT, to_builtins(verdict), step=subject)


def changed(path: str) -> Draft:
    return Draft(Kind.TOOL_CALLED, ToolCall("c", "write", True, touched=(path,)).to_data())


def folded(*drafts: Draft) -> State:
    books = MemoryBooks()
    books.append(*drafts)
    return books.look()


def report(*drafts: Draft) -> GateReport:
    return evaluate(folded(*drafts), NOW)


def missing(found: GateReport) -> list[str]:
    return [m.subject for m in found.missing]


def test_a_file_is_proved_by_its_contract_and_an_item_by_a_tick() -> None:
    plan = derived(FILE, ITEM)
    assert missing(report(plan)) == ["1", "2"]
    ticked = claim("2", ClaimStatus.DONE)
    assert missing(report(plan, ticked)) == ["1"]
    done = report(plan, ticked, judged("1"))
    assert done.open and done.proved == ("1",), "a tick is no proof"
    assert done.ids(StepState.TICKED) == ("2",)


def test_a_tick_of_a_file_counts_for_nothing() -> None:
    assert missing(report(derived(FILE), claim("1", ClaimStatus.DONE))) == ["1"]


def test_a_list_alone_is_no_plan() -> None:
    found = report(derived(ITEM), claim("1", ClaimStatus.DONE))
    assert found.open and not found.planned
    signed = {"snapshot": NOW, "open": True, "self_set": True, "self_set_accepted": True}
    state = folded(derived(ITEM), claim("1", ClaimStatus.DONE), Draft(Kind.SESSION_SIGNED, signed))
    assert state.session.signed is None


def test_what_is_dropped_is_not_missing_stays_in_sight_and_is_never_proved() -> None:
    drop = claim("1", ClaimStatus.DROPPED, "not needed")
    drafts = (derived(FILE, OTHER), changed("b.md"), drop, judged("2"))
    found = report(*drafts)
    assert found.open and found.proved == ("2",) and found.ids(StepState.DROPPED) == ("1",)
    assert asked_drops(folded(*drafts)) == ("a.md: not needed",)
    assert [d.asked for d in task_of(folded(*drafts)).dropped] == [True]


def test_dropping_everything_proves_nothing() -> None:
    drop = claim("1", ClaimStatus.DROPPED, "tedious")
    for more in ((), (changed("notes.txt"),)):
        found = report(derived(FILE), *more, drop)
        assert not found.open and found.waits_for_people
    beside = report(derived(FILE, posts=(CHECK,)), drop, judged("postcondition:1"))
    assert not beside.open, "and nothing was made"


def test_an_agents_plan_is_no_rewrite_and_what_a_person_asked_for_stays_due() -> None:
    mine = own(Part("begin", Contract("test -d .")))
    state = folded(derived(FILE, OTHER, ITEM, posts=(CHECK,)), judged("1"), mine)
    assert state.author is Author.AGENT and state.session.rewrites == []
    assert [(c.id, c.text) for c in state.beside] == [
        ("task:1", "make a.md"),
        ("task:2", "project check 1 holds"),
    ]
    assert state.record("task:1").latest is not None, "it keeps its history"
    found = evaluate(state, NOW)
    assert missing(found) == ["1", "task:2"]
    assert [str(a) for a in task_of(state).planned] == ["a.md"]


def test_more_that_a_person_asks_for_comes_beside_a_plan_of_the_agent() -> None:
    mine = own(Part("begin", Contract("test -d .")))
    more = replace(OTHER, asked=True)
    state = folded(derived(FILE), mine, judged("1"), judged("task:1"), derived(FILE, more))
    assert missing(evaluate(state, NOW)) == ["task:2"]


def test_an_agent_that_rewrites_its_plan_gets_rid_of_nothing_that_was_asked_for() -> None:
    one, two = Part("one", Contract("test -d .")), Part("two", Contract("test -d .."))
    drafts = (derived(FILE), own(one), judged("task:1"), own(one, two))
    state = folded(*drafts)
    assert len(state.session.rewrites) == 1
    assert [c.id for c in state.beside] == ["task:1"]
    assert state.record("task:1").latest is not None
    assert missing(evaluate(state, NOW)) == ["1", "2"]


def test_rounds_are_the_newest_verdicts_and_go_stale_with_a_change() -> None:
    plan = derived(FILE, posts=(CHECK,))

    def last(*drafts: Draft) -> RoundStatus | None:
        found = task_of(folded(plan, *drafts)).round
        return found.status if found is not None else None

    check = "postcondition:1"
    assert last() is None and last(judged("1")) is None, "a file that is there is no round"
    assert last(judged(check)) is RoundStatus.KEPT
    assert last(judged(check), changed("x")) is RoundStatus.STALE
    assert last(judged(check, kept=False)) is RoundStatus.BROKEN
    assert last(judged(check, kept=False), changed("x"), judged(check)) is RoundStatus.KEPT


def test_failures_are_counted_by_content_until_a_person_takes_it_up() -> None:
    plan, check = derived(FILE, posts=(CHECK,)), "postcondition:1"
    failed = [judged(check, kept=False, on=f"content {n // 2}") for n in range(2 * ROUND_BUDGET)]
    state = folded(plan, *failed)
    assert task_of(state).failed_rounds == ROUND_BUDGET and task_of(state).is_over
    assert evaluate(state, NOW).waits_for_people
    again = folded(plan, *failed, Draft(Kind.SESSION_STARTED, {"author": "x"}))
    assert not task_of(again).is_over


def test_a_missing_file_uses_up_no_round() -> None:
    failed = [judged("1", kept=False, on=f"content {n}") for n in range(9)]
    assert task_of(folded(derived(FILE), *failed)).failed_rounds == 0


def test_a_derived_plan_of_an_earlier_version_is_replaced_as_it_was() -> None:
    """Chains from before have no basis, and facts that nobody folds any more."""
    old = Draft(Kind.DEFINITION_CHANGED, {"task": "main", "fact": "stated", "statement": "x"})
    before = derived(FILE, posts=(CHECK,), basis=False)
    signed = {"snapshot": NOW, "open": True, "self_set": True, "self_set_accepted": True}
    done = [judged(s, provisional=False) for s in ("1", "postcondition:1")]
    state = folded(old, before, *done, Draft(Kind.SESSION_SIGNED, signed))
    assert state.author is Author.DERIVED and state.session.signed is not None
    assert evaluate(state, NOW).open
    mine = own(Part("begin", Contract("test -d .")))
    replaced = folded(old, before, mine)
    assert replaced.beside == () and len(replaced.session.rewrites) == 1
    resumed = folded(old, before, derived(FILE, OTHER))
    assert missing(evaluate(resumed, NOW)) == ["1", "2"]


@pytest.mark.parametrize("status", [ClaimStatus.DONE, ClaimStatus.DROPPED])
def test_no_claim_settles_a_check(status: ClaimStatus) -> None:
    drafts = (derived(FILE, posts=(CHECK,)), changed("a.md"), judged("1"))
    found = report(*drafts, claim("postcondition:1", status))
    assert missing(found) == ["postcondition:1"]


def test_a_step_of_an_agents_own_plan_is_not_dropped_by_a_claim() -> None:
    mine = own(Part("begin", Contract("test -d .")))
    found = report(derived(FILE), mine, judged("task:1"), claim("1", ClaimStatus.DROPPED, "x"))
    assert missing(found) == ["1"]
