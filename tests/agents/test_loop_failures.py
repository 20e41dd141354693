"""Models fail: what passes is tried again, what does not ends the loop with its reason."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from signoff.agents.loop.asking import open_model
from signoff.agents.loop.limits import Ended
from signoff.errors import ModelUnusable
from signoff.testing.script import FailureKind, Script, Turn, refuse, say, use
from tests.agents.loopkit import QUICK, Stage, bash, write
from tests.scripted.server import ScriptedServer

PASSING = [
    refuse(429),
    refuse(500),
    refuse(503),
    refuse(529),
    say("partly", failure=FailureKind.DROPPED),
    say("partly", failure=FailureKind.CUT_SHORT),
    say("partly", failure=FailureKind.MALFORMED),
]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.parametrize("turn", PASSING, ids=lambda t: f"{t.failure.kind}-{t.failure.status}")
def test_a_failure_that_passes_is_tried_again(stage: Stage, turn: Turn) -> None:
    report = stage.play([turn, turn, say("done")])
    assert (report.ended, report.answer, report.retries) == (Ended.ANSWERED, "done", 2)
    assert report.turns == 1, "what never came is no turn"
    assert all("trying again in" in note for note in stage.told.notes)


def test_a_failure_that_stays_ends_the_loop_after_some_tries(stage: Stage) -> None:
    script = Script([refuse(503, "overloaded")], last_repeats=True)
    report = stage.play(script, limits=replace(QUICK, retries=3))
    assert report.ended is Ended.MODEL_FAILED
    assert script.requests == 4
    assert "status 503" in report.reason and "4 times in a row" in report.reason


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_a_request_that_was_rejected_is_not_sent_again(stage: Stage, status: int) -> None:
    script = Script([refuse(status, "no such model")], last_repeats=True)
    report = stage.play(script)
    assert report.ended is Ended.MODEL_FAILED
    assert script.requests == 1
    assert "no such model" in report.reason and f"status {status}" in report.reason


def test_the_wait_that_the_provider_asks_for_is_kept(stage: Stage) -> None:
    began = time.monotonic()
    report = stage.play([refuse(429, retry_after_s=0.5), say("done")])
    assert report.ended is Ended.ANSWERED
    assert time.monotonic() - began >= 0.5
    assert stage.told.notes[0].endswith("trying again in 0.5 s")


def test_a_wait_that_is_too_long_ends_the_loop_instead(stage: Stage) -> None:
    report = stage.play([refuse(429, retry_after_s=3600.0), say("done")])
    assert report.ended is Ended.MODEL_FAILED
    assert "asks to wait 3600 s" in report.reason


def test_a_wait_beyond_the_time_limit_is_not_begun(stage: Stage) -> None:
    limits = replace(QUICK, wall_s=30.0, longest_wait_s=600.0)
    report = stage.play([refuse(429, retry_after_s=300.0), say("done")], limits=limits)
    assert report.ended is Ended.MODEL_FAILED and "the time is over" in report.reason
    assert not any("trying again" in note for note in stage.told.notes)


@pytest.mark.parametrize(("kind", "asked"), [("odd", 7), ("misused", 1)])
def test_what_the_library_itself_raises_ends_the_loop_in_words(
    stage: Stage, kind: str, asked: int
) -> None:
    requests: list[int] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        requests.append(len(messages))
        raise UnexpectedModelBehavior("odd") if kind == "odd" else UserError("misused")
        yield ""

    report = stage.play([say("unused")], model=FunctionModel(stream_function=answer))
    assert report.ended is Ended.MODEL_FAILED and kind in report.reason
    assert len(requests) == asked


def test_a_failure_in_the_middle_can_be_resumed_where_it_was(stage: Stage) -> None:
    broken = stage.play([use(write("a.txt", "one")), refuse(400, "no credit")])
    assert broken.ended is Ended.MODEL_FAILED
    script = Script([bash("cat a.txt"), say("done")])
    assert stage.resume(script).ended is Ended.ANSWERED
    assert script.received[0].model_turns == 1


def test_what_a_provider_says_cannot_write_on_the_terminal(stage: Stage) -> None:
    report = stage.play([refuse(400, "\x1b[2Jcleared\nDone.")])
    assert "\x1b" not in report.reason and "\n" not in report.reason


@pytest.mark.parametrize(
    ("named", "attribute"),
    [
        ("openai:some-model", "openai_url"),
        ("openai-responses:some-model", "openai_url"),
        ("anthropic:some-model", "root_url"),
        ("google-gla:some-model", "root_url"),
    ],
)
def test_every_provider_is_driven_over_http(stage: Stage, named: str, attribute: str) -> None:
    script = Script(
        [refuse(500), use(write("a.txt", "x"), write("b.txt", "y")), bash("ls"), say("do", "ne")]
    )
    with ScriptedServer(script) as server:
        model = open_model(named, getattr(server, attribute), {})
        report = stage.play([say("unused")], model=model)
    assert (report.ended, report.answer) == (Ended.ANSWERED, "done")
    assert sorted(p.name for p in stage.work.iterdir()) == ["a.txt", "b.txt"]
    assert report.tokens_in == 300 and report.retries == 1
    assert "a.txt\nb.txt" in script.received[3].results[0].text
    assert all(request.streamed for request in script.received)


@pytest.mark.parametrize("named", ["", "gpt-5", "openai:", "nobody:model", ":x"])
def test_a_name_that_is_no_model_is_told_with_the_form_it_should_have(named: str) -> None:
    with pytest.raises(ModelUnusable):
        open_model(named, None, {})
    with pytest.raises(ModelUnusable):
        open_model(named, "http://127.0.0.1:1", {})


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelUnusable, match="ANTHROPIC_API_KEY"):
        open_model("anthropic:claude-haiku-4-5", None, {})
