"""The scripted server says what is wrong with a request, and streams as providers do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse, IncompleteRead

import pytest

from signoff.testing.conversation import ScriptedRequest
from signoff.testing.script import FailureKind, Script, Turn, say
from tests.scripted.server import ScriptedServer

HELLO = [{"role": "user", "content": "Hello."}]
CHAT = {"model": "m", "messages": HELLO}
RESPONSES = {"model": "m", "input": HELLO}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hello."}]}]}
GEMINI_PATH = "/v1beta/models/m:generateContent"
ASKED = [
    ("/v1/chat/completions", CHAT),
    ("/v1/responses", RESPONSES),
    ("/v1/messages", CHAT),
    (GEMINI_PATH, GEMINI),
]
every_format = pytest.mark.parametrize(("path", "body"), ASKED)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Script([say("Hi.")], last_repeats=True)) as serving:
        yield serving


def _send(server: ScriptedServer, path: str, body: object) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", path, sent)
    return connection.getresponse()


UNREADABLE = [
    b"{",
    b"[]",
    b"\xff",
    b"{}",
    b'{"model": "m", "messages": 3, "input": 3, "contents": 3}',
    b'{"model": "m", "messages": [{"role": "pope"}], "input": [{"role": "pope"}], "contents": [1]}',
]


@pytest.mark.parametrize("sent", UNREADABLE, ids=range(len(UNREADABLE)))
@every_format
def test_a_request_that_cannot_be_read_is_refused_and_uses_up_nothing(
    server: ScriptedServer, path: str, body: object, sent: bytes
) -> None:
    response = _send(server, path, sent)
    assert response.status == 400
    assert "the request cannot be read" in response.read().decode()
    assert server.script.requests == 0


def test_what_is_not_served_is_named(server: ScriptedServer) -> None:
    response = _send(server, "/v1/embeddings", {})
    assert response.status == 404
    assert "`POST /v1/embeddings` is not served" in response.read().decode()
    stateful = _send(server, "/v1/responses", RESPONSES | {"previous_response_id": "resp_1"})
    assert (stateful.status, "whole conversation" in stateful.read().decode()) == (400, True)
    array = _send(server, "/v1beta/models/m:streamGenerateContent", GEMINI)
    assert (array.status, "alt=sse" in array.read().decode()) == (400, True)


def test_usage_ends_a_chat_stream_only_for_those_who_ask(server: ScriptedServer) -> None:
    stream = CHAT | {"stream": True}
    plain = _send(server, "/v1/chat/completions", stream).read().decode()
    asked = stream | {"stream_options": {"include_usage": True}}
    with_usage = _send(server, "/v1/chat/completions", asked).read().decode()
    assert "usage" not in plain
    assert '"prompt_tokens": 100' in with_usage
    assert plain.endswith("data: [DONE]\n\n")
    assert with_usage.endswith("data: [DONE]\n\n")


def test_gemini_results_without_ids_answer_calls_in_order(server: ScriptedServer) -> None:
    call = {"functionCall": {"name": "bash", "args": {}}}
    gave = [{"functionResponse": {"name": "bash", "response": {"output": n}}} for n in ("1", "2")]
    contents = [
        *GEMINI["contents"],
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": gave},
    ]
    assert _send(server, GEMINI_PATH, {"contents": contents}).status == 200
    results = server.script.received[0].results
    assert [(r.id, r.text) for r in results] == [("bash-1", "1"), ("bash-2", "2")]


def test_a_dropped_answer_promises_more_than_it_brings() -> None:
    script = Script([say("partial", failure=FailureKind.DROPPED)], last_repeats=True)
    with ScriptedServer(script) as server:
        for body in (CHAT, CHAT | {"stream": True}):
            with pytest.raises(IncompleteRead):
                _send(server, "/v1/chat/completions", body).read()


def test_chunks_come_one_by_one_and_not_all_at_the_end() -> None:
    turn = Turn(("now", "later"), between_chunks_s=30.0)
    body = CHAT | {"stream": True}
    with ScriptedServer(Script([turn])) as server:
        response = _send(server, "/v1/chat/completions", body)
        assert b'"role": "assistant"' in response.readline()
    with pytest.raises(IncompleteRead) as cut:
        response.read()
    assert b"later" not in cut.value.partial


def test_what_a_function_raises_is_told_and_raised_again() -> None:
    def respond(_: ScriptedRequest) -> Turn:
        raise AssertionError("the harness sent no plan")

    server = ScriptedServer(Script(respond=respond))
    with pytest.raises(AssertionError, match="the harness sent no plan"), server:
        response = _send(server, "/v1/messages", CHAT)
        assert response.status == 400
        assert response.headers["X-Should-Retry"] == "false"
        assert "the harness sent no plan" in response.read().decode()


def test_an_error_of_the_test_itself_is_not_hidden_by_that_of_the_function() -> None:
    def respond(_: ScriptedRequest) -> Turn:
        raise LookupError("inside")

    server = ScriptedServer(Script(respond=respond))
    with pytest.raises(KeyError, match="outside"), server:
        _send(server, "/v1/messages", CHAT)
        raise KeyError("outside")
