"""The scripted model as pydantic-ai sees it; loaded only where that library is.

Not its `FunctionModel`: that one guesses the tokens of a stream, and scripts say them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic_ai import exceptions, messages
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage

from signoff.errors import ScriptUnusable
from signoff.testing.conversation import (
    Api,
    Call,
    Conversation,
    Message,
    Speaker,
    Tool,
    ToolResult,
    merge,
    parsed_arguments,
)
from signoff.testing.script import Failure, FailureKind, Script, Turn
from signoff.testing.wire_format import halves

Category = type[
    exceptions.ModelRateLimitError
    | exceptions.ModelQuotaExceededError
    | exceptions.ModelUnavailableError
    | exceptions.ModelServerError
    | exceptions.ModelRequestRejectedError
]
_CATEGORIES: dict[int, Category] = {
    401: exceptions.ModelAuthenticationError,
    402: exceptions.ModelQuotaExceededError,
    403: exceptions.ModelAuthenticationError,
    404: exceptions.ModelNotFoundError,
    429: exceptions.ModelRateLimitError,
    503: exceptions.ModelUnavailableError,
    529: exceptions.ModelOverloadedError,
}
PROVIDER = "signoff"
OVERFLOW = "context_length_exceeded"
FinishReason = Literal["stop", "length", "tool_call"]


class ScriptedModel(Model):
    """Says what its script says; failures are the library's own errors."""

    def __init__(self, script: Script, name: str = "scripted"):
        super().__init__()
        self.script = script
        self._name = name

    @property
    def model_name(self) -> str:
        """The name it was given."""
        return self._name

    @property
    def system(self) -> str:
        """Who provides it."""
        return PROVIDER

    async def request(
        self,
        messages: list[messages.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> messages.ModelResponse:
        """The next turn, whole."""
        asked = self.prepare_request(model_settings, model_request_parameters)
        turn = self._answer(messages, *asked, streamed=False)
        await self._begin(turn)
        if turn.failure is not None:
            raise self._broken(turn.failure)
        return _response(turn, self._name)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[messages.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - the library's signature
    ) -> AsyncGenerator[StreamedResponse]:
        """The next turn, chunk by chunk."""
        asked = self.prepare_request(model_settings, model_request_parameters)
        turn = self._answer(messages, *asked, streamed=True)
        await self._begin(turn)
        yield _Stream(model_request_parameters, self, turn)

    def _answer(
        self,
        history: Sequence[messages.ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        *,
        streamed: bool,
    ) -> Turn:
        tools = (*parameters.function_tools, *parameters.output_tools)
        offered = (Tool(t.name, t.description or "", t.parameters_json_schema) for t in tools)
        conversation = Conversation(
            merge(_messages(history, parameters)),
            tuple(offered),
            Api.IN_PROCESS,
            self._name,
            streamed,
            {"settings": dict(settings or {})},
        )
        try:
            return self.script.answer(conversation)
        except ScriptUnusable as error:
            ended = Failure(FailureKind.STATUS, 400, f"{error}; {error.hint}", error.code)
            raise self._refused(ended) from error

    async def _begin(self, turn: Turn) -> None:
        if turn.first_byte_s:
            await asyncio.sleep(turn.first_byte_s)
        if turn.failure is not None and turn.failure.kind is FailureKind.STATUS:
            raise self._refused(turn.failure)

    def _refused(self, failure: Failure) -> exceptions.ModelHTTPError:
        category: Category = exceptions.ModelRequestRejectedError
        if failure.code == OVERFLOW:
            category = exceptions.ModelContextWindowExceededError
        elif failure.status in _CATEGORIES:
            category = _CATEGORIES[failure.status]
        elif failure.status >= 500:
            category = exceptions.ModelServerError
        return exceptions.ModelHTTPError.for_category(
            category,
            status_code=failure.status,
            model_name=self._name,
            body={"message": failure.message, "code": failure.code or None},
            provider_error_code=failure.code or None,
            retry_after=failure.retry_after_s,
        )

    def _broken(self, failure: Failure) -> exceptions.ModelAPIError:
        if failure.kind is FailureKind.MALFORMED:
            return exceptions.ModelAPIError(self._name, "the answer is no JSON")
        reason = "the connection was closed before the answer ended"
        return exceptions.ModelConnectionError(self._name, reason, phase="read")


@dataclass
class _Stream(StreamedResponse):
    """A turn as the library's stream; a failure comes after what was said."""

    _model: ScriptedModel
    _turn: Turn
    _begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[messages.ModelResponseStreamEvent]:
        for events in self._said():
            for event in events:
                yield event
            if self._turn.between_chunks_s:
                await asyncio.sleep(self._turn.between_chunks_s)
            if self.cancelled:
                return
        failure = self._turn.failure
        if failure is not None and failure.kind is FailureKind.CUT_SHORT:
            # As the library reports it for most real providers: complete, with nothing measured.
            self._usage = RequestUsage(unmeasured_requests=1)
        elif failure is not None:
            raise self._model._broken(failure)
        else:
            self._usage = _usage(self._turn)
            self.finish_reason = _finish(self._turn)

    def _said(self) -> Iterator[Iterator[messages.ModelResponseStreamEvent]]:
        parts = self._parts_manager
        for chunk in self._turn.text:
            yield iter(parts.handle_text_delta(vendor_part_id="text", content=chunk))
        for call in self._turn.calls:
            named: dict[str, Any] = {"tool_name": call.name, "args": None, "tool_call_id": call.id}
            for piece in ("", *halves(call.arguments_json)):
                delta = {**named, "args": piece}
                yield iter(parts.handle_tool_call_delta_events(vendor_part_id=call.id, **delta))
                named = {"tool_name": None, "tool_call_id": None}

    async def close_stream(self) -> None:
        """Nothing is open that would have to be closed."""

    @property
    def model_name(self) -> str:
        """The model that speaks."""
        return self._model.model_name

    @property
    def provider_name(self) -> str:
        """Who provides it."""
        return self._model.system

    @property
    def provider_url(self) -> None:
        """It has no address."""

    @property
    def timestamp(self) -> datetime:
        """When the answer began."""
        return self._begun


def _response(turn: Turn, name: str) -> messages.ModelResponse:
    parts: list[messages.ModelResponsePart] = []
    if turn.text:
        parts.append(messages.TextPart(turn.whole_text))
    for call in turn.calls:
        # Its own copy: what is done to it must not reach the script.
        arguments = parsed_arguments(call.arguments_json)
        given = arguments if isinstance(arguments, str) else dict(arguments)
        parts.append(messages.ToolCallPart(call.name, given, call.id))
    return messages.ModelResponse(
        parts,
        usage=_usage(turn),
        model_name=name,
        provider_name=PROVIDER,
        finish_reason=_finish(turn),
    )


def _usage(turn: Turn) -> RequestUsage:
    return RequestUsage(input_tokens=turn.input_tokens, output_tokens=turn.output_tokens)


def _finish(turn: Turn) -> FinishReason:
    if turn.cut_off:
        return "length"
    return "tool_call" if turn.calls else "stop"


def _messages(
    history: Sequence[messages.ModelMessage], parameters: ModelRequestParameters
) -> Iterator[Message]:
    for part in parameters.instruction_parts or ():
        yield Message(Speaker.SYSTEM, part.content)
    for message in history:
        for piece in message.parts:
            yield from _message(piece)


def _message(part: object) -> Iterator[Message]:
    match part:
        case messages.SystemPromptPart():
            yield Message(Speaker.SYSTEM, part.content)
        case messages.UserPromptPart():
            yield Message(Speaker.USER, _user_text(part))
        case messages.ToolReturnPart():
            failed = part.outcome in messages.ERROR_OUTCOMES
            text = part.model_response_str()
            result = ToolResult(part.tool_call_id, text, part.tool_name, failed)
            yield Message(Speaker.TOOL, results=(result,))
        case messages.TextPart():
            yield Message(Speaker.MODEL, part.content)
        case messages.ToolCallPart():
            # Its own copy: a record does not change with what the harness does later.
            arguments = parsed_arguments(deepcopy(part.args or {}))
            call = Call(part.tool_name, arguments, part.tool_call_id)
            yield Message(Speaker.MODEL, calls=(call,))


def _user_text(part: messages.UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    texts = (
        piece.content if isinstance(piece, messages.TextContent) else piece
        for piece in part.content
    )
    return "\n".join(text for text in texts if isinstance(text, str))
