"""The conversation with a model: what was said and told, on disk before the next act."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart

from signoff.agents.loop.asking import Reply
from signoff.agents.loop.limits import Charge
from signoff.agents.loop.transcript import LineKind, Past, Transcript

Facts = dict[str, float | int | None]


class Conversation:
    """Messages in memory and on the transcript; `calmly` keeps a line from being half written."""

    def __init__(
        self, transcript: Transcript, past: Past, calmly: Callable[[], AbstractContextManager[None]]
    ):
        self.messages: list[ModelMessage] = list(past.messages)
        self.compactions = past.compactions
        self.context_tokens = 0  # of the latest answer: how full the model's context is
        self._transcript = transcript
        self._calmly = calmly

    @property
    def waits_for_model(self) -> bool:
        """Whether the last word was said to the model."""
        return isinstance(self.messages[-1], ModelRequest)

    def keep(self, reply: Reply) -> None:
        """On disk before anything is done: the answer was paid for, and its calls may be lost.

        An empty one is paid for too, but most APIs refuse to be sent it again.
        """
        said = [reply.message] if reply.calls or reply.text.strip() else []
        self.messages.extend(said)
        with self._calmly():
            self._transcript.add(LineKind.SAID, said, **cost_of(reply))
        self.context_tokens = reply.tokens_in + reply.tokens_out

    def tell(self, text: str) -> None:
        """Something that is no result."""
        told = ModelRequest(parts=[UserPromptPart(text)])
        self.messages.append(told)
        self._transcript.add(LineKind.TOLD, [told])

    def tell_results(self, results: Sequence[ToolReturnPart], said: str, **facts: Any) -> None:
        """What calls gave, and what is said about them."""
        told = ModelRequest(parts=[*results, *([UserPromptPart(said)] if said else [])])
        self.messages.append(told)
        with self._calmly():
            self._transcript.add(LineKind.TOLD, [told], **facts)

    def begin_anew(self, messages: list[ModelMessage], facts: Facts) -> None:
        """These stand for everything before, from now on."""
        self.messages = messages
        self._transcript.add(LineKind.COMPACTED, messages, **facts)
        self.compactions += 1
        self.context_tokens = 0


def cost_of(reply: Reply) -> Facts:
    """What an answer took, as the transcript has it."""
    return {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "usd": reply.usd}


def charges(charged: Sequence[Charge]) -> Facts:
    """What children and second models took during a call, as the transcript has it."""
    if not charged:
        return {}
    prices = [used.usd for used in charged]
    return {
        "turns": sum(used.turns for used in charged),
        "tokens_in": sum(used.tokens_in for used in charged),
        "tokens_out": sum(used.tokens_out for used in charged),
        "usd": None if None in prices else sum(price or 0.0 for price in prices),
    }
