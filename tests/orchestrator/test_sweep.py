"""The final sweep: nothing is signed off that does not hold on the final content."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.ledger import Choice, Kind, Outcome
from signoff.errors import ContentMoved
from signoff.gate.gate import Gate
from signoff.orchestrator.events import Appended, Event
from tests.orchestrator.scripted_agent import Act
from tests.orchestrator.stage import Stage, post, step, write

ONCE = "**on_fail:** escalate"
NEVER = "**on_fail:** retry(1), then abort"


def _counting(tmp_path: Path, name: str, check: str) -> str:
    return f"echo ran >> '{tmp_path}/{name}'; {check}"


def _times(tmp_path: Path, name: str) -> int:
    path = tmp_path / name
    return len(path.read_text().split()) if path.exists() else 0


def _both(*names: str) -> Act:
    acts = [write(name) for name in names]

    def act(workspace: Path) -> None:
        for each in acts:
            each(workspace)

    return act


def test_identical_contracts_are_judged_once_on_the_final_content(tmp_path: Path) -> None:
    same = _counting(tmp_path, "same", "test -s one.txt")
    stage = Stage(tmp_path, [step(1, same), step(2, same), step(3, "test -s three.txt")])
    script = {("1", 1): write("one.txt"), ("2", 1): write("x"), ("3", 1): write("three.txt")}
    assert stage.drive(script) is Outcome.DONE
    assert "verdict 1 sweep kept" in stage.story()
    assert "verdict 2 sweep kept reused" in stage.story()


def test_what_is_not_stale_is_not_judged_again(tmp_path: Path) -> None:
    contract = _counting(tmp_path, "count", "test -s one.txt")
    stage = Stage(tmp_path, [step(1, contract)])
    assert stage.drive({("1", 1): write("one.txt")}) is Outcome.DONE
    assert _times(tmp_path, "count") == 2, "before and after the attempt"


def test_a_regression_goes_back_to_the_step_that_owns_the_contract(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt"), step(2, "test -s two.txt")])

    def breaks_one(workspace: Path) -> None:
        (workspace / "one.txt").unlink()
        write("two.txt")(workspace)

    script = {("1", 1): write("one.txt"), ("2", 1): breaks_one, ("1", 2): write("one.txt")}
    assert stage.drive(script) is Outcome.DONE
    assert stage.story()[-8:] == [
        "verdict 1 sweep broken",
        "step.reopened 1",
        "attempt.started 1 2",
        "attempt.finished 1 2",
        "verdict 1 attempt kept",
        "step.restored 1",
        "verdict 2 sweep kept",
        "run.finished done",
    ]
    (reopened,) = stage.entries(Kind.STEP_REOPENED)
    assert reopened.data["suspects"] == ["step 2, attempt 1"]
    prompt = stage.agent.prompts["1", 2]
    assert "a later change broke it again" in prompt
    assert "It broke with: step 2, attempt 1" in prompt


def test_only_the_guilty_attempt_among_several_is_suspected(tmp_path: Path) -> None:
    steps = [step(n, f"test -s {n}.txt", ONCE) for n in range(1, 5)]
    stage = Stage(tmp_path, steps)

    def breaks_one(workspace: Path) -> None:
        (workspace / "1.txt").unlink()
        write("3.txt")(workspace)

    script = {(str(n), 1): write(f"{n}.txt") for n in range(1, 5)} | {("3", 1): breaks_one}
    assert stage.drive(script) is None
    (reopened,) = stage.entries(Kind.STEP_REOPENED)
    assert (reopened.step, reopened.data["suspects"]) == ("1", ["step 3, attempt 1"])
    assert stage.questions()[0].startswith("step 1 (Step 1) is broken after 1 attempt:")


def test_steps_that_break_each_other_for_ever_end_with_a_question(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path,
        [step(1, "grep -qx one state.txt"), step(2, "grep -qx two state.txt")],
    )
    script = {("1", n): write("state.txt", "one\n") for n in range(1, 30)}
    script |= {("2", n): write("state.txt", "two\n") for n in range(1, 30)}
    assert stage.drive(script) is None
    assert [q.split(":")[0] for q in stage.questions()] == [
        "step 1 (Step 1) is broken after 3 attempts"
    ]
    assert len(stage.agent.prompts) == 6
    assert stage.gate().gate is Gate.SHUT


def test_a_regression_under_the_policy_abort_ends_the_run(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "grep -qx one s.txt", NEVER), step(2, "grep -qx two s.txt")])
    script = {("1", n): write("s.txt", "one\n") for n in range(1, 9)}
    script |= {("2", n): write("s.txt", "two\n") for n in range(1, 9)}
    assert stage.drive(script) is Outcome.FAILED
    assert [e.step for e in stage.entries(Kind.STEP_FAILED)] == ["1"]
    assert stage.gate().gate is Gate.SHUT


def test_a_waived_step_is_skipped_named_and_never_called_kept(tmp_path: Path) -> None:
    contract = _counting(tmp_path, "count", "test -s one.txt")
    stage = Stage(tmp_path, [step(1, contract, ONCE), step(2, "test -s two.txt")])
    assert stage.drive({}) is None
    judged = _times(tmp_path, "count")
    stage.answer(Choice.WAIVE, "not now")
    assert stage.drive({("2", 1): write("two.txt")}) is Outcome.DONE
    assert _times(tmp_path, "count") == judged
    (finished,) = stage.entries(Kind.RUN_FINISHED)
    assert finished.data["waived"] == ["1"]
    assert stage.gate().gate is Gate.OPEN_WITH_WAIVERS
    assert stage.heading(1) == "### 1. ⛔ Step 1"


def test_a_plan_whose_steps_were_all_waived_is_never_signed_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s 1.txt", ONCE), step(2, "test -s 2.txt", ONCE)])
    assert stage.drive({}) is None
    stage.answer(Choice.WAIVE)
    assert stage.drive({}) is None
    stage.answer(Choice.WAIVE)
    assert stage.drive({}) is Outcome.FAILED
    (finished,) = stage.entries(Kind.RUN_FINISHED)
    assert finished.data["why"] == "plan: every step was waived, so nothing was proved"


@pytest.mark.parametrize(
    ("option", "runs"), [("**effects:** external", 1), ("**holds:** at_step", 2)]
)
def test_what_is_judged_once_is_not_run_again_at_the_end(
    tmp_path: Path, option: str, runs: int
) -> None:
    contract = _counting(tmp_path, "count", "test -s one.txt")
    stage = Stage(tmp_path, [step(1, contract, option), step(2, "test -s two.txt")])

    def undo(workspace: Path) -> None:
        (workspace / "one.txt").unlink()
        write("two.txt")(workspace)

    assert stage.drive({("1", 1): write("one.txt"), ("2", 1): undo}) is Outcome.DONE
    assert _times(tmp_path, "count") == runs


def test_postconditions_are_judged_on_the_final_content(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt")], [post(1, "test -s all.txt")])
    assert stage.drive({("1", 1): _both("one.txt", "all.txt")}) is Outcome.DONE
    assert stage.story()[-2:] == ["verdict postcondition:1 sweep kept", "run.finished done"]


def test_a_broken_postcondition_asks_and_is_judged_again_on_retry(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt")], [post(1, "test -s all.txt")])
    assert stage.drive({("1", 1): write("one.txt")}) is None
    assert stage.questions() == [
        "postcondition 1 does not hold: Promise 1: exit code 1, expected 0"
    ]
    stage.answer(Choice.RETRY)
    assert stage.drive({}) is None, "nobody did anything about it"
    stage.answer(Choice.RETRY)
    stage.write("all.txt")
    assert stage.drive({}) is Outcome.DONE


def test_every_postcondition_that_does_not_hold_is_asked_about_at_once(tmp_path: Path) -> None:
    posts = [post(1, "test -s a.txt"), post(2, None), post(3, "test -s b.txt")]
    stage = Stage(tmp_path, [step(1, "test -s one.txt")], posts)
    assert stage.drive({("1", 1): write("one.txt")}) is None
    assert [q.split(":")[0] for q in stage.questions()] == [
        "postcondition 1 does not hold",
        "postcondition 2 is yours to judge",
        "postcondition 3 does not hold",
    ]
    for _ in range(3):
        stage.answer(Choice.WAIVE)
    assert stage.drive({}) is Outcome.DONE
    assert stage.gate().waived == ("postcondition:1", "postcondition:2", "postcondition:3")


def test_a_repair_makes_the_other_verdicts_stale_and_they_are_judged_again(
    tmp_path: Path,
) -> None:
    stage = Stage(
        tmp_path,
        [step(1, "test -s one.txt"), step(2, "test -s two.txt")],
        [post(1, "test ! -e junk.txt")],
    )
    assert stage.drive({("1", 1): write("one.txt"), ("2", 1): _both("two.txt", "junk.txt")}) is None
    (stage.root / "junk.txt").unlink()
    (stage.root / "one.txt").unlink()
    stage.answer(Choice.RETRY)
    assert stage.drive({("1", 2): write("one.txt")}) is Outcome.DONE
    assert "step.reopened 1" in stage.story()


def test_content_that_keeps_moving_is_never_signed_off(tmp_path: Path) -> None:
    """Somebody else writes into the workspace whenever the sweep has judged."""
    stage = Stage(tmp_path, [step(1, "test -s one.txt")])
    ticks = iter(range(10_000))

    def meddle(event: Event) -> None:
        if isinstance(event, Appended) and event.entry.kind in (Kind.VERDICT, Kind.STEP_DONE):
            stage.write("clock.txt", f"{next(ticks)}\n")

    stage.reporter.on_event = meddle
    with pytest.raises(ContentMoved):
        stage.drive({("1", 1): write("one.txt")})
    assert stage.entries(Kind.RUN_FINISHED) == []
    stage.reporter.on_event = lambda _: None
    assert stage.drive({}) is Outcome.DONE, "once it is quiet, the same command goes on"


def test_content_that_moved_once_is_judged_again_and_signed_off_as_it_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt")])

    def meddle(event: Event) -> None:
        if isinstance(event, Appended) and event.entry.kind is Kind.STEP_DONE:
            stage.write("late.txt")

    stage.reporter.on_event = meddle
    assert stage.drive({("1", 1): write("one.txt")}) is Outcome.DONE
    (finished,) = stage.entries(Kind.RUN_FINISHED)
    last = stage.entries(Kind.VERDICT)[-1]
    assert last.data["snapshot"] == finished.data["snapshot"]
    assert (stage.root / "late.txt").exists()
