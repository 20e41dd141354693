"""What a loop is made of: its task, model, tools, session, limits, and who is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic_ai.models import Model

from signoff.agents.loop.acting import Confirm, Records
from signoff.agents.loop.batching import Batching
from signoff.agents.loop.handing import Judged
from signoff.agents.loop.instructions import PLAIN_PROMPT, SYSTEM_PROMPT
from signoff.agents.loop.limits import LoopLimits
from signoff.agents.loop.transcript import Past, Transcript
from signoff.agents.session import Finalization
from signoff.agents.tools.context import ToolContext
from signoff.agents.tools.definition import Tool, ToolOutcome
from signoff.gate.session import SessionMissing


class Session(Records, Judged, Protocol):
    """The plan and its gate, as the loop needs them."""

    @property
    def id(self) -> str:
        """The session's name in the ledger."""

    def plan_show(self) -> str:
        """The plan as it stands."""

    def record_usage(self, tokens: int = 0, usd: float = 0.0, model: str = "") -> None:
        """What an answer took."""

    def try_finish(
        self,
        answer: str,
        *,
        limit_s: float | None = None,
        unmet: Sequence[SessionMissing] = (),
        dropped: Sequence[str] = (),
    ) -> Finalization:
        """A final answer meets the gate."""


class LoopReporter(Protocol):
    """Is told what happens, while it happens."""

    def said(self, chunk: str) -> None:
        """The model said a piece of its answer."""

    def called(self, name: str, arguments: str) -> None:
        """It calls a tool."""

    def returned(self, name: str, outcome: ToolOutcome) -> None:
        """The tool gave a result."""

    def noted(self, text: str) -> None:
        """The harness did something: a retry, a refusal, a compaction."""


class Silent:
    """Tells nobody."""

    def said(self, chunk: str) -> None:
        """Nothing."""

    def called(self, name: str, arguments: str) -> None:
        """Nothing."""

    def returned(self, name: str, outcome: ToolOutcome) -> None:
        """Nothing."""

    def noted(self, text: str) -> None:
        """Nothing."""


@dataclass(frozen=True)
class LoopSetup:
    """Everything a loop is made of; without a session there is no plan and no gate."""

    task: str
    model: Model
    tools: Sequence[Tool]
    context: ToolContext
    session: Session | None = None
    name: str = ""  # of the session, where there is none in the ledger
    system: str | None = None  # in place of our own system prompt
    limits: LoopLimits = field(default_factory=LoopLimits)
    transcript: Transcript = field(default_factory=lambda: Transcript(None))
    reporter: LoopReporter = field(default_factory=Silent)
    past: Past | None = None  # of a session that is resumed
    followup: str = ""  # what the model is told when it is resumed
    words: str = ""  # of it, what the person says
    batching: Batching = field(default_factory=Batching)  # how its calls are run
    confirm: Confirm | None = None  # asked before every call that may change something

    @property
    def system_prompt(self) -> str:
        """What the model is told about its work."""
        if self.system is not None:
            return self.system
        return PLAIN_PROMPT if self.session is None else SYSTEM_PROMPT
