"""A scripted model in this process, for code that is built on pydantic-ai."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from signoff.errors import ExtraMissing, ScriptUnusable, how_to_install
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
from signoff.testing.script import Failure, FailureKind, Script, Turn

try:
    from pydantic_ai import exceptions, messages
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.function import (
        AgentInfo,
        DeltaToolCall,
        FunctionModel,
        FunctionStreamedResponse,
    )
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RequestUsage
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("pydantic_ai"):
        raise
    needed = "a scripted model needs pydantic-ai, which is not installed"
    raise ExtraMissing(needed, how_to_install("llm")) from error

# The library's own errors for a status; any other is a request rejected, or a server that failed.
_CATEGORIES: dict[int, Any] = {
    401: exceptions.ModelAuthenticationError,
    402: exceptions.ModelQuotaExceededError,
    403: exceptions.ModelAuthenticationError,
    404: exceptions.ModelNotFoundError,
    429: exceptions.ModelRateLimitError,
    503: exceptions.ModelUnavailableError,
    529: exceptions.ModelOverloadedError,
}


def scripted_model(script: Script, name: str = "scripted") -> FunctionModel:
    """Make a model for `pydantic_ai` that says what the script says, without any network."""
    return _ScriptedModel(script, name)


class _ScriptedModel(FunctionModel):
    """A `FunctionModel` whose function is a script; failures are the library's own errors.

    Streams are ours: the library's guesses their tokens and never says why an answer ended.
    """

    def __init__(self, script: Script, name: str):
        super().__init__(self._whole, model_name=name)
        self._script = script

    async def _whole(
        self, history: list[messages.ModelMessage], info: AgentInfo
    ) -> messages.ModelResponse:
        asked = info.model_settings, info.model_request_parameters
        turn = await self._turn(history, *asked, streamed=False)
        if turn.failure is not None:
            raise _broken(turn.failure, self.model_name)
        said = [messages.TextPart(turn.whole_text)] if turn.text else []
        calls = [messages.ToolCallPart(c.name, c.arguments_json, c.id) for c in turn.calls]
        parts: list[messages.ModelResponsePart] = [*said, *calls]
        return messages.ModelResponse(parts, usage=_usage(turn), finish_reason=_finish(turn))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[messages.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: object = None,  # noqa: ARG002 - the library's signature
    ) -> AsyncGenerator[FunctionStreamedResponse]:
        """Say the next turn chunk by chunk."""
        asked = self.prepare_request(model_settings, model_request_parameters)
        turn = await self._turn(messages, *asked, streamed=True)
        yield _Stream(turn, self.model_name, model_request_parameters)

    async def _turn(
        self,
        history: Sequence[messages.ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        *,
        streamed: bool,
    ) -> Turn:
        tools = (*parameters.function_tools, *parameters.output_tools)
        told = parameters.instruction_parts or ()
        parts = [*told, *(part for message in history for part in message.parts)]
        conversation = ScriptedRequest(
            merge(message for part in parts for message in _message(part)),
            tuple(
                OfferedTool(t.name, t.description or "", t.parameters_json_schema) for t in tools
            ),
            self.model_name,
            streamed,
            {"settings": dict(settings or {})},
        )
        try:
            turn = self._script.answer(conversation)
        except ScriptUnusable as error:
            ended = Failure(FailureKind.STATUS, 400, f"{error}; {error.hint}", error.code)
            raise _refused(ended, self.model_name) from error
        if turn.first_byte_s:
            await asyncio.sleep(turn.first_byte_s)
        if turn.failure is not None and turn.failure.kind is FailureKind.STATUS:
            raise _refused(turn.failure, self.model_name)
        return turn


class _Stream(FunctionStreamedResponse):
    """A turn as the library's stream, with the tokens and the end that the script says."""

    def __init__(self, turn: Turn, name: str, parameters: ModelRequestParameters):
        super().__init__(parameters, name, _chunks(turn, name))
        self._turn = turn

    async def _get_event_iterator(self) -> AsyncIterator[messages.ModelResponseStreamEvent]:
        async for event in super()._get_event_iterator():
            yield event
            if self.cancelled:
                return
        if self._turn.failure is not None:
            # Cut short, as the library reports it for most real providers: complete, unmeasured.
            self._usage = RequestUsage(unmeasured_requests=1)
        else:
            self._usage, self.finish_reason = _usage(self._turn), _finish(self._turn)


async def _chunks(turn: Turn, name: str) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    """Stream a turn in pieces; a failure comes after it."""
    pieces: list[str | dict[int, DeltaToolCall]] = list(turn.text)
    for number, call in enumerate(turn.calls):
        written = call.arguments_json
        middle = (len(written) + 1) // 2
        pieces += [
            {number: DeltaToolCall(call.name, "", tool_call_id=call.id)},
            # As real streams bring them: in pieces that are no JSON by themselves.
            {number: DeltaToolCall(json_args=written[:middle])},
            {number: DeltaToolCall(json_args=written[middle:])},
        ]
    for piece in pieces:
        yield piece
        if turn.between_chunks_s:
            await asyncio.sleep(turn.between_chunks_s)
    if turn.failure is not None and turn.failure.kind is not FailureKind.CUT_SHORT:
        raise _broken(turn.failure, name)


def _refused(failure: Failure, name: str) -> exceptions.ModelHTTPError:
    rejected = exceptions.ModelRequestRejectedError
    category = rejected if failure.status < 500 else exceptions.ModelServerError
    if failure.code == "context_length_exceeded":
        category = exceptions.ModelContextWindowExceededError
    return exceptions.ModelHTTPError.for_category(
        _CATEGORIES.get(failure.status, category),
        status_code=failure.status,
        model_name=name,
        body={"message": failure.message, "code": failure.code or None},
        provider_error_code=failure.code or None,
        retry_after=failure.retry_after_s,
    )


def _broken(failure: Failure, name: str) -> exceptions.ModelAPIError:
    if failure.kind is FailureKind.MALFORMED:
        return exceptions.ModelAPIError(name, "the answer is no JSON")
    reason = "the connection was closed before the answer ended"
    return exceptions.ModelConnectionError(name, reason, phase="read")


def _usage(turn: Turn) -> RequestUsage:
    measured = bool(turn.input_tokens or turn.output_tokens)
    return RequestUsage(
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        unmeasured_requests=0 if measured else 1,  # else the library guesses them
    )


def _finish(turn: Turn) -> messages.FinishReason:
    if turn.cut_off:
        return "length"
    return "tool_call" if turn.calls else "stop"


def _message(part: object) -> Iterator[Message]:
    match part:
        case messages.SystemPromptPart() | messages.InstructionPart():
            yield Message(Speaker.SYSTEM, part.content)
        case messages.UserPromptPart():
            said = [part.content] if isinstance(part.content, str) else part.content
            texts = (getattr(piece, "content", piece) for piece in said)
            yield Message(Speaker.USER, "\n".join(text for text in texts if isinstance(text, str)))
        case messages.ToolReturnPart():
            failed = part.outcome in messages.ERROR_OUTCOMES
            text = part.model_response_str()
            result = ToolResult(part.tool_call_id, text, part.tool_name, failed)
            yield Message(Speaker.TOOL, results=(result,))
        case messages.TextPart():
            yield Message(Speaker.MODEL, part.content)
        case messages.ToolCallPart():
            # From its text: a record does not change with what the harness does later.
            arguments = parsed_arguments(part.args_as_json_str())
            call = ScriptedCall(part.tool_name, arguments, part.tool_call_id)
            yield Message(Speaker.MODEL, calls=(call,))
