"""An agent that does what a script says, in this process: to test plans without any model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, Protocol, TypeVar

Act = Callable[[Path], "bytes | None"]
R_co = TypeVar("R_co", covariant=True)


class Given(Protocol):
    """The part of an assignment that a script needs."""

    @property
    def prompt(self) -> str:
        """What the agent was told."""

    @property
    def workspace(self) -> Path:
        """Where it works."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Which step and attempt this is, as any agent learns it."""


class ScriptedAgent(Generic[R_co]):
    """Stands in for any role: (step, attempt) → what is done to the workspace.

    An attempt that the script does not mention claims to be done and does nothing. What an act
    returns counts as printed; what it raises ends the drive, as if the driver had been killed.

    `ended` makes the report of an attempt from what was printed: `signoff.agents.printed`.
    """

    def __init__(self, script: Mapping[tuple[str, int], Act], ended: Callable[[bytes], R_co]):
        self._script = dict(script)
        self._ended = ended
        self.prompts: dict[tuple[str, int], str] = {}

    def work(self, assignment: Given) -> R_co:
        """Do what the script says for this attempt."""
        variables = assignment.variables
        number = int(variables["SIGNOFF_ATTEMPT"].rpartition(":")[2])
        attempt = (variables["SIGNOFF_STEP"], number)
        self.prompts[attempt] = assignment.prompt
        act = self._script.get(attempt)
        spoken = act(assignment.workspace) if act is not None else None
        return self._ended(b"I am done.\n" if spoken is None else spoken)
