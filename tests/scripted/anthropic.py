"""The Anthropic Messages format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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

_SPEAKERS = {"system": Speaker.SYSTEM, "user": Speaker.USER, "assistant": Speaker.MODEL}
_ERROR_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(body: Mapping[str, Any], _path: str) -> ScriptedRequest:
    """Read a request into the common shape."""
    return ScriptedRequest(
        merge(_messages(body)),
        tuple(_tool(tool) for tool in body.get("tools") or () if "name" in tool),
        str(body["model"]),
        bool(body.get("stream")),
        body,
    )


def _messages(body: Mapping[str, Any]) -> Iterator[Message]:
    if system := plain_text(body.get("system")):
        yield Message(Speaker.SYSTEM, system)
    for message in body["messages"]:
        speaker = _SPEAKERS[message["role"]]
        content = message["content"]
        if isinstance(content, str):
            yield Message(speaker, content)
            continue
        for block in content:
            yield from _block(speaker, block)


def _block(speaker: Speaker, block: Mapping[str, Any]) -> Iterator[Message]:
    kind = block["type"]
    if kind == "text":
        yield Message(speaker, block["text"])
    elif kind == "tool_use":
        call = ScriptedCall(block["name"], parsed_arguments(block["input"]), block["id"])
        yield Message(speaker, calls=(call,))
    elif kind == "tool_result":
        text = plain_text(block.get("content"))
        failed = bool(block.get("is_error"))
        result = ToolResult(block["tool_use_id"], text, failed=failed)
        yield Message(Speaker.TOOL, results=(result,))


def _tool(data: Mapping[str, Any]) -> OfferedTool:
    return OfferedTool(data["name"], data.get("description") or "", data.get("input_schema") or {})


def whole(reply: Reply) -> Body:
    """The answer in one piece."""
    turn = reply.turn
    content: list[Body] = [_text(turn.whole_text)] if turn.text else []
    content += [_use(call, parsed_arguments(call.arguments)) for call in turn.calls]
    return {**_head(reply), "content": content, "stop_reason": _stop(turn), "usage": _usage(turn)}


def events(reply: Reply) -> Iterator[Event]:
    """The answer as a stream: input tokens come first, output tokens last."""
    turn = reply.turn
    begun = {**_head(reply), "content": [], "stop_reason": None, "usage": _usage(turn, 1)}
    yield _event("message_start", message=begun)
    yield _event("ping")
    if turn.text:
        deltas = ({"type": "text_delta", "text": chunk} for chunk in turn.text)
        yield from _streamed(0, _text(""), deltas)
    for index, call in enumerate(turn.calls, start=1 if turn.text else 0):
        pieces = halves(call.arguments_json)
        parts = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
        yield from _streamed(index, _use(call, {}), parts)
    delta = {"stop_reason": _stop(turn), "stop_sequence": None}
    total = {"output_tokens": turn.output_tokens}
    yield _event("message_delta", closing=True, delta=delta, usage=total)
    yield _event("message_stop", closing=True)


def _streamed(index: int, empty: Body, deltas: Iterable[Body]) -> Iterator[Event]:
    yield _event("content_block_start", index=index, content_block=empty)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def problem(failure: Failure) -> Body:
    """An error as Anthropic words it."""
    usual = "api_error" if failure.status >= 500 else "invalid_request_error"
    kind = failure.code or _ERROR_TYPES.get(failure.status, usual)
    return {"type": "error", "error": {"type": kind, "message": failure.message}}


def _event(name: str, *, closing: bool = False, **data: Any) -> Event:
    return Event({"type": name, **data}, name, closing)


def _head(reply: Reply) -> Body:
    head = {"id": f"msg_{reply.id}", "type": "message", "role": "assistant"}
    return {**head, "model": reply.model, "stop_sequence": None}


def _text(text: str) -> Body:
    return {"type": "text", "text": text}


def _use(call: ScriptedCall, arguments: object) -> Body:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _stop(turn: Turn) -> str:
    if turn.cut_off:
        return "max_tokens"
    return "tool_use" if turn.calls else "end_turn"


def _usage(turn: Turn, output_tokens: int | None = None) -> Body:
    return {
        "input_tokens": turn.input_tokens,
        "output_tokens": turn.output_tokens if output_tokens is None else output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


FORMAT = WireFormat(re.compile(r"/messages$"), read, whole, events, problem)
