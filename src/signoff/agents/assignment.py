"""What an agent is given and what came back; its own word decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from signoff.agents.answer import Answer
from signoff.agents.usage import Usage
from signoff.domain.observation import Observation
from signoff.settings.loading import Role

# Marks every process of an attempt, and tells our own commands that they run inside one.
ATTEMPT_VARIABLE = "SIGNOFF_ATTEMPT"


@dataclass(frozen=True)
class Assignment:
    """One attempt at one step."""

    role: Role
    prompt: str
    workspace: Path
    usage_file: Path  # where the agent may report what it used; of this attempt alone
    answer_file: Path  # where it may say that it is blocked; of this attempt alone
    timeout_s: float
    variables: Mapping[str, str]
    cancelled: Callable[[], bool] | None = None
    on_output: Callable[[bytes], None] | None = None
    prompt_file: Path | None = None  # for a prompt that is too long to be an argument


@dataclass(frozen=True)
class Report:
    """The end of an attempt: what the process did, and what it says of itself."""

    observation: Observation
    usage: Usage | None
    answer: Answer | None = None
    usage_unreadable: bool = False  # it reported something that is no report
    why: str = ""  # it ended as it did, where more is known than that it did
