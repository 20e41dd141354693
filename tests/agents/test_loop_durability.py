"""Transcripts: on disk after every turn, resumable from every end, compacted when they fill."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.agents.loop.limits import Ended
from signoff.errors import TranscriptUnusable
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.script import Script, Turn, refuse, say, use
from tests.agents.loopkit import QUICK, Stage, bash, write

WAIT_S = 120
# A sitting in a process of its own, with a model that works without end.
SITTING = """
import signal
import sys
from pathlib import Path
from signoff.testing.script import Script, say
from tests.agents.loopkit import Stage, bash
signal.signal(signal.SIGINT, signal.default_int_handler)
stage = Stage(Path(sys.argv[1]))
script = Script([bash("echo x >> made"), bash(sys.argv[2], timeout_s=300)], last_repeats=True)
report = stage.play(script)
print(report.ended)
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def _lines(stage: Stage) -> list[dict[str, object]]:
    path = stage.transcript.path
    assert path is not None
    return [json.loads(line) for line in path.read_text().splitlines()]


def _sitting(stage: Stage, command: str) -> subprocess.Popen[str]:
    repository = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", SITTING, str(stage.folder), command],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": f"{repository / 'src'}:{repository}"},
        stdout=subprocess.PIPE,
        text=True,
    )


def _until(condition: object) -> None:
    assert callable(condition)
    give_up = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < give_up, "it never happened"
        time.sleep(0.02)


def test_every_turn_is_a_line_with_what_it_took(stage: Stage) -> None:
    stage.play([use(write("a.txt", "x")), say("done")])
    lines = _lines(stage)
    assert [line["kind"] for line in lines] == ["begun", "told", "said", "told", "said", "ended"]
    assert lines[0]["schema_version"] == 1 and lines[0]["task"] == "do it"
    assert lines[2]["tokens_in"] == 100 and lines[2]["usd"] is None
    assert lines[3]["calls"] == 1
    assert lines[5]["ended"] == "answered"


def test_an_answer_is_on_disk_before_its_calls_are_made(stage: Stage) -> None:
    looks = f"cat {stage.transcript.path}"
    script = Script([bash(looks), say("done")])
    stage.play(script)
    assert '"kind": "said"' in script.received[1].results[0].text


def test_a_resumed_session_goes_on_with_everything_it_knew(stage: Stage) -> None:
    note = ScriptedCall("scratchpad", {"key": "k", "text": "kept"})
    first = stage.play(
        Script([use(note), bash("true")], last_repeats=True), limits=replace(QUICK, turns=3)
    )
    assert first.ended is Ended.LIMIT
    script = Script([use(ScriptedCall("scratchpad", {"key": "k"})), say("done")])
    report = stage.resume(script, limits=replace(QUICK, turns=10))
    assert report.ended is Ended.ANSWERED
    assert script.received[0].model_turns == 3
    assert script.received[1].results[0].text == "kept"
    assert (report.turns, report.calls, report.tokens_in) == (5, 4, 500)


def test_a_limit_counts_all_sittings_of_a_session(stage: Stage) -> None:
    limits = replace(QUICK, tokens=240)
    endless = Script([bash("true")], last_repeats=True)
    assert stage.play(endless, limits=limits).turns == 2
    again = stage.resume(endless, limits=limits)
    assert (again.ended, again.turns) == (Ended.LIMIT, 2)


def test_an_answered_session_can_be_given_more_to_do(stage: Stage) -> None:
    stage.play([say("done")])
    script = Script([say("and that too")])
    report = stage.resume(script, followup="now the tests")
    assert report.answer == "and that too"
    assert script.received[0].last_user_text == "now the tests"
    stage.resume(again := Script([say("yes")]))
    assert "The session is resumed" in again.received[0].last_user_text


def test_a_killed_process_leaves_a_session_that_can_be_resumed(stage: Stage) -> None:
    process = _sitting(stage, "echo begun > begun; sleep 300")
    _until((stage.work / "begun").exists)
    process.kill()
    process.communicate(timeout=WAIT_S)
    script = Script([say("done")])
    assert stage.resume(script).ended is Ended.ANSWERED
    (result,) = script.received[0].results
    assert "stopped before this call gave a result" in result.text
    assert script.received[0].model_turns == 2


@pytest.mark.parametrize("where", ["in a command", "anywhere"])
def test_ctrl_c_ends_the_sitting_and_keeps_it_resumable(stage: Stage, where: str) -> None:
    command = "echo begun > begun; sleep 300" if where == "in a command" else "echo begun > begun"
    process = _sitting(stage, command)
    _until((stage.work / "begun").exists)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=WAIT_S)
    assert printed.strip() == "interrupted"
    assert _lines(stage)[-1]["ended"] == "interrupted"
    assert stage.resume([say("done")]).ended is Ended.ANSWERED


def test_a_torn_last_line_costs_only_what_it_was_about(stage: Stage) -> None:
    stage.play([use(write("a.txt", "x")), refuse(400)])
    path = stage.transcript.path
    assert path is not None
    with path.open("a") as file:
        file.write('{"kind": "said", "messages": [{"parts')
    script = Script([say("done")])
    assert stage.resume(script).ended is Ended.ANSWERED
    assert stage.resume([say("again")]).ended is Ended.ANSWERED


def test_what_is_no_transcript_is_told_with_its_line(stage: Stage) -> None:
    with pytest.raises(TranscriptUnusable, match="no transcript"):
        stage.transcript.read()
    path = stage.transcript.path
    assert path is not None
    path.write_text('{"kind": "begun", "schema_version": 99, "task": "x"}\n')
    with pytest.raises(TranscriptUnusable, match=r"line 1 .* newer signoff"):
        stage.transcript.read()
    path.write_text('{"kind": "sung"}\n')
    with pytest.raises(TranscriptUnusable, match="line 1"):
        stage.transcript.read()


SMALL = replace(QUICK, context_tokens=1000)


def _filling(conversation: ScriptedRequest) -> Turn:
    """Works, says that its context fills, and summarises when asked without tools."""
    if not conversation.tools:
        return say("SUMMARY: wrote a file")
    if conversation.model_turns < 2 and "SUMMARY" not in conversation.last_user_text:
        return dataclasses.replace(
            bash("echo x >> made"), input_tokens=300 + 500 * conversation.model_turns
        )
    return say("done")


def test_a_full_context_is_replaced_by_a_summary_and_the_latest_exchange(stage: Stage) -> None:
    script = Script(respond=_filling)
    report = stage.play(script, "the whole task", limits=SMALL)
    assert (report.ended, report.compactions) == (Ended.ANSWERED, 1)
    summarised, last = script.received[-2:]
    assert "agent calls bash" in summarised.last_user_text and not summarised.tools
    assert "the whole task" in last.last_user_text
    assert "SUMMARY: wrote a file" in last.last_user_text
    assert last.model_turns == 1 and last.results[0].text == "exit code 0"
    assert report.tokens_in == 300 + 800 + 100 + 100, "the summary is paid for too"
    assert report.turns == 3, "a summary is no turn"


def test_a_compacted_session_resumes_from_the_summary(stage: Stage) -> None:
    stage.play(Script(respond=_filling), limits=SMALL)
    script = Script([say("done")])
    stage.resume(script)
    assert "SUMMARY: wrote a file" in script.received[0].messages[1].text


def test_a_conversation_that_the_provider_calls_too_long_is_compacted_once(stage: Stage) -> None:
    full = refuse(400, "too long", code="context_length_exceeded")
    report = stage.play([bash("true"), full, say("SUMMARY"), say("done")])
    assert (report.ended, report.compactions) == (Ended.ANSWERED, 1)
    report = stage.play([bash("true"), full, say("SUMMARY"), full])
    assert report.ended is Ended.MODEL_FAILED
    assert "too long even when compacted" in report.reason


def test_a_model_that_cannot_summarise_goes_on_from_the_end_of_the_record(stage: Stage) -> None:
    full = refuse(400, "too long", code="context_length_exceeded")
    script = Script([bash("echo remarkable"), full, refuse(400), say("done")])
    assert stage.play(script).ended is Ended.ANSWERED
    assert "remarkable" in script.received[-1].last_user_text
