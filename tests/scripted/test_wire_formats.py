"""Real client libraries understand the scripted model, in every format and in this process."""

from __future__ import annotations

import pytest

for library in ("pydantic_ai", "openai", "anthropic", "google.genai"):
    pytest.importorskip(library, reason="client libraries come with the extra `llm`")

from pydantic_ai import exceptions  # noqa: E402 - only where the libraries are
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart  # noqa: E402
from pydantic_ai.settings import ModelSettings  # noqa: E402

from signoff.testing.conversation import (  # noqa: E402
    Message,
    ScriptedCall,
    ScriptedRequest,
    Speaker,
    ToolResult,
)
from signoff.testing.script import FailureKind, Script, Turn, refuse, say, use  # noqa: E402
from tests.scripted.asking import (  # noqa: E402
    FIRST,
    KEY,
    MODEL,
    OVER_HTTP,
    SETTINGS,
    ask,
    returned,
)
from tests.scripted.formats import Api  # noqa: E402

LS, PWD = ScriptedCall("bash", {"command": "ls"}), ScriptedCall("bash", {"command": "pwd — ünï"})
everywhere = pytest.mark.parametrize("api", list(Api))
over_http = pytest.mark.parametrize("api", OVER_HTTP)
both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@both_ways
@everywhere
def test_text_and_usage_arrive(api: Api, streamed: bool) -> None:
    script = Script([Turn(("Hel", "lo, ", "wörld"), input_tokens=1234, output_tokens=56)])
    answer = ask(script, api, streamed=streamed)
    assert answer.error is None
    assert answer.text == "Hello, wörld"
    assert (answer.message.usage.input_tokens, answer.message.usage.output_tokens) == (1234, 56)
    assert (answer.message.finish_reason, answer.message.state) == ("stop", "complete")
    assert script.requests == 1


@everywhere
def test_a_stream_brings_the_chunks_as_they_were_said(api: Api) -> None:
    answer = ask(Script([say("one ", "two ", "three")]), api, streamed=True)
    assert [piece for piece in answer.pieces if piece] == ["one ", "two ", "three"]


@both_ways
@everywhere
def test_parallel_calls_come_with_text_ids_and_arguments(api: Api, streamed: bool) -> None:
    answer = ask(Script([say("I will look.", calls=[LS, PWD])]), api, streamed=streamed)
    assert answer.text == "I will look."
    assert [call.tool_name for call in answer.calls] == ["bash", "bash"]
    assert [call.args_as_dict() for call in answer.calls] == [LS.arguments, PWD.arguments]
    ids = [call.tool_call_id for call in answer.calls]
    assert len({*ids, ""}) == 3


@both_ways
@everywhere
def test_results_of_calls_come_back_in_one_shape(api: Api, streamed: bool) -> None:
    script = Script([say("Looking.", calls=[LS, PWD]), say("Two files.")])
    first = ask(script, api, streamed=streamed)
    last = ask(script, api, returned(first, "a\nb", '{"at": "/x"}'), streamed=streamed)
    assert last.text == "Two files."
    one, two = (call.tool_call_id for call in first.calls)
    heard = script.received[1]
    assert heard.messages == (
        Message(Speaker.SYSTEM, "Be honest."),
        Message(Speaker.USER, "List the files."),
        Message(Speaker.MODEL, "Looking.", (_with(LS, one), _with(PWD, two))),
        Message(
            Speaker.TOOL,
            results=(ToolResult(one, "a\nb", "bash"), ToolResult(two, '{"at": "/x"}', "bash")),
        ),
    )
    assert heard.results == heard.messages[-1].results
    assert [tool.name for tool in heard.tools] == ["bash"]
    assert [tool.description for tool in heard.tools] == ["Runs."]
    assert "command" in heard.tools[0].parameters["properties"]
    assert heard.streamed is streamed
    assert heard.model == ("scripted" if api is Api.IN_PROCESS else MODEL)


def _with(call: ScriptedCall, id: str) -> ScriptedCall:
    return ScriptedCall(call.name, call.arguments, id)


@everywhere
def test_words_of_the_user_after_results_are_heard_as_the_users(api: Api) -> None:
    script = Script([use(LS), say("Still at it.")])
    first = ask(script, api)
    history = [*returned(first, "a"), ModelRequest(parts=[UserPromptPart("Not done yet.")])]
    ask(script, api, history)
    heard = script.received[1]
    assert heard.last_user_text == "Not done yet."
    assert [result.text for result in heard.results] == ["a"]
    speakers = [message.speaker for message in heard.messages[2:]]
    assert speakers == [Speaker.MODEL, Speaker.TOOL, Speaker.USER]


@pytest.mark.parametrize("api", [Api.ANTHROPIC, Api.GEMINI, Api.IN_PROCESS])
def test_a_result_that_failed_is_heard_as_failed_where_the_format_says_so(api: Api) -> None:
    script = Script([use(LS), say("I see.")])
    call = (first := ask(script, api)).calls[0]
    failed = ToolReturnPart("bash", "no such folder", call.tool_call_id, outcome="failed")
    ask(script, api, [*FIRST, first.message, ModelRequest(parts=[failed])])
    (result,) = script.received[1].results
    assert result.failed
    assert "no such folder" in result.text


@everywhere
def test_a_function_can_answer_what_it_was_shown(api: Api) -> None:
    def recover(conversation: ScriptedRequest) -> Turn:
        if not conversation.results:
            return say("All done!") if conversation.model_turns == 0 else use(LS)
        return say(f"Really done: {conversation.results[0].text}")

    script = Script(respond=recover)
    lie = ask(script, api)
    blocked = ModelRequest(parts=[UserPromptPart("Nothing was done.")])
    work = ask(script, api, [*FIRST, lie.message, blocked])
    truth = ask(script, api, [*returned(work, "a.txt")])
    assert (lie.text, truth.text) == ("All done!", "Really done: a.txt")
    assert script.requests == 3


@both_ways
@everywhere
def test_an_answer_that_ran_into_the_limit_says_so(api: Api, streamed: bool) -> None:
    answer = ask(Script([Turn(("half",), cut_off=True)]), api, streamed=streamed)
    assert (answer.text, answer.message.finish_reason) == ("half", "length")


@both_ways
@everywhere
def test_an_answer_without_words_or_calls_arrives_empty(api: Api, streamed: bool) -> None:
    answer = ask(Script([Turn()]), api, streamed=streamed)
    assert (answer.error, list(answer.message.parts)) == (None, [])


@both_ways
@pytest.mark.parametrize("api", [api for api in Api if api is not Api.GEMINI])
def test_arguments_that_are_no_json_arrive_as_they_were_written(api: Api, streamed: bool) -> None:
    answer = ask(Script([use(ScriptedCall("bash", '{"command": "l'))]), api, streamed=streamed)
    (call,) = answer.calls
    assert call.args == '{"command": "l'
    with pytest.raises(ValueError, match="EOF"):
        call.args_as_dict(raise_if_invalid=True)


@both_ways
def test_gemini_tells_only_that_a_call_was_malformed(streamed: bool) -> None:
    answer = ask(Script([use(LS, ScriptedCall("bash", "{"))]), Api.GEMINI, streamed=streamed)
    assert [call.args_as_dict() for call in answer.calls] == [LS.arguments]
    details = answer.message.provider_details or {}
    assert details["finish_reason"] == "MALFORMED_FUNCTION_CALL"


REFUSALS = [
    (429, exceptions.ModelRateLimitError),
    (500, exceptions.ModelServerError),
    (503, exceptions.ModelUnavailableError),
    (400, exceptions.ModelRequestRejectedError),
    (401, exceptions.ModelAuthenticationError),
    (404, exceptions.ModelNotFoundError),
]


@pytest.mark.parametrize(("status", "expected"), REFUSALS)
@both_ways
@everywhere
def test_a_status_arrives_as_the_librarys_own_error(
    api: Api, streamed: bool, status: int, expected: type[exceptions.ModelAPIError]
) -> None:
    script = Script([refuse(status, "not now", retry_after_s=1.5)])
    error = ask(script, api, streamed=streamed).error
    assert isinstance(error, expected)
    assert isinstance(error, exceptions.ModelHTTPError)
    assert (error.status_code, error.retry_after) == (status, 1.5)
    assert "not now" in str(error)
    assert script.requests == 1


@everywhere
def test_a_context_that_is_full_can_be_said_in_the_providers_words(api: Api) -> None:
    words = {
        Api.ANTHROPIC: ("prompt is too long: 9 tokens > 5 maximum", ""),
        Api.GEMINI: ("The input token count (9) exceeds the maximum number of tokens (5)", ""),
    }
    message, code = words.get(api, ("too long", "context_length_exceeded"))
    error = ask(Script([refuse(400, message, code=code)]), api).error
    assert isinstance(error, exceptions.ModelContextWindowExceededError)


@pytest.mark.parametrize("api", [Api.CHAT, Api.RESPONSES, Api.ANTHROPIC])
def test_a_client_that_retries_by_itself_is_seen_doing_so(api: Api) -> None:
    script = Script([refuse(429, retry_after_s=0.01), refuse(500, retry_after_s=0.01), say("ok")])
    answer = ask(script, api, settings=ModelSettings(max_tokens=1000))
    assert (answer.text, script.requests) == ("ok", 3)


@both_ways
@everywhere
def test_a_dropped_connection_is_an_error_with_what_was_said_before(
    api: Api, streamed: bool
) -> None:
    answer = ask(Script([say("par", "tial", failure=FailureKind.DROPPED)]), api, streamed=streamed)
    assert isinstance(answer.error, exceptions.ModelConnectionError)
    assert answer.error.phase == "read"
    if streamed:
        assert (answer.text, answer.message.state) == ("partial", "incomplete")


@both_ways
@everywhere
def test_an_answer_that_is_no_json_is_an_error(api: Api, streamed: bool) -> None:
    script = Script([say("par", "tial", failure=FailureKind.MALFORMED)])
    answer = ask(script, api, streamed=streamed)
    assert isinstance(answer.error, exceptions.ModelAPIError)
    assert not isinstance(answer.error, exceptions.ModelHTTPError)
    assert answer.text == ("partial" if streamed else "")


@everywhere
def test_a_stream_cut_short_in_good_order_is_seen_by_its_missing_end(api: Api) -> None:
    answer = ask(Script([say("par", failure=FailureKind.CUT_SHORT)]), api, streamed=True)
    assert (answer.error, answer.text) == (None, "par")
    said_it_ended = (answer.message.provider_details or {}).get("finish_reason")
    assert said_it_ended is None
    assert answer.message.usage.output_tokens < 20


@both_ways
@everywhere
def test_a_first_byte_that_comes_too_late_is_a_timeout(api: Api, streamed: bool) -> None:
    hurry = ModelSettings(request_timeout=0.2, **SETTINGS)
    slow = Turn(("late",), first_byte_s=30.0)
    error = ask(Script([slow]), api, streamed=streamed, settings=hurry).error
    assert isinstance(error, exceptions.ModelRequestTimeout)


@both_ways
@everywhere
def test_a_script_that_ran_out_says_so_at_once(api: Api, streamed: bool) -> None:
    script = Script([say("only this")])
    ask(script, api, streamed=streamed)
    error = ask(script, api, streamed=streamed, settings=ModelSettings(max_tokens=1000)).error
    assert isinstance(error, exceptions.ModelHTTPError)
    assert error.status_code == 400
    assert "request 2 came after the last of 1 scripted turns" in str(error)
    assert script.requests == 2


@everywhere
def test_a_conversation_with_a_lost_result_is_refused_as_real_providers_do(api: Api) -> None:
    script = Script([use(LS, PWD), say("Two files.")])
    first = ask(script, api)
    torn = returned(first, "a", "b")
    half = [*torn[:2], ModelRequest(parts=[torn[2].parts[0]])]  # type: ignore[list-item]
    error = ask(script, api, half).error
    assert isinstance(error, exceptions.ModelHTTPError)
    assert error.status_code == 400
    assert f"no result follows the tool call `{first.calls[1].tool_call_id}`" in str(error)


@over_http
def test_the_key_of_a_client_is_not_kept(api: Api) -> None:
    script = Script([say("ok")])
    assert ask(script, api).text == "ok"
    assert KEY not in repr(script.received)
