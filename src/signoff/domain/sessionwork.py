"""What an agent did for a plan in a session of its own, as the run that signs it records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class SessionWork:
    """One session's work, read from the session's own chain; nobody was given a step for it."""

    id: str
    agent: str  # who had the session
    model: str | None  # every model that was used, the first one first; None where nobody said
    tokens: int | None  # with all sessions that it delegated to; None where nobody counted
    usd: float | None
    seq: int  # the newest entry of its chain as the run began
    hash: str
    red: tuple[str, ...]  # steps whose first verdict in the session was broken

    @property
    def usage(self) -> dict[str, Any] | None:
        """What it used, as an attempt reports it; None where nobody counted."""
        if self.tokens is None:
            return None
        return {"tokens": self.tokens, "usd": self.usd, "model": self.model or ""}

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        return {**asdict(self), "red": list(self.red)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> SessionWork:
        """The stored form read back."""
        return cls(**{**data, "red": tuple(data["red"])})
