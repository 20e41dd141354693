"""For tests of the definition of done: calls, outcomes, and a judge that really runs commands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.definition import Check, RoundStatus, Seen, Support
from signoff.domain.observation import Ending
from signoff.process.command import Command
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import shell_command
from signoff.toolbatch.calls import STANDARD_SHAPES, Call, Outcome, OutcomeKind, Result
from signoff.toolbatch.judging import seen_of, status_of

_NOT_RUN = (126, 127)


def call(tool: str, path: str = "", id: str = "c1", **arguments: object) -> Call:
    """A call of a standard tool."""
    named = {"path": path} if path else {}
    paths = (path,) if path else ()
    return Call(id, tool, {**named, **arguments}, STANDARD_SHAPES[tool], paths)


def executed(made: Call, *, ok: bool = True, changed: Sequence[str] = ()) -> Outcome:
    """What came of a call that was made."""
    result = Result("", ok, writes=dict.fromkeys(changed, "0" * 64))
    return Outcome(made, OutcomeKind.EXECUTED, "", ok, result=result)


@dataclass(frozen=True)
class ShellJudge:
    """Runs every check in the workspace, one after the other."""

    root: Path
    timeout_s: float = 60.0

    def judge(self, checks: Sequence[Check]) -> tuple[RoundStatus, tuple[Seen, ...]]:
        """What the checks show now."""
        seen = tuple(self._look(check) for check in checks)
        return status_of(checks, seen), seen

    def _look(self, check: Check) -> Seen:
        observed = run(
            Command(
                argv=shell_command(check.command),
                cwd=self.root,
                env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
                limits=Limits(wall_s=self.timeout_s),
            )
        )
        if observed.ending is not Ending.EXITED or observed.exit_code in _NOT_RUN:
            return seen_of(check, Support.MISSING, observed.describe())
        held = observed.exit_code == 0
        said = observed.stdout.kept.decode("utf-8", "replace")
        return seen_of(check, Support.SUPPORTS if held else Support.CONTRADICTS, said)
