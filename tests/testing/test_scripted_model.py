"""The scripted model in this process serves a whole agent, and can be interrupted."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai comes with the extra `llm`")

from pydantic_ai import Agent
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, ToolCallPart

from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, Turn, say, use

QUESTION = [ModelRequest.user_text_prompt("Count.")]


def test_an_agent_of_the_library_runs_on_it() -> None:
    script = Script([use(ScriptedCall("double", {"number": 21})), say("It is 42.")])
    agent = Agent(scripted_model(script, "mine"), instructions="Count well.")

    @agent.tool_plain
    def double(number: int) -> int:
        return 2 * number

    done = agent.run_sync("What is twice 21?")
    assert done.output == "It is 42."
    assert (done.usage.input_tokens, done.usage.output_tokens) == (200, 40)
    second = script.received[1]
    assert [result.text for result in second.results] == ["42"]
    assert second.model == "mine"
    assert second.system_text.startswith("Count well.")
    assert second.last_user_text == "What is twice 21?"


def test_a_harness_that_changes_arguments_changes_neither_script_nor_record() -> None:
    script = Script(
        [use(ScriptedCall("sort", {"names": ["b", "a"]})), say("ok")], last_repeats=True
    )
    agent = Agent(scripted_model(script))

    @agent.tool_plain
    def sort(names: list[str]) -> str:
        return ",".join(names)

    done = agent.run_sync("Sort.")
    for message in done.all_messages():
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                part.args_as_dict()["names"].sort()
    assert script.turns[0].calls[0].arguments == {"names": ["b", "a"]}
    asked = script.received[1].messages[-2].calls[0]
    assert asked.arguments == {"names": ["b", "a"]}


def test_settings_reach_the_script() -> None:
    script = Script([say("ok")])
    Agent(scripted_model(script)).run_sync("Hi", model_settings={"temperature": 0.5})
    assert script.received[0].body["settings"]["temperature"] == 0.5


def test_what_its_function_raises_comes_through() -> None:
    def respond(_: ScriptedRequest) -> Turn:
        raise LookupError("no plan was sent")

    with pytest.raises(LookupError, match="no plan was sent"):
        Agent(scripted_model(Script(respond=respond))).run_sync("Hi")


def test_a_stream_can_be_cancelled_between_chunks() -> None:
    script = Script([say("one ", "two ", "three")])

    async def hear_two_events() -> tuple[str | None, str]:
        async with model_request_stream(scripted_model(script), QUESTION) as stream:
            async for _ in stream:
                await stream.cancel()
        return stream.get().text, stream.get().state

    assert asyncio.run(hear_two_events()) == ("one ", "interrupted")


def test_a_wait_for_the_first_byte_can_be_cancelled() -> None:
    script = Script([Turn(("late",), first_byte_s=30.0)])

    async def hurry() -> None:
        async with asyncio.timeout(0.1):
            async with model_request_stream(scripted_model(script), QUESTION):
                pass

    with pytest.raises(TimeoutError):
        asyncio.run(hurry())


def test_a_wait_between_chunks_can_be_cancelled_after_the_first() -> None:
    script = Script([Turn(("one ", "two"), between_chunks_s=30.0)])
    heard: list[str | None] = []

    async def hurry() -> None:
        async with model_request_stream(scripted_model(script), QUESTION) as stream:
            async with asyncio.timeout(None) as limit:
                async for _ in stream:
                    heard.append(stream.get().text)
                    limit.reschedule(asyncio.get_running_loop().time() + 0.1)

    with pytest.raises(TimeoutError):
        asyncio.run(hurry())
    assert set(heard) == {"one "}


def _python(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_without_the_library_the_way_to_get_it_is_named() -> None:
    program = """
import sys
sys.modules["pydantic_ai"] = None
from signoff.errors import ExtraMissing
try:
    from signoff.testing.model import scripted_model
except ExtraMissing as error:
    print(error, error.hint, sep="; ")
"""
    said = _python(program)
    assert said.startswith("a scripted model needs pydantic-ai, which is not installed; ")
    assert "pip install" in said and "[llm]" in said and sys.executable in said


def test_crash_points_load_nothing_of_the_scripted_model() -> None:
    program = "import sys, signoff.testing.crash; print(*sys.modules)"
    loaded = set(_python(program).split())
    assert "signoff.testing.crash" in loaded
    heavy = {"dataclasses", "threading", "json", "pydantic_ai", "uuid"}
    assert not loaded & (heavy | {"signoff.testing.script", "signoff.testing.model"})
