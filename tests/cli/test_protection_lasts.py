"""What a step protects is protected until the plan is signed off, whatever becomes of the step."""

from __future__ import annotations

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

BOTH = "echo > looked; echo > built; "
ONCE = pytest.mark.parametrize("once", [{"holds": "at_step"}, {"effects": "external"}], ids=str)


def _two_steps(desk: Desk, agent: str, once: dict[str, str], **second: str) -> Desk:
    first = step("Look", "test -s looked", protects="spec/**", **once)
    desk.file("spec/limits", "strict\n").agent(agent)
    return desk.plan(first, step("Build", "test -s built", **second))


@ONCE
def test_a_later_step_cannot_change_what_a_step_protects_that_is_judged_once(
    desk: Desk, once: dict[str, str]
) -> None:
    loosens = BOTH + "[ $SIGNOFF_STEP = 1 ] || echo lax > spec/limits"
    _two_steps(desk, loosens, once, on_fail="retry(1), then escalate").run("--yes").exits(6)
    assert "`spec/limits`: protected file was changed" in desk.inbox()[0]["question"]
    assert desk.kinds("1").count("step.done") == 1 and "step.reopened" not in desk.kinds("1")
    second = [a for a in desk.attempts() if a.step == "2"]
    assert len(second) == 2 and all("- spec/**" in a.prompt for a in second), "it is told"


@ONCE
def test_a_later_step_may_make_and_change_what_it_says(desk: Desk, once: dict[str, str]) -> None:
    allowed = BOTH + "[ $SIGNOFF_STEP = 1 ] || echo lax > spec/limits"
    _two_steps(desk, allowed, once, may_change="spec/limits").run("--yes").exits(0)


def test_a_later_step_may_make_the_file_that_its_contract_demands(desk: Desk) -> None:
    first = step("Look", "test -s looked", protects="spec/**", holds="at_step")
    desk.file("spec/limits", "strict\n")
    desk.agent("echo > looked; [ $SIGNOFF_STEP = 1 ] || echo > spec/more")
    desk.plan(first, step("Build", "test -s spec/more")).run("--yes").exits(0)


@ONCE
def test_what_somebody_changed_after_the_last_judging_is_seen_before_sign_off(
    desk: Desk, once: dict[str, str]
) -> None:
    loosens = "echo > looked; [ $SIGNOFF_STEP = 1 ] || echo lax > spec/limits"
    _two_steps(desk, loosens, once, on_fail="escalate").run("--yes").exits(6)
    desk.answer("waive", "--note", "no need")
    desk.run().exits(0)
    assert "step.reopened" in desk.kinds("1"), "its protection outlives the step that was waived"
    assert desk.read("spec/limits") == "strict\n"


def test_postconditions_are_not_kept_on_loosened_files(desk: Desk) -> None:
    desk.file("spec/limits", "strict\n").agent("echo > built; echo lax > spec/limits")
    first = step("Build", "test -s built", protects="spec/**", on_fail="escalate")
    other = step("Build on", "test -s built")
    desk.plan(first, other, post=[("The limits are kept", "test -s spec/limits")])
    desk.run("--yes").exits(6)
    desk.answer("waive", "--note", "built by hand")
    desk.run().exits(6)
    (question,) = desk.inbox()
    assert "postcondition 1 does not hold" in question["question"]
    assert "`spec/limits`: protected file was changed" in question["question"]
    desk.file("spec/limits", "strict\n").answer("retry")
    desk.run().exits(0)
