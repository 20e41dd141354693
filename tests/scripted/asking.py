"""Asks a scripted model the way real client libraries do, over HTTP or in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx2
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from signoff.testing.model import scripted_model
from signoff.testing.script import Script
from tests.scripted.formats import Api
from tests.scripted.server import ScriptedServer

OVER_HTTP = (Api.CHAT, Api.RESPONSES, Api.ANTHROPIC, Api.GEMINI)
PATIENCE_S = 60.0
KEY = "a-key-of-nobody"
MODEL = "some-model"
COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = ModelRequestParameters(
    function_tools=[
        ToolDefinition(name="bash", description="Runs.", parameters_json_schema=COMMAND)
    ]
)
# Without a small limit the library streams from Anthropic even when nobody asked for a stream.
SETTINGS = ModelSettings(max_retries=0, max_tokens=1000)
FIRST: Sequence[ModelMessage] = (
    ModelRequest(parts=[UserPromptPart("List the files.")], instructions="Be honest."),
)


@dataclass
class Answer:
    """What came back: the message as far as it came, its text in pieces, and what went wrong."""

    message: ModelResponse = field(default_factory=lambda: ModelResponse(parts=[]))
    pieces: list[str] = field(default_factory=list)
    error: Exception | None = None

    @property
    def text(self) -> str:
        return "".join(p.content for p in self.message.parts if isinstance(p, TextPart))

    @property
    def calls(self) -> list[ToolCallPart]:
        return [p for p in self.message.parts if isinstance(p, ToolCallPart)]


def ask(
    script: Script,
    api: Api,
    history: Sequence[ModelMessage] = FIRST,
    *,
    streamed: bool = False,
    settings: ModelSettings = SETTINGS,
) -> Answer:
    """One request to a server of its own, or to a model in this process."""
    if api is Api.IN_PROCESS:
        return asyncio.run(_ask(scripted_model(script), history, streamed, settings))
    with ScriptedServer(script) as server:
        return asyncio.run(_over_http(server, api, history, streamed, settings))


def returned(answer: Answer, *texts: str) -> list[ModelMessage]:
    """The conversation after the calls of an answer were made and gave these results."""
    results = [
        ToolReturnPart(call.tool_name, text, call.tool_call_id)
        for call, text in zip(answer.calls, texts, strict=True)
    ]
    return [*FIRST, answer.message, ModelRequest(parts=results)]


async def _over_http(
    server: ScriptedServer,
    api: Api,
    history: Sequence[ModelMessage],
    streamed: bool,
    settings: ModelSettings,
) -> Answer:
    # No proxy of the environment may see what is meant for this machine.
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        return await _ask(_client(server, api, http), history, streamed, settings)


def _client(server: ScriptedServer, api: Api, http: httpx2.AsyncClient) -> Model:
    match api:
        case Api.ANTHROPIC:
            claude = AnthropicProvider(base_url=server.root_url, api_key=KEY, http_client=http)
            return AnthropicModel(MODEL, provider=claude)
        case Api.GEMINI:
            gemini = GoogleProvider(base_url=server.root_url, api_key=KEY, http_client=http)
            return GoogleModel(MODEL, provider=gemini)
    openai = OpenAIProvider(base_url=server.openai_url, api_key=KEY, http_client=http)
    kind = OpenAIChatModel if api is Api.CHAT else OpenAIResponsesModel
    return kind(MODEL, provider=openai)


async def _ask(
    model: Model, history: Sequence[ModelMessage], streamed: bool, settings: ModelSettings
) -> Answer:
    answer = Answer()
    try:
        if streamed:
            await _read_stream(model, history, settings, answer)
        else:
            answer.message = await model_request(
                model, list(history), model_settings=settings, model_request_parameters=TOOLS
            )
    except Exception as error:
        answer.error = error
    return answer


async def _read_stream(
    model: Model, history: Sequence[ModelMessage], settings: ModelSettings, answer: Answer
) -> None:
    async with model_request_stream(
        model, list(history), model_settings=settings, model_request_parameters=TOOLS
    ) as stream:
        try:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    answer.pieces.append(event.part.content)
                if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    answer.pieces.append(event.delta.content_delta)
        finally:
            answer.message = stream.get()
