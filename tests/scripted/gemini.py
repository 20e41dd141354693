"""The Gemini format: the model and the wish for a stream are in the path."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

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
from tests.scripted.formats import Body, Event, Reply, WireFormat

PATH = re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent)$")
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
# Clients wrap a result that is plain text into an object with one of these keys.
_WRAPPERS = ("return_value", "output", "result", "error")


def read(body: Mapping[str, Any], path: str) -> ScriptedRequest:
    """Read a request into the common shape."""
    asked, _, query = path.partition("?")
    matched = PATH.search(asked)
    if matched is None:
        raise ValueError("the path names no model")
    streamed = matched[2] == "streamGenerateContent"
    if streamed and "alt=sse" not in query.split("&"):
        raise ValueError("streams are sent as events only: ask with `alt=sse`")
    declared = (
        d for tool in body.get("tools") or () for d in _either(tool, "functionDeclarations")
    )
    tools = tuple(_tool(data) for data in declared)
    return ScriptedRequest(merge(_messages(body)), tools, unquote(matched[1]), streamed, body)


def _messages(body: Mapping[str, Any]) -> Iterator[Message]:
    system = _either(body, "systemInstruction") or {}
    for part in system.get("parts") or ():
        yield Message(Speaker.SYSTEM, part.get("text") or "")
    unnamed: Counter[tuple[str, str]] = Counter()
    for content in body["contents"]:
        speaker = Speaker.MODEL if content.get("role") == "model" else Speaker.USER
        for part in content.get("parts") or ():
            yield from _part(speaker, part, unnamed)


def _part(
    speaker: Speaker, part: Mapping[str, Any], unnamed: Counter[tuple[str, str]]
) -> Iterator[Message]:
    if called := _either(part, "functionCall"):
        name, id = called["name"], _id(called, "call", unnamed)
        yield Message(speaker, calls=(ScriptedCall(name, called.get("args") or {}, id),))
    elif gave := _either(part, "functionResponse"):
        text, failed = _result(gave["response"])
        result = ToolResult(_id(gave, "result", unnamed), text, gave["name"], failed)
        yield Message(Speaker.TOOL, results=(result,))
    elif part.get("text") and not part.get("thought"):
        yield Message(speaker, part["text"])


def _id(data: Mapping[str, Any], kind: str, unnamed: Counter[tuple[str, str]]) -> str:
    """Ids are optional here: the n-th result of a tool answers its n-th call."""
    if id := data.get("id"):
        return str(id)
    name = data["name"]
    unnamed[kind, name] += 1
    return f"{name}-{unnamed[kind, name]}"


def _result(response: Mapping[str, Any]) -> tuple[str, bool]:
    key = next(iter(response)) if len(response) == 1 else ""
    value = response[key] if key in _WRAPPERS else response
    return value if isinstance(value, str) else json.dumps(value), key == "error"


def _tool(data: Mapping[str, Any]) -> OfferedTool:
    schema = _either(data, "parametersJsonSchema") or data.get("parameters") or {}
    return OfferedTool(data["name"], data.get("description") or "", schema)


def _either(data: Mapping[str, Any], name: str) -> Any:
    """A field under its name, or under the same name with underscores: both are accepted."""
    return data.get(name) or data.get(re.sub("([A-Z])", r"_\1", name).lower()) or ()


def whole(reply: Reply) -> Body:
    """The answer in one piece."""
    text = [{"text": reply.turn.whole_text}] if reply.turn.text else []
    return _response(reply, [*text, *_calls(reply.turn)], ended=True)


def events(reply: Reply) -> Iterator[Event]:
    """The answer as a stream; calls come whole, and the end with the usage."""
    for chunk in reply.turn.text:
        yield Event(_response(reply, [{"text": chunk}]))
    if calls := _calls(reply.turn):
        yield Event(_response(reply, calls))
    yield Event(_response(reply, [{"text": ""}], ended=True), closing=True)


def problem(failure: Failure) -> Body:
    """An error as Google words it."""
    usual = "INTERNAL" if failure.status >= 500 else "INVALID_ARGUMENT"
    status = failure.code or _STATUSES.get(failure.status, usual)
    error: Body = {"code": failure.status, "message": failure.message, "status": status}
    if failure.retry_after_s is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        error["details"] = [{"@type": kind, "retryDelay": f"{failure.retry_after_s:g}s"}]
    return {"error": error}


def _calls(turn: Turn) -> list[Body]:
    """Calls that are JSON: of others, this format tells only that they went wrong."""
    return [
        {"functionCall": {"name": call.name, "args": arguments, "id": call.id}}
        for call in turn.calls
        if not isinstance(arguments := parsed_arguments(call.arguments), str)
    ]


def _finish(turn: Turn) -> str:
    if len(_calls(turn)) < len(turn.calls):
        return "MALFORMED_FUNCTION_CALL"
    return "MAX_TOKENS" if turn.cut_off else "STOP"


def _response(reply: Reply, parts: list[Body], ended: bool = False) -> Body:
    candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
    response: Body = {"candidates": [candidate], "modelVersion": reply.model}
    response["responseId"] = reply.id
    if ended:
        turn = reply.turn
        candidate["finishReason"] = _finish(turn)
        response["usageMetadata"] = {
            "promptTokenCount": turn.input_tokens,
            "candidatesTokenCount": turn.output_tokens,
            "totalTokenCount": turn.input_tokens + turn.output_tokens,
        }
    return response


FORMAT = WireFormat(PATH, read, whole, events, problem)
