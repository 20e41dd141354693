"""The OpenAI Responses format, without state on the server: every request brings everything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
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
from tests.scripted.chat import problem
from tests.scripted.formats import Body, Event, Reply, WireFormat, halves, plain_text

_SPEAKERS = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.USER,
    "assistant": Speaker.MODEL,
}


def read(body: Mapping[str, Any], _path: str) -> ScriptedRequest:
    """Read a request into the common shape."""
    if body.get("previous_response_id"):
        raise ValueError("`previous_response_id` is not known here: send the whole conversation")
    return ScriptedRequest(
        merge(_messages(body)),
        tuple(tool for data in body.get("tools") or () for tool in _tools(data)),
        str(body["model"]),
        bool(body.get("stream")),
        body,
    )


def _messages(body: Mapping[str, Any]) -> Iterator[Message]:
    if instructions := body.get("instructions"):
        yield Message(Speaker.SYSTEM, instructions)
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            yield Message(_SPEAKERS[item["role"]], plain_text(item["content"]))
        elif kind == "function_call":
            call = ScriptedCall(item["name"], parsed_arguments(item["arguments"]), item["call_id"])
            yield Message(Speaker.MODEL, calls=(call,))
        elif kind == "function_call_output":
            result = ToolResult(item["call_id"], plain_text(item["output"]))
            yield Message(Speaker.TOOL, results=(result,))


def _tools(data: Mapping[str, Any]) -> Iterator[OfferedTool]:
    if data.get("type") == "namespace":
        for inner in data.get("tools") or ():
            yield from _tools(inner)
    elif name := data.get("name"):
        about = data.get("description") or ""
        yield OfferedTool(name, about, data.get("parameters") or {})


def whole(reply: Reply) -> Body:
    """The answer in one piece."""
    return _response(reply, _items(reply), _status(reply))


def events(reply: Reply) -> Iterator[Event]:
    """The answer as a stream of numbered events."""
    number = count()

    def event(name: str, data: Body, closing: bool = False) -> Event:
        return Event({"type": name, "sequence_number": next(number), **data}, name, closing)

    begun = _response(reply, [], "in_progress")
    yield event("response.created", {"response": begun})
    yield event("response.in_progress", {"response": begun})
    items = _items(reply)
    for index, item in enumerate(items):
        place = {"output_index": index}
        yield event("response.output_item.added", {**place, "item": _empty(item)})
        place["item_id"] = item["id"]
        parts = _text_parts(reply, item) if item["type"] == "message" else _argument_parts(item)
        for name, data in parts:
            yield event(name, {**place, **data})
        yield event("response.output_item.done", {"output_index": index, "item": item})
    status = _status(reply)
    ended = {"response": _response(reply, items, status)}
    yield event(f"response.{status}", ended, closing=True)


def _text_parts(reply: Reply, item: Body) -> Iterable[tuple[str, Body]]:
    place = {"content_index": 0}
    part = item["content"][0]
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    for chunk in reply.turn.text:
        yield "response.output_text.delta", {**place, "delta": chunk, "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}


def _argument_parts(item: Body) -> Iterable[tuple[str, Body]]:
    for piece in halves(item["arguments"]):
        yield "response.function_call_arguments.delta", {"delta": piece}
    said = {"arguments": item["arguments"], "name": item["name"]}
    yield "response.function_call_arguments.done", said


def _items(reply: Reply) -> list[Body]:
    items: list[Body] = []
    if reply.turn.text:
        text = {"type": "output_text", "text": reply.turn.whole_text, "annotations": []}
        message = {"type": "message", "id": f"msg_{reply.id}", "role": "assistant"}
        items.append({**message, "status": "completed", "content": [text]})
    for index, call in enumerate(reply.turn.calls):
        item = {"type": "function_call", "id": f"fc_{reply.id}_{index}", "call_id": call.id}
        item |= {"name": call.name, "arguments": call.arguments_json, "status": "completed"}
        items.append(item)
    return items


def _empty(item: Body) -> Body:
    hollow: Body = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return {**item, **hollow, "status": "in_progress"}


def _status(reply: Reply) -> str:
    return "incomplete" if reply.turn.cut_off else "completed"


def _response(reply: Reply, items: list[Body], status: str) -> Body:
    turn, ended = reply.turn, status != "in_progress"
    usage = {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": reply.created_s,
        "status": status,
        "model": reply.model,
        "output": items,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage if ended else None,
    }


FORMAT = WireFormat(re.compile(r"/responses$"), read, whole, events, problem)
