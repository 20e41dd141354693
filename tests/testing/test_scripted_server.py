"""The scripted server keeps its door closed to strangers and leaves nothing behind."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import ScriptUnusable
from signoff.testing.conversation import Call, Conversation
from signoff.testing.script import LONGEST_WAIT_S, FailureKind, Script, Turn, say, use
from signoff.testing.server import ScriptedServer

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


def _send(
    server: ScriptedServer,
    path: str,
    body: object = None,
    headers: dict[str, str] | None = None,
    method: str = "POST",
) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, sent if method == "POST" else None, headers or {})
    return connection.getresponse()


def _json(response: HTTPResponse) -> Any:
    return json.loads(response.read())


STRANGERS = [
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example:80"},
    {"Host": "evil.example:80@127.0.0.1.nip.io"},
    {"Host": ""},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
]


@pytest.mark.parametrize("headers", STRANGERS, ids=str)
@every_format
def test_a_page_or_a_name_that_only_leads_here_is_refused(
    server: ScriptedServer, path: str, body: object, headers: dict[str, str]
) -> None:
    response = _send(server, path, body, headers)
    assert response.status == 403
    assert "not served here" in response.read().decode()
    assert server.script.requests == 0
    assert _send(server, "/v1/models", headers=headers, method="GET").status == 403
    assert _send(server, "/", headers=headers, method="HEAD").status == 403


def test_the_names_of_this_machine_are_served(server: ScriptedServer) -> None:
    for host in (f"localhost:{server.port}", f"127.0.0.1:{server.port}", "LOCALHOST"):
        response = _send(server, "/v1/chat/completions", CHAT, {"Host": host})
        assert response.status == 200
    origin = {"Origin": f"http://localhost:{server.port}"}
    assert _send(server, "/v1/chat/completions", CHAT, origin).status == 200


def test_it_listens_on_loopback_alone(server: ScriptedServer) -> None:
    assert server.root_url.startswith("http://127.0.0.1:")
    with socket.socket() as elsewhere:
        elsewhere.settimeout(60)
        with pytest.raises(OSError):
            # Every address of 127.0.0.0/8 is this machine, but only one is listened on.
            elsewhere.connect(("127.0.0.2", server.port))


UNREADABLE = [
    b"{",
    b"[]",
    b"\xff",
    b"[" * 100_000,
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


def test_bodies_may_be_chunked_and_zipped(server: ScriptedServer) -> None:
    plain = json.dumps(CHAT).encode()
    zipped = _send(
        server, "/v1/chat/completions", gzip.compress(plain), {"Content-Encoding": "gzip"}
    )
    assert zipped.status == 200
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(
        "POST", "/v1/chat/completions", iter([plain[:9], plain[9:]]), encode_chunked=True
    )
    assert connection.getresponse().status == 200
    bomb = gzip.compress(b"0" * 200_000_000)
    refused = _send(server, "/v1/messages", bomb, {"Content-Encoding": "gzip"})
    assert (refused.status, "too long" in refused.read().decode()) == (400, True)
    unknown = _send(server, "/v1/messages", plain, {"Content-Encoding": "br"})
    assert "the coding `br` is not known" in unknown.read().decode()
    assert server.script.requests == 2


def test_what_clients_probe_is_answered_and_uses_up_nothing(server: ScriptedServer) -> None:
    models = _json(_send(server, "/v1/models", method="GET"))
    assert [model["id"] for model in models["data"]] == ["scripted"]
    assert _json(_send(server, "/v1/models/gpt-x", method="GET"))["id"] == "gpt-x"
    listed = _json(_send(server, "/v1beta/models", method="GET"))
    assert listed["models"][0]["name"] == "models/scripted"
    assert _send(server, "/", method="HEAD").status == 200
    assert _json(_send(server, "/v1/messages/count_tokens", CHAT))["input_tokens"] > 0
    assert _json(_send(server, "/v1/responses/input_tokens", RESPONSES))["input_tokens"] > 0
    assert _json(_send(server, "/v1beta/models/m:countTokens", GEMINI))["totalTokens"] > 0
    assert server.script.requests == 0


def test_what_is_not_served_is_named(server: ScriptedServer) -> None:
    for method, path in (("GET", "/v1/files"), ("POST", "/v1/embeddings")):
        response = _send(server, path, {}, method=method)
        assert response.status == 404
        assert f"`{method} {path}` is not served" in response.read().decode()
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


def test_tools_of_a_namespace_are_called_in_it() -> None:
    tool = {"type": "function", "name": "plan_show", "parameters": {}}
    group = {"type": "namespace", "name": "mcp__signoff", "tools": [tool]}
    body = RESPONSES | {"tools": [group]}
    with ScriptedServer(Script([use(Call("plan_show"), Call("bash"))])) as server:
        shown, other = _json(_send(server, "/v1/responses", body))["output"]
    assert (shown["name"], shown["namespace"]) == ("plan_show", "mcp__signoff")
    assert "namespace" not in other


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
    turn = Turn(("now", "later"), between_chunks_s=LONGEST_WAIT_S)
    body = CHAT | {"stream": True}
    with ScriptedServer(Script([turn])) as server:
        response = _send(server, "/v1/chat/completions", body)
        assert b'"role": "assistant"' in response.readline()
    with pytest.raises(IncompleteRead) as cut:
        response.read()
    assert b"later" not in cut.value.partial


def test_closing_ends_answers_that_are_still_waiting() -> None:
    threads = set(threading.enumerate())
    started = time.monotonic()
    body = json.dumps(CHAT).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with ScriptedServer(Script([Turn(first_byte_s=LONGEST_WAIT_S)], last_repeats=True)) as server:
        # One of them connects and never says what it wants.
        silent, *asking = (socket.create_connection(("127.0.0.1", server.port)) for _ in range(3))
        for waiting in asking:
            waiting.sendall(head.encode() + body)
        while server.script.requests < 2:
            threading.Event().wait(0.01)
    assert time.monotonic() - started < LONGEST_WAIT_S / 2
    assert set(threading.enumerate()) <= threads
    for connection in (silent, *asking):
        assert connection.recv(100) == b""
        connection.close()


def test_what_a_function_raises_is_told_and_raised_again() -> None:
    def respond(_: Conversation) -> Turn:
        raise AssertionError("the harness sent no plan")

    server = ScriptedServer(Script(respond=respond))
    with pytest.raises(AssertionError, match="the harness sent no plan"), server:
        response = _send(server, "/v1/messages", CHAT)
        assert response.status == 400
        assert response.headers["X-Should-Retry"] == "false"
        assert "the harness sent no plan" in response.read().decode()


def test_an_error_of_the_test_itself_is_not_hidden_by_that_of_the_function() -> None:
    def respond(_: Conversation) -> Turn:
        raise LookupError("inside")

    server = ScriptedServer(Script(respond=respond))
    with pytest.raises(KeyError, match="outside"), server:
        _send(server, "/v1/messages", CHAT)
        raise KeyError("outside")


def test_a_log_has_a_line_for_every_request(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with ScriptedServer(Script([say("Hi.")], last_repeats=True), log=log) as server:
        for path, body in ASKED:
            assert _send(server, path, body).status == 200
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [line["api"] for line in lines] == ["chat", "responses", "anthropic", "gemini"]
    assert {json.dumps(line["messages"]) for line in lines} == {
        '[{"speaker": "user", "text": "Hello.", "calls": [], "results": []}]'
    }


def test_a_port_that_is_taken_is_named(server: ScriptedServer) -> None:
    taken = ScriptedServer(server.script, port=server.port)
    with pytest.raises(ScriptUnusable, match=f"port {server.port} of 127.0.0.1 cannot be used"):
        taken.__enter__()
    with pytest.raises(ScriptUnusable, match=r"port 70000 of 127\.0\.0\.1 cannot be used"):
        ScriptedServer(server.script, port=70_000).__enter__()


def test_a_server_that_does_not_run_has_no_address() -> None:
    server = ScriptedServer(Script([say("Hi.")]))
    with pytest.raises(ScriptUnusable, match="not running"):
        _ = server.openai_url
