"""One limit on attempts for several drivers: as many lock files as agents may work at once.

The kernel frees a lock when its driver ends, however it ends; nothing has to be put right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.agents.assignment import Assignment, AttemptReport
from signoff.agents.command import CommandAgent
from signoff.domain.digests import digest_bytes
from signoff.domain.verdict import Ending, Observation, Output
from signoff.errors import Held
from signoff.process.command import Mount
from signoff.storage.home import hold
from signoff.storage.records import Holder

POOL_VARIABLE = "SIGNOFF_POOL"  # tells a driver which limit it shares, and nobody below it
_LOOK_EVERY_S = 0.1


class AttemptPool(Struct, frozen=True):
    """The locks of one pool; whoever holds one of them may let an agent work."""

    locks: Path
    name: str
    most: int
    holder: Holder

    def enter(self, cancelled: Callable[[], bool]) -> ExitStack | None:
        """Wait for a free lock; close what is returned to free it. None: cancelled meanwhile."""
        while not cancelled():
            for number in range(self.most):
                held = ExitStack()
                try:
                    held.enter_context(hold(self.locks, f"{self.name}-{number}", self.holder))
                except Held:
                    continue
                return held
            time.sleep(_LOOK_EVERY_S)
        return None


class PooledAgent(Struct, frozen=True):
    """An agent that begins once the pool has a free lock."""

    agent: CommandAgent
    pool: AttemptPool

    def work(self, assignment: Assignment) -> AttemptReport:
        """Wait, then let the agent work; its own time begins then."""
        held = self.pool.enter(assignment.cancelled or (lambda: False))
        if held is None:
            nothing = Output(0, digest_bytes(b""), b"", b"")
            ended = Observation(Ending.CANCELLED, None, None, 0.0, nothing, nothing)
            return AttemptReport(ended, None)
        with held:
            return self.agent.work(assignment)

    def beside(self, mounts: tuple[Mount, ...], mark: str) -> PooledAgent:
        """The same for a lane."""
        return replace(self, agent=self.agent.beside(mounts, mark))


def pooled(
    agent: CommandAgent, locks: Path, environ: Mapping[str, str], most: int, plan: Path
) -> CommandAgent | PooledAgent:
    """The agent of every attempt; under `run --all` it waits for a place in the common pool."""
    name = environ.get(POOL_VARIABLE)
    if not name:
        return agent
    return PooledAgent(agent, AttemptPool(locks, name, most, Holder.current(str(plan))))
