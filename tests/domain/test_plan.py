"""Plans and their parts are frozen values whose digests follow their meaning."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from signoff.domain.plan import (
    Contract,
    Cost,
    Effects,
    Expectation,
    ExpectationKind,
    Holds,
    Mark,
    OnFail,
    Plan,
    PlanStatus,
    Postcondition,
    Step,
    Subscription,
    SubscriptionKind,
    Then,
    UnknownField,
    expand,
)

items = st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)


def test_a_contract_without_a_stated_exit_code_expects_zero() -> None:
    assert Contract("make").all_expectations() == (Expectation(ExpectationKind.EXIT_CODE, 0),)


def test_other_expectations_do_not_remove_the_exit_code() -> None:
    said = Expectation(ExpectationKind.STDOUT_CONTAINS, "ok")
    assert Contract("make", (said,)).all_expectations() == (
        Expectation(ExpectationKind.EXIT_CODE, 0),
        said,
    )


def test_a_stated_exit_code_is_the_one_that_counts() -> None:
    said = Expectation(ExpectationKind.EXIT_CODE, 1)
    assert Contract("make", (said,)).all_expectations() == (said,)


@pytest.mark.parametrize(
    ("expectation", "text"),
    [
        (Expectation(ExpectationKind.EXIT_CODE, 2), "exit_code == 2"),
        (Expectation(ExpectationKind.STDERR_CONTAINS, "no"), 'stderr contains "no"'),
        (Expectation(ExpectationKind.TESTS_AT_LEAST, 12), "tests >= 12"),
    ],
)
def test_an_expectation_reads_as_it_is_written(expectation: Expectation, text: str) -> None:
    assert str(expectation) == text


@pytest.mark.parametrize(
    ("contract", "once"),
    [
        (Contract("x"), False),
        (Contract("x", effects=Effects.EXTERNAL), True),
        (Contract("x", holds=Holds.AT_STEP), True),
    ],
)
def test_a_contract_is_judged_once_when_again_is_wrong_or_meaningless(
    contract: Contract, once: bool
) -> None:
    assert contract.judged_once is once


@pytest.mark.parametrize(
    ("on_fail", "text"),
    [
        (OnFail(), "retry(2), then escalate"),
        (OnFail(0), "escalate"),
        (OnFail(0, Then.ABORT), "abort"),
        (OnFail(3, Then.ABORT), "retry(3), then abort"),
    ],
)
def test_a_policy_reads_as_it_is_written(on_fail: OnFail, text: str) -> None:
    assert str(on_fail) == text


def test_a_subscription_reads_as_it_is_written() -> None:
    assert str(Subscription(SubscriptionKind.FILE, "a/b.py")) == "file:a/b.py"


def test_costs_add_up_without_drift() -> None:
    total = Cost()
    for _ in range(10):
        total += Cost(3, 0.1)
    assert total == Cost(30, 1.0)


def test_a_step_is_the_same_as_long_as_id_task_and_contract_are() -> None:
    step = Step("1", "title", task="do it", contract=Contract("make"))
    moved = replace(
        step, title="other", line=99, mark=Mark.DONE, unknown_fields=(UnknownField("x", 1),)
    )
    assert moved.digest == step.digest
    for changed in (
        replace(step, id="2"),
        replace(step, task="do less"),
        replace(step, contract=Contract("make || true")),
        replace(step, contract=Contract("make", timeout_s=1)),
        replace(step, contract=Contract("make", may_change=("**",))),
        replace(step, contract=None),
    ):
        assert changed.digest != step.digest


def test_a_line_number_does_not_make_another_contract() -> None:
    one = Step("1", "t", contract=Contract("make", line=3))
    assert one.digest == replace(one, contract=Contract("make", line=7)).digest


def test_a_postcondition_is_the_same_as_long_as_its_meaning_is() -> None:
    post = Postcondition(2, "the suite passes", Contract("make test"))
    assert post.id == "postcondition:2"
    assert replace(post, line=8).digest == post.digest
    assert replace(post, contract=Contract("true")).digest != post.digest
    assert replace(post, text="nothing").digest != post.digest


def test_marks_and_status_do_not_make_another_plan() -> None:
    plan = Plan("t", (Step("1", "a"),), plan_digest="d")
    done = Plan("t", (Step("1", "a", mark=Mark.DONE),), status=PlanStatus.DONE, plan_digest="d")
    assert plan == done


def test_a_plan_finds_its_steps_by_id() -> None:
    plan = Plan("t", (Step("1", "a"), Step("3–N", "b")))
    assert plan.step("3–N").title == "b"
    with pytest.raises(KeyError):
        plan.step("3")


def test_everything_that_is_judged_is_a_subject_of_the_plan() -> None:
    plan = Plan("t", (Step("1", "a"),), (Postcondition(1, "b"),))
    assert [subject.id for subject in plan.subjects] == ["1", "postcondition:1"]


def test_nobody_can_change_a_plan_in_place() -> None:
    step = Step("1", "a")
    with pytest.raises(AttributeError):
        step.task = "other"  # type: ignore[misc]


TEMPLATE = Step(
    "3–N",
    "Port {item}",
    task="port {item} and {item}",
    contract=Contract("test -f {item} && grep -q x {item}", timeout_s=5),
    needs=("1",),
    produces=("out/{item}",),
    protects=("tests/{item}/**",),
    subscriptions=(Subscription(SubscriptionKind.FILE, "src/{item}"),),
    for_each="ls src",
)


def test_each_item_becomes_a_step_of_its_own() -> None:
    first, second = expand(TEMPLATE, ("a.py", "b c.py"))
    assert (first.id, second.id) == ("3–N[a.py]", "3–N[b c.py]")
    assert second.title == "Port b c.py"
    assert second.task == "port b c.py and b c.py"
    assert second.contract == Contract("test -f 'b c.py' && grep -q x 'b c.py'", timeout_s=5)
    assert first.produces == ("out/a.py",)
    assert first.protects == ("tests/a.py/**",)
    assert first.subscriptions[0].target == "src/a.py"
    assert (first.item, first.parent, first.for_each) == ("a.py", "3–N", None)
    assert first.needs == ("1",)


def test_no_items_make_no_steps() -> None:
    assert expand(TEMPLATE, ()) == ()


def test_a_template_without_contract_can_be_expanded() -> None:
    (only,) = expand(replace(TEMPLATE, contract=None), ("a",))
    assert only.contract is None


@given(items)
def test_an_item_is_one_word_of_the_contract_whatever_it_contains(item: str) -> None:
    template = replace(TEMPLATE, contract=Contract("check {item} end"))
    (only,) = expand(template, (item,))
    assert only.contract is not None
    assert shlex.split(only.contract.command) == ["check", item, "end"]


@pytest.mark.parametrize("item", ["$(touch owned)", "`id`", "a'; rm -rf x; '", "{item}", "-rf"])
def test_an_item_cannot_become_a_command(item: str) -> None:
    (only,) = expand(replace(TEMPLATE, contract=Contract("check {item}")), (item,))
    assert only.contract is not None
    assert shlex.split(only.contract.command) == ["check", item]


def test_an_item_can_be_shown_unquoted_for_reading() -> None:
    (only,) = expand(TEMPLATE, ("a b",), quote=False)
    assert only.contract is not None
    assert only.contract.command == "test -f a b && grep -q x a b"


@given(st.lists(items, unique=True, max_size=5))
def test_different_items_make_different_steps(found: list[str]) -> None:
    steps = expand(TEMPLATE, tuple(found))
    assert len({s.id for s in steps}) == len({s.digest for s in steps}) == len(found)
