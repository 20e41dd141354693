"""The OpenAI Chat Completions format, which most other providers speak too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from signoff.testing.conversation import (
    Message,
    OfferedTool,
    ScriptedCall,
    ScriptedRequest,
    Speaker,
    ToolResult,
    merge,
    parsed_arguments,
)
from signoff.testing.script import Failure, Turn
from tests.scripted.formats import Body, Event, Reply, WireFormat, halves, plain_text

_SPEAKERS = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.USER,
    "assistant": Speaker.MODEL,
    "tool": Speaker.TOOL,
}
_ERROR_TYPES = {401: "authentication_error", 429: "rate_limit_error"}


def read(body: Mapping[str, Any], _path: str) -> ScriptedRequest:
    """Read a request into the common shape."""
    return ScriptedRequest(
        merge(_message(message) for message in body["messages"]),
        tuple(_tool(tool) for tool in body.get("tools") or ()),
        str(body["model"]),
        bool(body.get("stream")),
        body,
    )


def _message(data: Mapping[str, Any]) -> Message:
    speaker = _SPEAKERS[data["role"]]
    text = plain_text(data.get("content"))
    if speaker is Speaker.TOOL:
        return Message(speaker, results=(ToolResult(data["tool_call_id"], text),))
    calls = (
        ScriptedCall(c["function"]["name"], parsed_arguments(c["function"]["arguments"]), c["id"])
        for c in data.get("tool_calls") or ()
    )
    return Message(speaker, text, tuple(calls))


def _tool(data: Mapping[str, Any]) -> OfferedTool:
    about = data.get("function") or data.get("custom") or data
    return OfferedTool(about["name"], about.get("description") or "", about.get("parameters") or {})


def whole(reply: Reply) -> Body:
    """The answer in one piece."""
    turn = reply.turn
    message: Body = {"role": "assistant", "content": turn.whole_text if turn.text else None}
    if turn.calls:
        message["tool_calls"] = [_call(call, call.arguments_json) for call in turn.calls]
    choice = {"index": 0, "message": message, "finish_reason": _finish(turn), "logprobs": None}
    return {**_head(reply, "chat.completion"), "choices": [choice], "usage": _usage(turn)}


def events(reply: Reply) -> Iterator[Event]:
    """The answer as a stream; usage comes only to those who asked for it."""
    head = _head(reply, "chat.completion.chunk")

    def chunk(delta: Body, finish: str | None = None) -> Body:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield Event(chunk({"role": "assistant", "content": ""}))
    for text in reply.turn.text:
        yield Event(chunk({"content": text}))
    for index, call in enumerate(reply.turn.calls):
        yield Event(chunk({"tool_calls": [{"index": index, **_call(call, "")}]}))
        for piece in halves(call.arguments_json):
            more = {"index": index, "function": {"arguments": piece}}
            yield Event(chunk({"tool_calls": [more]}))
    yield Event(chunk({}, _finish(reply.turn)), closing=True)
    if (reply.conversation.body.get("stream_options") or {}).get("include_usage"):
        yield Event({**head, "choices": [], "usage": _usage(reply.turn)}, closing=True)
    yield Event("[DONE]", closing=True)


def problem(failure: Failure) -> Body:
    """An error as OpenAI words it."""
    kind = "server_error" if failure.status >= 500 else "invalid_request_error"
    said = {"message": failure.message, "type": _ERROR_TYPES.get(failure.status, kind)}
    return {"error": {**said, "param": None, "code": failure.code or None}}


def _head(reply: Reply, kind: str) -> Body:
    head = {"id": f"chatcmpl-{reply.id}", "object": kind, "created": reply.created_s}
    return {**head, "model": reply.model}


def _call(call: ScriptedCall, arguments: str) -> Body:
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _finish(turn: Turn) -> str:
    if turn.cut_off:
        return "length"
    return "tool_calls" if turn.calls else "stop"


def _usage(turn: Turn) -> Body:
    return {
        "prompt_tokens": turn.input_tokens,
        "completion_tokens": turn.output_tokens,
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }


FORMAT = WireFormat(re.compile(r"/chat/completions$"), read, whole, events, problem)
