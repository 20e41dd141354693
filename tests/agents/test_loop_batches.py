"""The loop on the tool-batch runtime: steering, judging what is handed over, halting, undoing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import signoff
from signoff.agents.loop.limits import Ended
from signoff.domain.ledger import Kind
from signoff.domain.session import SessionStanding
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, Turn, say, use
from signoff.toolbatch.opening import Parts
from signoff.toolbatch.view import BatchLimits
from signoff.usecases.agent import AgentReport
from tests.agents.loopkit import QUICK, Stage, bash, entries, write
from tests.unconfined import UNCONFINED

PLAIN = Parts(steering=False)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    config = tmp_path / "config.toml"
    config.write_text(UNCONFINED)
    monkeypatch.setenv("SIGNOFF_CONFIG", str(config))
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "work"
    folder.mkdir()
    yield folder


def run(work: Path, turns: Script | list[Turn], task: str, **options: Any) -> AgentReport:
    script = turns if isinstance(turns, Script) else Script(turns)
    return signoff.run_agent(task, model=scripted_model(script), workspace=work, **options)


def read(path: str) -> ScriptedCall:
    return ScriptedCall("read", {"path": path})


def test_what_is_next_is_told_with_the_results_in_one_request(stage: Stage) -> None:
    script = Script([use(write("site/a.md", "# a")), use(write("site/b.md", "# b")), say("done")])
    stage.play(script, "Create `site/a.md` and `site/b.md`.")
    second = script.received[1]
    assert second.results[-1].text.startswith("wrote site/a.md")
    assert "`site/b.md`" in second.last_user_text
    assert second.model_turns == 1


def test_reading_the_same_again_is_not_done_again_and_is_no_error(stage: Stage) -> None:
    (stage.work / "a.txt").write_text("one\n")
    script = Script([use(read("a.txt")), use(read("a.txt")), say("done")])
    report = stage.play(script)
    assert "one" in script.received[1].results[-1].text
    assert script.received[2].results[-1].text.startswith("duplicate: ")
    assert (report.calls, report.failed_calls) == (2, 0)


def test_without_steering_the_loop_is_as_it_was(stage: Stage) -> None:
    (stage.work / "a.txt").write_text("one\n")
    script = Script([use(read("a.txt")), use(read("a.txt")), say("done")])
    stage.play(script, "Create `b.md`.", parts=PLAIN)
    assert script.received[1].results[-1].text == script.received[2].results[-1].text
    assert script.requests == 3


def test_three_errors_in_a_row_end_the_sitting_openly(stage: Stage) -> None:
    report = stage.play(Script([bash("no-such-command")], last_repeats=True))
    assert (report.ended, report.turns) == (Ended.STUCK, 3)
    assert "3 calls in a row failed" in report.reason
    assert "not done" in report.reason


def test_a_user_sets_how_many(stage: Stage) -> None:
    parts = Parts(limits=BatchLimits(errors=5))
    report = stage.play(Script([bash("no-such-command")], last_repeats=True), parts=parts)
    assert report.turns == 5


def test_an_answer_that_comes_too_early_is_told_what_is_missing_some_times(stage: Stage) -> None:
    script = Script([say("All done!")], last_repeats=True)
    report = stage.play(script, "Create `a.md`.")
    assert report.ended is Ended.ANSWERED
    assert report.turns == 3
    assert "`a.md`" in script.received[1].last_user_text


def test_after_a_compaction_a_file_may_be_read_again(stage: Stage) -> None:
    (stage.work / "a.txt").write_text("one\n")
    long = "x" * 40_000

    def respond(conversation: ScriptedRequest) -> Turn:
        if not conversation.tools:
            return say("we read a.txt")
        match conversation.model_turns:
            case 0:
                return use(read("a.txt"), ScriptedCall("bash", {"command": f"echo {long}"}))
            case _ if conversation.results and "one" in conversation.results[-1].text:
                return say("done")
        return use(read("a.txt"))

    limits = replace(QUICK, context_tokens=100, turns=8)
    script = Script(respond=respond)
    report = stage.play(script, limits=limits)
    assert report.compactions >= 1
    texts = [r.text for request in script.received for r in request.results]
    assert not any(text.startswith("duplicate: ") for text in texts)


def test_looks_of_one_answer_are_recorded_in_their_order(work: Path) -> None:
    for name in "abc":
        (work / f"{name}.txt").write_text(name)
    report = run(work, [use(*(read(f"{n}.txt") for n in "abc")), say("done")], "look around")
    calls = [data for kind, data in entries(work, report.loop.session) if kind is Kind.TOOL_CALLED]
    assert [list(data["reads"]) for data in calls] == [["a.txt"], ["b.txt"], ["c.txt"]]


def test_a_task_without_a_plan_gets_one_from_what_it_names(work: Path) -> None:
    script = Script([use(write("a.md", "# a")), say("written")])
    report = run(work, script, "Create `a.md`.")
    assert report.standing is SessionStanding.KEPT_SELF_SET
    assert report.plan is not None and report.plan.proved


def test_a_halt_is_on_record(work: Path) -> None:
    report = run(work, Script([bash("no-such-command")], last_repeats=True), "do it")
    assert report.loop.ended is Ended.STUCK
    halts = [d for k, d in entries(work, report.loop.session) if k is Kind.TURN_HALTED]
    assert len(halts) == 1 and "3 calls in a row failed" in halts[0]["text"]


def test_every_change_is_kept_with_what_was_there(work: Path) -> None:
    (work / "a.txt").write_text("before")
    turns = [use(write("a.txt", "after")), bash("rm a.txt; mkdir x; touch x/y"), say("done")]
    report = run(work, turns, "change things")
    kept = [d for k, d in entries(work, report.loop.session) if k is Kind.ROLLBACK_KEPT]
    assert [[f[0] for f in one["files"]] for one in kept] == [["a.txt"], ["a.txt", "x/y"]]


def test_a_tool_of_somebody_else_is_never_taken_for_a_duplicate(stage: Stage) -> None:
    asked: list[int] = []

    @signoff.tool(effects={"read"}, name="read")
    def own(path: str) -> str:
        """Reads in its own way."""
        asked.append(1)
        return f"{path} {len(asked)}"

    stage.tools = [own]
    script = Script([use(read("a")), use(read("a")), say("done")])
    stage.play(script)
    assert len(asked) == 2
