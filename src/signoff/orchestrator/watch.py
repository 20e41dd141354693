"""Edits behind the pins: the plan file or the repository's configuration changed during a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from signoff.domain.digests import digest_of
from signoff.errors import PlanNotFound, PlanUnreadable
from signoff.planfile import decode, plan_digest, unified
from signoff.settings import read_config_text
from signoff.storage import read_plan_file

LONGEST_DIFFERENCE = 20_000


@dataclass(frozen=True)
class PinWatch:
    """Compares what lies there with what was pinned; marks and status do not count."""

    plan_path: Path
    plan_digest: str
    plan_text: str
    config_path: Path
    config_text: str

    def edited(self) -> tuple[str, str] | None:
        """The digest of what is there instead, and the difference; None when all is as pinned."""
        plan = self._plan_now()
        config = read_config_text(self.config_path)
        plan_same = plan is not None and _meaning(plan) == self.plan_digest
        if plan_same and config == self.config_text:
            return None
        parts = []
        if not plan_same:
            parts.append(unified(self.plan_text, plan or "", self.plan_path.name))
        if config != self.config_text:
            parts.append(unified(self.config_text, config, self.config_path.name))
        seen = digest_of({"plan": _meaning(plan) if plan else None, "config": config})
        return seen, "\n".join(parts)[:LONGEST_DIFFERENCE]

    def _plan_now(self) -> str | None:
        try:
            return decode(read_plan_file(self.plan_path), str(self.plan_path))
        except (PlanNotFound, PlanUnreadable):
            return None


@lru_cache(maxsize=2)
def _meaning(text: str) -> str:
    """The plan's digest; between two marks the file is the same, and is asked for at every step."""
    return plan_digest(text)
