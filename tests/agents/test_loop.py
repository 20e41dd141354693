"""The loop itself: ask, act, answer; limits, oddities of models, what is told to them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.agents.loop.limits import Ended, LoopLimits
from signoff.agents.tools.definition import tool
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.errors import UsageError
from signoff.testing.conversation import ScriptedCall
from signoff.testing.script import Script, Turn, say, use
from signoff.toolbatch.opening import Parts
from tests.agents.loopkit import QUICK, Stage, bash, write

PLAIN = Parts(steering=False)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_model_works_with_tools_and_its_answer_ends_the_loop(stage: Stage) -> None:
    script = Script([use(write("a.txt", "one\n")), bash("cat a.txt"), say("It ", "is done.")])
    report = stage.play(script)
    assert report.ended is Ended.ANSWERED
    assert report.answer == stage.told.text == "It is done."
    assert (stage.work / "a.txt").read_text() == "one\n"
    assert (report.turns, report.calls, report.failed_calls) == (3, 2, 0)
    assert (report.tokens_in, report.tokens_out) == (300, 60)
    assert script.received[2].results[0].text == "exit code 0\n--- stdout\none"


def test_the_model_is_told_the_task_the_manners_and_the_tools(stage: Stage) -> None:
    script = Script([say("done")])
    stage.play(script, "count the files")
    (asked,) = script.received
    assert asked.last_user_text == "count the files"
    assert "say so and why: that is an honest end" in asked.system_text
    assert [t.name for t in asked.tools] == [t.name for t in STANDARD_TOOLS]
    assert all(t.description and t.parameters["type"] == "object" for t in asked.tools)


def test_the_system_prompt_can_be_replaced(stage: Stage) -> None:
    script = Script([say("done")])
    stage.play(script, system="Speak like a pirate.")
    assert script.received[0].system_text == "Speak like a pirate."


def test_tools_of_the_caller_stand_beside_the_standard_ones(stage: Stage) -> None:
    @tool(effects={"read"})
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    stage.tools = [*STANDARD_TOOLS, weather]
    script = Script([use(ScriptedCall("weather", {"city": "Ulm"})), say("rain")])
    stage.play(script)
    assert script.received[1].results[0].text == "rain in Ulm"
    stage.tools = [weather, weather]
    with pytest.raises(UsageError, match="two tools are called `weather`"):
        stage.play([say("x")])


def test_calls_of_one_answer_are_made_in_their_order(stage: Stage) -> None:
    calls = [ScriptedCall("bash", {"command": f"echo {n} >> order; cat order"}) for n in (1, 2, 3)]
    script = Script([use(*calls), say("done")])
    stage.play(script)
    assert (stage.work / "order").read_text() == "1\n2\n3\n"
    assert [r.text.count("\n") for r in script.received[1].results] == [2, 3, 4]


def test_too_many_calls_in_one_answer_are_refused_and_none_is_lost(stage: Stage) -> None:
    calls = [ScriptedCall("bash", {"command": "echo x >> made"}) for _ in range(60)]
    script = Script([use(*calls), say("done")])
    assert stage.play(script).ended is Ended.ANSWERED
    assert (stage.work / "made").read_text().count("x") == 50
    assert len(script.received[1].results) == 60
    assert "make this one again" in script.received[1].results[59].text


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (ScriptedCall("rm_rf", {}), "there is no tool `rm_rf`; there are: `read`, `write`"),
        (ScriptedCall("bash", '{"command": "tr'), "the arguments are not valid JSON"),
        (ScriptedCall("bash", {"cmd": "true"}), "`command` is missing"),
        (ScriptedCall("bash", ""), "`command` is missing"),
        (ScriptedCall("read", {"path": "absent"}), "no file"),
    ],
)
def test_a_call_that_makes_no_sense_comes_back_as_text(
    stage: Stage, call: ScriptedCall, says: str
) -> None:
    script = Script([use(call), say("done")])
    report = stage.play(script)
    assert report.ended is Ended.ANSWERED and report.failed_calls == 1
    (result,) = script.received[1].results
    assert says in result.text and result.text.startswith("error: ")


def test_an_empty_answer_is_asked_for_again_and_is_no_answer(stage: Stage) -> None:
    script = Script([Turn(), say("  \n"), say("done")])
    assert stage.play(script).answer == "done"
    assert "Your answer was empty" in script.received[1].last_user_text
    assert script.requests == 3


def test_an_answer_that_was_cut_off_does_not_count_as_final(stage: Stage) -> None:
    script = Script([Turn(("All five files are",), cut_off=True), say("done")])
    assert stage.play(script).answer == "done"
    assert "does not count as final" in script.received[1].last_user_text


def test_a_model_that_does_nothing_turn_after_turn_is_stopped(stage: Stage) -> None:
    for turn in (Turn(), use(ScriptedCall("nothing"))):
        report = stage.play(Script([turn], last_repeats=True), parts=PLAIN)
        assert report.ended is Ended.STUCK
        assert report.turns == QUICK.fruitless
    mixed = [bash("exit 1")] * 6 + [bash("true")] + [bash("exit 1")] * 6 + [say("done")]
    assert stage.play(mixed, parts=PLAIN).ended is Ended.ANSWERED


def test_a_command_that_says_no_is_something_learned_the_first_time_only(stage: Stage) -> None:
    report = stage.play(Script([bash("exit 1")], last_repeats=True), parts=PLAIN)
    assert (report.ended, report.turns) == (Ended.STUCK, QUICK.fruitless + 1)
    others = [bash(f"exit {n}") for n in range(1, 20)]
    assert stage.play([*others, say("done")], parts=PLAIN).ended is Ended.ANSWERED


def test_the_limit_of_turns_ends_the_loop_and_says_so(stage: Stage) -> None:
    report = stage.play(Script([bash("true")], last_repeats=True), limits=replace(QUICK, turns=3))
    assert report.ended is Ended.LIMIT
    assert (report.turns, report.reason) == (3, "the limit of 3 turns is reached")


def test_the_limit_of_tokens_counts_both_directions(stage: Stage) -> None:
    script = Script([bash("true")], last_repeats=True)
    report = stage.play(script, limits=replace(QUICK, tokens=300))
    assert report.ended is Ended.LIMIT
    assert report.tokens == 360 and report.turns == 3
    assert report.reason == "the limit of 300 tokens is reached (360 used)"


def test_answers_without_counts_are_estimated_so_that_the_limit_still_holds(stage: Stage) -> None:
    silent = dataclasses.replace(bash("true"), input_tokens=0, output_tokens=0)
    report = stage.play(
        Script([silent], last_repeats=True), "x" * 4000, limits=replace(QUICK, tokens=5000)
    )
    assert report.ended is Ended.LIMIT and 3 <= report.turns <= 5


def test_a_limit_in_money_needs_a_known_price(stage: Stage) -> None:
    report = stage.play(Script([bash("true")], last_repeats=True), limits=replace(QUICK, usd=1.0))
    assert report.ended is Ended.LIMIT and report.turns == 1
    assert "price of this model is not known" in report.reason
    assert report.usd is None


def test_the_limit_in_money_counts_what_the_provider_charges(stage: Stage) -> None:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from tests.scripted.server import ScriptedServer

    dear = dataclasses.replace(bash("true"), input_tokens=1_000_000)
    dear_limits = replace(QUICK, usd=4.0, context_tokens=10_000_000)
    with ScriptedServer(Script([dear], last_repeats=True)) as server:
        provider = OpenAIProvider(base_url=server.openai_url, api_key="none")
        model = OpenAIChatModel("gpt-4o", provider=provider)
        report = stage.play([say("unused")], model=model, limits=dear_limits)
    assert report.ended is Ended.LIMIT, report
    assert report.usd is not None and report.usd >= 4.0
    assert 1 < report.turns < 10


def test_a_command_does_not_outlast_the_time_of_the_session(stage: Stage) -> None:
    script = Script([bash("sleep 300", timeout_s=300), say("done")])
    report = stage.play(script, limits=replace(QUICK, wall_s=1.0))
    assert report.ended is Ended.LIMIT
    assert "minutes is reached" in report.reason
    assert script.requests == 1


def test_a_model_that_never_answers_does_not_outlast_it_either(stage: Stage) -> None:
    slow = Script([Turn(("late",), first_byte_s=50.0)], last_repeats=True)
    report = stage.play(slow, limits=replace(QUICK, wall_s=0.5))
    assert report.ended is Ended.LIMIT


def test_every_conversation_that_is_sent_is_one_that_real_apis_accept(stage: Stage) -> None:
    # A script refuses, with status 400, a call without a result and a result without a call.
    turns = [
        use(ScriptedCall("a"), ScriptedCall("b")),
        bash("true"),
        Turn(),
        bash("true"),
        Turn(cut_off=True),
        say(" "),
        say("y"),
    ]
    script = Script(turns)
    assert stage.play(script).ended is Ended.ANSWERED
    for request in script.received:
        assert all(m.text.strip() or m.calls or m.results for m in request.messages)


def test_limits_are_what_they_say_by_default() -> None:
    assert LoopLimits().turns == 200
    assert LoopLimits().usd is None and LoopLimits().tokens is None
