"""What a session adds to the state: how it began, what the agent called, wrote and answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signoff.domain.facts import PlanWritten, SessionStarted
from signoff.domain.plan import Budget
from signoff.domain.session import Declared, ToolCall


@dataclass(frozen=True)
class Rewrite:
    """One plan that replaced another."""

    seq: int
    reason: str
    dropped: tuple[str, ...]
    weakened: tuple[str, ...]
    question: str | None = None


@dataclass(frozen=True)
class Share:
    """What a child session was given of the budget, and the step that it works on."""

    step: str
    budget: Budget


@dataclass(frozen=True)
class Signed:
    """A sign-off with the agent gone."""

    seq: int
    snapshot: str
    self_set: bool
    accepted: bool  # whether the user's policy lets self-set checks count


@dataclass
class SessionFacts:
    """Empty for a run that a driver dispatches."""

    started: SessionStarted | None = None
    declared: Mapping[str, Declared] = field(default_factory=dict)
    rewrites: list[Rewrite] = field(default_factory=list)
    pending: PlanWritten | None = None  # a plan that waits for a person to let it come into force
    calls: dict[str, tuple[int, ToolCall]] = field(default_factory=dict)
    notes: dict[str, tuple[int, str]] = field(default_factory=dict)
    strayed: dict[str, None] = field(default_factory=dict)
    shares: dict[str, Share] = field(default_factory=dict)
    mutated: bool = False
    refusals: int = 0
    refused_lately: int = 0  # since the session was taken up, or a person answered
    refusal: str = ""
    repeated: int = 0
    accepted: bool = False
    dropped: tuple[str, ...] = ()  # what a person's task asks for and the accepted answer lacks
    ended: str = ""
    signed: Signed | None = None
    silent_urls: frozenset[str] = frozenset()  # cited, and without an answer at the last sign-off

    def forget_refusals(self) -> None:
        """The count begins anew: the session was taken up, accepted, or a person answered."""
        self.repeated, self.refused_lately, self.refusal = 0, 0, ""
