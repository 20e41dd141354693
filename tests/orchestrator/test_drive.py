"""One drive: the ledger decides what comes next, and whoever watches is told data."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from signoff.domain.ledger import Cause, Choice, Kind, Outcome
from signoff.errors import AlreadyAccepted, Fenced, Interrupted
from signoff.orchestrator.drive import Drive
from signoff.orchestrator.events import Appended, Doing, Driving, Event, Printed
from tests.orchestrator.stage import Recorder, Stage, step, write

TWO = [step(1, "test -s one.txt"), step(2, "test -s two.txt")]
WORK = {("1", 1): write("one.txt"), ("2", 1): write("two.txt")}


def test_a_plan_is_driven_to_its_sign_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    assert stage.drive(WORK) is Outcome.DONE
    assert stage.story() == [
        "run.started",
        "verdict 1 before broken",
        "attempt.started 1 1",
        "attempt.finished 1 1",
        "verdict 1 attempt kept",
        "step.done 1",
        "verdict 2 before broken",
        "attempt.started 2 1",
        "attempt.finished 2 1",
        "verdict 2 attempt kept",
        "step.done 2",
        "verdict 1 sweep kept",
        "run.finished done",
    ]


def test_what_an_action_left_is_not_looked_at_again_by_the_next(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    folder = stage.root / "src"
    folder.mkdir()
    (folder / "file").write_text("source")
    work = stage.work(WORK)
    listed = _listings_of(folder)
    assert Drive(work).drive() is Outcome.DONE
    # After each of five checks; before the first, and the first of the sweep; after each of two
    # attempts; and as the sweep begins and ends.
    assert len(listed) == 5 + 2 + 2 + 2


def _listings_of(folder: Path) -> list[Path]:
    """Grows whenever this process lists the folder by a descriptor."""
    listed: list[Path] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.scandir" and isinstance(arguments[0], int):
            place = Path(f"/proc/self/fd/{arguments[0]}").readlink()
            if place == folder:
                listed.append(place)

    sys.addaudithook(note)
    return listed


def test_everything_is_told_as_data_in_order(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt")])
    stage.drive({("1", 1): write("one.txt")})
    first, *told = [e for e in stage.reporter.events if not isinstance(e, Appended)]
    assert isinstance(first, Driving) and first.state.record("1").done, "it goes on with the run"
    assert told == [Doing("1", "judging"), Doing("1", "coder works"), Doing("1", "judging")]
    entries = [e.entry for e in stage.reporter.events if isinstance(e, Appended)]
    recorded = [e for e in stage.entries() if e.run is not None]
    assert entries == recorded[1:], "told exactly what the ledger holds"


def test_what_an_agent_prints_is_told_as_bytes_and_kept_as_a_tail(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt")])
    stage.drive({("1", 1): lambda _: b"\x1b[31mstep.done 1\xff\n"})
    (finished, *_) = stage.entries(Kind.ATTEMPT_FINISHED)
    assert finished.data["output_tail"] == "\x1b[31mstep.done 1\ufffd"
    assert not [e for e in stage.reporter.events if isinstance(e, Printed)], "it ran no process"


def test_claims_without_work_are_refused_until_a_person_is_asked(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    assert stage.drive({}) is None
    assert stage.questions() == [
        "step 1 (Step 1) is broken after 2 attempts: exit code 1, expected 0; the same content "
        "failed the same way twice, so another attempt was not made"
    ]
    assert len(stage.agent.prompts) == 2
    assert "An earlier attempt at this step did not count." not in stage.agent.prompts["1", 1]
    assert "An earlier attempt at this step did not count." in stage.agent.prompts["1", 2]
    assert stage.entries(Kind.STEP_DONE) == []
    assert stage.heading(1) == "### 1. ⛔ Step 1"


def test_driving_on_while_a_person_is_asked_does_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    stage.drive({})
    before = stage.story()
    assert stage.drive(WORK) is None
    assert stage.story() == before


def test_a_retry_answered_by_a_person_gives_the_step_its_attempts_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    stage.drive({})
    stage.answer(Choice.RETRY)
    script = {("1", 4): write("one.txt"), ("2", 1): write("two.txt")}
    assert stage.drive(script) is Outcome.DONE


def test_an_answer_given_while_the_drive_runs_is_seen_before_it_waits(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt", "**on_fail:** escalate")])

    def answer_at_once(event: Event) -> None:
        if isinstance(event, Appended) and event.entry.kind is Kind.ESCALATION_OPENED:
            stage.answer(Choice.RETRY)

    stage.reporter.on_event = answer_at_once
    assert stage.drive({("1", 2): write("one.txt")}) is Outcome.DONE


@pytest.mark.parametrize(
    ("choice", "outcome", "status"),
    [
        (Choice.ABORT, Outcome.FAILED, "status: failed"),
        (Choice.REVISE, Outcome.REVISED, "status: draft"),
    ],
)
def test_a_person_can_end_the_run(
    tmp_path: Path, choice: Choice, outcome: Outcome, status: str
) -> None:
    stage = Stage(tmp_path, TWO)
    stage.drive({})
    stage.answer(choice)
    assert stage.drive(WORK) is outcome
    assert stage.status() == status
    assert stage.drive(WORK) is outcome, "what is over stays over"
    assert len(stage.entries(Kind.RUN_FINISHED)) == 1
    assert bool(stage.entries(Kind.PLAN_DRAFTED)) == (choice is Choice.REVISE)


def test_the_policy_abort_ends_the_run_as_failed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt", "**on_fail:** retry(1), then abort")])
    assert stage.drive({}) is Outcome.FAILED
    (failed,) = stage.entries(Kind.STEP_FAILED)
    assert failed.data["message"] == "exit code 1, expected 0"
    assert stage.heading(1) == "### 1. ❌ Step 1"


def test_a_contract_that_held_before_is_recorded(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test ! -e bad.txt")])
    assert stage.drive({("1", 1): write("noise.txt")}) is Outcome.DONE
    assert stage.gate().steps[0].held_before is True


def test_red_first_required_asks_before_any_agent_is_started(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test ! -e bad.txt", "**red_first:** required")])
    assert stage.drive({}) is None
    assert stage.questions()[0].startswith("the contract of step 1 (Step 1) already holds")
    assert stage.entries(Kind.ATTEMPT_STARTED) == []
    stage.answer(Choice.RETRY)
    assert stage.drive({}) is Outcome.DONE


def test_a_persons_step_waits_for_the_person_and_is_judged_all_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt", target="human")])
    assert stage.drive({}) is None
    assert stage.questions() == [
        "step 1 (Step 1) is yours to do; answer retry when it can be judged"
    ]
    stage.answer(Choice.RETRY)
    assert stage.drive({}) is None, "it was not done"
    stage.answer(Choice.RETRY)
    stage.write("one.txt")
    while stage.drive({}) is None:
        stage.answer(Choice.RETRY)
    assert stage.entries(Kind.RUN_FINISHED)[0].data["outcome"] == "done"


def test_a_driver_that_was_replaced_cannot_append(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    late = Drive(stage.work(WORK))
    assert stage.drive(WORK) is Outcome.DONE
    before = stage.story()
    with pytest.raises(Fenced):
        late.append(late.draft(Kind.STEP_DONE, {"key": "k"}, "1"))
    assert stage.story() == before


def test_a_driver_that_is_replaced_while_its_agent_works_accepts_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)

    def overtaken(workspace: Path) -> None:
        write("one.txt")(workspace)
        other = stage.work()
        other.ledger.append(other.plan_id, [], fence=other.fence)

    with pytest.raises(Fenced):
        stage.drive({("1", 1): overtaken})
    assert stage.story()[-1] == "attempt.started 1 1"


def test_a_step_is_accepted_once_in_a_run_whoever_tries(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    stage.drive(WORK)
    again = Drive(stage.work())
    again.catch_up()
    with pytest.raises(AlreadyAccepted):
        again.append(again.draft(Kind.STEP_DONE, {"key": "k"}, "1"))


def test_an_interruption_between_two_actions_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    stage.cancelled = lambda: bool(stage.entries(Kind.STEP_DONE))
    with pytest.raises(Interrupted):
        stage.drive(WORK)
    stage.cancelled = lambda: False
    assert stage.drive(WORK) is Outcome.DONE
    assert [k for k in stage.story() if k.startswith("attempt.started 1")] == [
        "attempt.started 1 1"
    ]


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_attempt_whose_driver_died_is_abandoned_and_repeated(tmp_path: Path, when: str) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt", "**on_fail:** escalate")])

    def die(workspace: Path) -> None:
        if when == "after":
            write("one.txt")(workspace)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage.drive({("1", 1): die})
    assert stage.drive({("1", 2): write("one.txt")}) is Outcome.DONE
    assert "attempt.finished 1 1 lost" in stage.story()
    assert "verdict 1 attempt kept" in stage.story()
    started = [s for s in stage.story() if s.startswith("attempt.started")]
    assert started == ["attempt.started 1 1", "attempt.started 1 2"], "not counted as a failure"


def test_a_run_that_is_ended_early_leaves_no_attempt_open(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path, [step(1, "test -s one.txt"), step(2, "test -s two.txt", "**needs:** 1")]
    )

    def die(_: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage.drive({("1", 1): die})
    drive = Drive(stage.work())
    drive.catch_up()
    drive.append(drive.question(Cause.PLAN_EDITED, "go on?", None, None))
    stage.answer(Choice.ABORT)
    assert stage.drive({}) is Outcome.FAILED
    assert "attempt.finished 1 1 lost" in stage.story()


def test_a_reporter_sees_each_run_apart(tmp_path: Path) -> None:
    stage = Stage(tmp_path, TWO)
    stage.drive({})
    first = stage.reporter.kinds
    assert first.count("attempt.started 1") == 2
    stage.reporter = Recorder()
    stage.drive({})
    assert stage.reporter.kinds == []


def test_an_unlisted_attempt_of_the_scripted_agent_only_claims(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [step(1, "test -s one.txt", "**on_fail:** escalate")])
    stage.drive({})
    assert stage.entries(Kind.ATTEMPT_FINISHED)[0].data["output_tail"] == "I am done."
    assert list(stage.agent.prompts) == [("1", 1)]
