"""Named points where tests can kill the harness, to prove that nothing is lost there."""

from __future__ import annotations

import os
import signal
from enum import StrEnum

VARIABLE = "SIGNOFF_CRASH_AT"  # NAME or NAME:COUNT, the COUNT-th time the point is reached


class CrashPoint(StrEnum):
    """Every place where a kill is proved harmless."""

    RUN_STARTED = "run-started"
    LIST_READ = "list-read"
    BEFORE_ATTEMPT = "before-attempt"
    ATTEMPT_STARTED = "attempt-started"
    AGENT_ENDED = "agent-ended"
    ATTEMPT_FINISHED = "attempt-finished"
    CONTRACT_JUDGED = "contract-judged"
    VERDICT_APPENDED = "verdict-appended"
    PROJECTED = "projected"
    ESCALATED = "escalated"
    SWEEP_JUDGED = "sweep-judged"
    BEFORE_FINISH = "before-finish"
    FINISHED = "finished"


_name, _, _count = os.environ.get(VARIABLE, "").partition(":")
_left = int(_count or 1)


def reach(point: CrashPoint) -> None:
    """Die here, as if by kill -9, if a test asked for it."""
    global _left  # noqa: PLW0603 - one counter per process is the whole point
    if point != _name:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
