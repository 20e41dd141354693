"""A model by its name, and one answer of it: streamed, retried, its price taken down."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace  # noqa: TID251 - messages of the model library are data classes
from typing import Any

from msgspec import Struct
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from signoff.agents.loop.limits import CHARACTERS_A_TOKEN, LoopLimits, Used
from signoff.agents.tools.definition import Tool
from signoff.domain.text import escape_line
from signoff.errors import ModelUnusable

_FINAL = (
    exceptions.ModelRequestRejectedError,
    exceptions.ModelQuotaExceededError,
    exceptions.UserError,
)
_PASSING_STATUSES = frozenset({408, 409, 425, 429})
_LONGEST_REASON = 400
NO_KEY = "no-key"  # local servers ask for none, and the library insists on one
UNKNOWN_HINT = "name a provider: openai, anthropic, google; any other server with --base-url"
_INSTALL = re.compile(r"`(pip install [^`]+)`")
ALIASES = {"google-gla": "google", "gemini": "google"}
# Providers that take an address, and the variables in which each looks for its key.
_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}


class ModelGaveUp(Exception):
    """The model cannot be asked any further; the message says why."""


class ContextFull(Exception):
    """The conversation is longer than the model takes."""


class ModelReply(Struct, frozen=True):
    message: ModelResponse
    used: Used

    @property
    def text(self) -> str:
        return self.message.text or ""


class Asker(Struct):
    """Asks one model, by `run` on one event loop; tells what is streamed and what is retried."""

    model: Model
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    limits: LoopLimits
    on_text: Callable[[str], None]
    on_retry: Callable[[str], None]
    retries: int = 0

    def ask(
        self,
        messages: Sequence[ModelMessage],
        system: str,
        tools: Sequence[Tool] = (),
        left_s: float = float("inf"),
    ) -> ModelReply:
        """The model's next message; ModelGaveUp or ContextFull when there is none to be had."""
        last = messages[-1]
        assert isinstance(last, ModelRequest)  # the model is asked when it is its turn
        # The system prompt goes with the latest request, where every provider looks for it.
        prepared = [*messages[:-1], replace(last, instructions=system)]
        offered = [
            ToolDefinition(
                name=t.name, description=t.description, parameters_json_schema=dict(t.parameters)
            )
            for t in tools
        ]
        parameters = ModelRequestParameters(function_tools=offered)
        began = time.monotonic()
        failures = 0
        while True:
            rest_s = left_s - (time.monotonic() - began)
            if rest_s <= 0:
                raise ModelGaveUp("the time is over")
            try:
                limit_s = min(rest_s, self.limits.request_s)
                answer: ModelResponse = self.run(self._stream(prepared, parameters, limit_s))
                return _reply(answer, prepared)
            except exceptions.ModelContextWindowExceededError as error:
                raise ContextFull(_reason(error)) from error
            except (exceptions.AgentRunError, exceptions.UserError, OSError) as error:
                failures += 1
                self._wait(error, failures, left_s - (time.monotonic() - began))

    async def _stream(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, limit_s: float
    ) -> ModelResponse:
        async with asyncio.timeout(limit_s):
            async with model_request_stream(
                self.model,
                messages,
                # Our own retries respect the limits of the loop; the library's would not.
                model_settings=ModelSettings(max_retries=0),
                model_request_parameters=parameters,
            ) as stream:
                async for event in stream:
                    if text := _said(event):
                        self.on_text(text)
                answer = stream.get()
        if answer.finish_reason is None:
            # The stream ended in order, but without its last events.
            raise exceptions.UnexpectedModelBehavior("the answer broke off")
        return answer

    def _wait(self, error: Exception, failures: int, left_s: float) -> None:
        """Wait as long as asked, or longer each time; give up when that helps nobody."""
        reason = _reason(error)
        # What was no answer at all passes: broken JSON, a broken connection, a stream without end.
        status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else 500
        if isinstance(error, _FINAL) or (status < 500 and status not in _PASSING_STATUSES):
            raise ModelGaveUp(reason) from error  # the same request would be wrong again
        if failures > self.limits.retries:
            raise ModelGaveUp(f"{reason} ({failures} times in a row)") from error
        asked_s = getattr(error, "retry_after", None)
        if asked_s is not None and asked_s > self.limits.longest_wait_s:
            raise ModelGaveUp(f"{reason}; it asks to wait {asked_s:g} s") from error
        backing_off = self.limits.first_wait_s * 2 ** (failures - 1) * random.uniform(0.75, 1.25)
        wait_s = asked_s if asked_s is not None else min(backing_off, self.limits.longest_wait_s)
        if wait_s >= left_s:
            raise ModelGaveUp(f"{reason}; the time is over before it can be tried again") from error
        self.retries += 1
        self.on_retry(f"{reason}; trying again in {wait_s:.1f} s")
        self.run(asyncio.sleep(wait_s))


def text_size(messages: Sequence[ModelMessage]) -> int:
    """Roughly how many characters a conversation has."""
    return sum(
        len(str(getattr(p, "content", "") or getattr(p, "args", "")))
        for m in messages
        for p in m.parts
    )


def _said(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _reply(answer: ModelResponse, messages: Sequence[ModelMessage]) -> ModelReply:
    """Tokens that a provider did not count are estimated, so that a limit still means something."""
    tokens_in = answer.usage.input_tokens or text_size(messages) // CHARACTERS_A_TOKEN
    tokens_out = answer.usage.output_tokens or text_size([answer]) // CHARACTERS_A_TOKEN
    try:
        usd = float(answer.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        usd = None
    return ModelReply(answer, Used(0, tokens_in, tokens_out, usd))


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the model did not answer in time"
    status = f"status {error.status_code}: " if isinstance(error, exceptions.ModelHTTPError) else ""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    return escape_line(f"{status}{said or error}")[:_LONGEST_REASON]


def open_model(named: str, base_url: str | None, environ: Mapping[str, str]) -> Model:
    provider, colon, name = named.partition(":")
    provider = ALIASES.get(provider, provider)
    if not (provider and colon and name):
        raise ModelUnusable(
            f"`{named}` does not name a model", "write PROVIDER:NAME, such as openai:gpt-5"
        )
    if base_url is not None and provider not in _KEYS:
        raise ModelUnusable(f"`{provider}` takes no base URL", f"with one, use {', '.join(_KEYS)}")
    try:
        if base_url is None:
            return infer_model(f"{provider}:{name}")
        # What servers that call themselves compatible speak.
        spoken = "openai-chat" if provider == "openai" else provider
        key = next(filter(None, map(environ.get, _KEYS[provider])), NO_KEY)
        build: Any = infer_provider_class(spoken)
        return infer_model(f"{spoken}:{name}", lambda _: build(base_url=base_url, api_key=key))
    except exceptions.UserError as error:
        first = str(error).split(". ", maxsplit=1)[0]
        hint = UNKNOWN_HINT if first.startswith("Unknown") else None
        raise ModelUnusable(f"the model `{named}` cannot be used: {first}", hint) from error
    except ImportError as error:
        asked = _INSTALL.search(str(error))
        hint = f"python3 -m {asked[1]}" if asked else "install the package that it names"
        raise ModelUnusable(f"the model `{named}` needs another package: {error}", hint) from error
