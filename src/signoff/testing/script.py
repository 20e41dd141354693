"""Script of a model, as data: its turns, its failures, and what it was sent."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace  # noqa: TID251
from enum import StrEnum
from uuid import uuid4

from signoff.errors import ScriptUnusable
from signoff.testing.conversation import ScriptedCall, ScriptedRequest, complaint


class FailureKind(StrEnum):
    """Ways in which an answer fails."""

    STATUS = "status"  # an HTTP error instead of an answer
    DROPPED = "dropped"  # the connection breaks after what was said
    CUT_SHORT = "cut-short"  # a stream ends in order, but without its last events
    MALFORMED = "malformed"  # after what was said comes something that is no JSON


@dataclass(frozen=True)
class Failure:
    """One failure; everything but `kind` is about `STATUS`.

    `code` is the provider's own word for it, such as `context_length_exceeded`.
    """

    kind: FailureKind
    status: int = 500
    message: str = "scripted failure"
    code: str = ""
    retry_after_s: float | None = None


@dataclass(frozen=True)
class Turn:
    """One answer: chunks of text, then tool calls, and the tokens it says it took.

    `cut_off` answers ran into the limit of output tokens. With a failure, text and calls are what
    is still said before it. A turn that says nothing is allowed: models do that.
    """

    text: tuple[str, ...] = ()
    calls: tuple[ScriptedCall, ...] = ()
    input_tokens: int = 100
    output_tokens: int = 20
    cut_off: bool = False
    first_byte_s: float = 0.0
    between_chunks_s: float = 0.0
    failure: Failure | None = None

    def __post_init__(self) -> None:
        if isinstance(self.text, str):
            raise ScriptUnusable(
                "the text of a turn is a tuple of chunks, not one string", "use say('…')"
            )

    @property
    def whole_text(self) -> str:
        """All chunks as one."""
        return "".join(self.text)


Respond = Callable[[ScriptedRequest], Turn]


def say(
    *chunks: str, calls: Iterable[ScriptedCall] = (), failure: FailureKind | None = None
) -> Turn:
    """A turn of text, chunk by chunk, with calls after it, perhaps ending in a failure."""
    return Turn(chunks, tuple(calls), failure=Failure(failure) if failure else None)


def use(*calls: ScriptedCall) -> Turn:
    """A turn of tool calls alone, all at once."""
    return Turn(calls=calls)


def refuse(
    status: int,
    message: str = "scripted failure",
    *,
    code: str = "",
    retry_after_s: float | None = None,
) -> Turn:
    """An HTTP error instead of an answer."""
    return Turn(failure=Failure(FailureKind.STATUS, status, message, code, retry_after_s))


class Script:
    """Answers requests in order, or as `respond` decides, and keeps what it was sent.

    `last_repeats` goes on with the last turn for ever. A conversation that no real API accepts is
    refused with status 400, and uses up no turn.
    Every request brings the whole conversation again: `keep` limits `received` to the latest ones.
    """

    def __init__(
        self,
        turns: Iterable[Turn] = (),
        *,
        respond: Respond | None = None,
        last_repeats: bool = False,
        keep: int | None = None,
    ):
        self.turns = tuple(turns)
        if bool(self.turns) == (respond is not None):
            raise ScriptUnusable(
                "a script has either turns or a function that responds",
                "Script([say('…')]) or Script(respond=function)",
            )
        self._respond = respond or self._next
        self._last_repeats = last_repeats
        self._lock = threading.Lock()
        self._received: deque[ScriptedRequest] = deque(maxlen=keep)
        self.requests = 0  # refused ones included
        self._used = 0

    @property
    def received(self) -> tuple[ScriptedRequest, ...]:
        """The requests so far, oldest first."""
        with self._lock:
            return tuple(self._received)

    def answer(self, conversation: ScriptedRequest) -> Turn:
        """Take note of a request and say what the model says to it."""
        with self._lock:
            self._received.append(conversation)
            self.requests += 1
        refused = complaint(conversation.messages)
        if refused is not None:
            return refuse(400, refused, code="invalid_request_error")
        # Outside the lock: a function may wait, and others are answered meanwhile.
        turn = self._respond(conversation)
        if not isinstance(turn, Turn):
            raise ScriptUnusable(
                f"`respond` returned `{type(turn).__name__}`, not a turn", "return say('…')"
            )
        # Calls that have no id get one that no other call ever had.
        calls = (replace(c, id=c.id or f"call_{uuid4().hex[:20]}") for c in turn.calls)
        return replace(turn, calls=tuple(calls))

    def _next(self, _conversation: ScriptedRequest) -> Turn:
        with self._lock:
            used, self._used = self._used, self._used + 1
        if used >= len(self.turns) and not self._last_repeats:
            raise ScriptUnusable(
                f"request {self.requests} came after the last of {len(self.turns)} scripted turns",
                "add turns to the script, or let its last turn repeat",
            )
        return self.turns[min(used, len(self.turns) - 1)]
