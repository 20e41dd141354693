"""An agent that does what a script says, in this process: plans are driven without any model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from signoff.agents.assignment import Assignment, AttemptReport
from signoff.domain.digests import digest_bytes
from signoff.domain.verdict import Ending, Observation, Output
from signoff.process.command import Mount

Act = Callable[[Path], "bytes | None"]


class ScriptedAgent:
    """Stands in for any role: (step, attempt) → what is done to the workspace.

    An attempt that the script does not mention claims to be done and does nothing. What an act
    returns counts as printed; what it raises ends the drive, as if the driver had been killed.
    """

    def __init__(self, script: Mapping[tuple[str, int], Act]):
        self._script = dict(script)
        self.prompts: dict[tuple[str, int], str] = {}

    def beside(self, mounts: tuple[Mount, ...], mark: str) -> ScriptedAgent:
        """It needs no sandbox to be where it is told to be."""
        del mounts, mark
        return self

    def work(self, assignment: Assignment) -> AttemptReport:
        """Do what the script says for this attempt."""
        variables = assignment.variables
        number = int(variables["SIGNOFF_ATTEMPT"].rpartition(":")[2])
        attempt = (variables["SIGNOFF_STEP"], number)
        self.prompts[attempt] = assignment.prompt
        act = self._script.get(attempt)
        spoken = act(assignment.workspace) if act is not None else None
        return printed(b"I am done.\n" if spoken is None else spoken)


def printed(text: bytes) -> AttemptReport:
    """The report of an agent that printed this and exited well."""
    nothing = Output(0, digest_bytes(b""), b"", b"")
    stdout = Output(len(text), digest_bytes(text), text, b"")
    return AttemptReport(Observation(Ending.EXITED, 0, None, 0.0, stdout, nothing), None)
