"""The checks of a definition of done, judged as the contracts of the session's plan are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from signoff.agents.sessions.desk import Desk
from signoff.domain.definition import Check, RoundStatus, Seen, Support
from signoff.domain.plan import Contract
from signoff.domain.text import tail
from signoff.domain.verdict import Result, Verdict
from signoff.gate.record import Judged
from signoff.toolbatch.judging import seen_of, status_of

SUBJECT = "definition of done"
LONGEST_DETAIL = 1_000
_SUPPORT = {
    Result.KEPT: Support.SUPPORTS,
    Result.BROKEN: Support.CONTRADICTS,
    Result.UNKNOWN: Support.MISSING,
}


@dataclass(frozen=True)
class SessionChecks:
    """Runs checks where the agent has no say; provisional, as everything while it lives."""

    desk: Desk

    def judge(self, checks: Sequence[Check]) -> tuple[RoundStatus, tuple[Seen, ...]]:
        """What the checks show on the content as it is now; the plan's own answers are taken."""
        seen = []
        for check in checks:
            verdict = self.desk.answer_to(check.command) or self._judged(check.command)
            seen.append(seen_of(check, _SUPPORT[verdict.result], _detail(verdict)))
        return status_of(checks, seen), tuple(seen)

    def _judged(self, command: str) -> Verdict:
        return self.desk.judge.judge(SUBJECT, Contract(command), provisional=True)


def _detail(verdict: Verdict | Judged) -> str:
    return f"{verdict.message}\n{tail(verdict.output_tail, LONGEST_DETAIL)}".strip()
