"""The nouns of storage: who holds something, which plan, which run, what a chain check found."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any


def utc_now() -> str:
    """The current time as stored everywhere: ISO 8601, microseconds, `+00:00`."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True)
class Holder:
    """Who drives a run or holds a lock, for the person who has to wait."""

    pid: int
    host: str
    plan: str
    since: str
    worker: str = ""
    home: str = ""  # whose locks prove that it is alive

    @classmethod
    def current(cls, plan: str, worker: str = "", home: str = "") -> Holder:
        """This process, from now on."""
        return cls(os.getpid(), os.uname().nodename, plan, utc_now(), worker, home)

    def shares_locks_with(self, other: Holder) -> bool:
        """Whether both take the same locks, so that a free one proves the other dead."""
        return bool(self.home) and (self.host, self.home) == (other.host, other.home)

    def facts(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def __str__(self) -> str:
        return f"process {self.pid} on `{self.host}` since {self.since}"


@dataclass(frozen=True)
class Fence:
    """The right to write for a run; a takeover hands out a higher token and voids this one."""

    run: str
    token: int


@dataclass(frozen=True)
class PlanRecord:
    """A plan the ledger knows: `repository` is the main checkout, or None outside any vault."""

    id: str
    name: str
    path: str
    repository: str | None


@dataclass(frozen=True)
class RunRecord:
    """The current driver of a run."""

    run: str
    plan: str
    token: int
    holder: Holder


@dataclass(frozen=True)
class ChainReport:
    """What walking a plan's chain found; `first_bad` is the first entry not to be trusted."""

    plan: str
    entries: int
    head: str
    first_bad: int | None = None
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether every entry is where and what it was when it was written."""
        return self.first_bad is None
