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
    LANDED = "landed"
    PROJECTED = "projected"
    ESCALATED = "escalated"
    SWEEP_JUDGED = "sweep-judged"
    BEFORE_FINISH = "before-finish"
    FINISHED = "finished"


class CachePoint(StrEnum):
    """Places where a kill loses none of a person's compiled caches."""

    ASIDE = "caches-aside"


class EnginePoint(StrEnum):
    """Places where a kill leaves no half-made database of the durable engine."""

    MADE = "engine-made"


class RepositoryPoint(StrEnum):
    """Places where a kill leaves a git repository that the same call finishes."""

    WORKTREE_FILLED = "worktree-filled"
    WORKTREE_BRANCHED = "worktree-branched"
    WORKTREE_REGISTERED = "worktree-registered"
    WORKTREE_ASIDE = "worktree-aside"
    WORKTREE_UNREGISTERED = "worktree-unregistered"
    CONTENT_COMMITTED = "content-committed"
    BASE_MOVED = "base-moved"
    FILE_REMOVED = "file-removed"
    FILE_WRITTEN = "file-written"
    FILE_PLACED = "file-placed"
    INDEX_LOCKED = "index-locked"
    INDEX_PLACED = "index-placed"


class VaultPoint(StrEnum):
    """Places where a kill leaves a vault that the same call finishes."""

    PLAN_ACTIVATED = "plan-activated"


_name, _, _count = os.environ.get(VARIABLE, "").partition(":")
_left = int(_count or 1)


def reach(point: CachePoint | CrashPoint | EnginePoint | RepositoryPoint | VaultPoint) -> None:
    """Die here, as if by kill -9, if a test asked for it."""
    global _left  # noqa: PLW0603 - one counter per process is the whole point
    if point != _name:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
