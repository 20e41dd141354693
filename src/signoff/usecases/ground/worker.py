"""Who asks for work: a worker by name, or the process above this command."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from signoff.domain.digests import digest_bytes
from signoff.errors import UsageError
from signoff.process.ancestry import ProcessIdentity, ancestors, identify
from signoff.storage.leases import home_identity
from signoff.storage.records import Holder
from signoff.usecases.ground.site import Site

WORKER_VARIABLE = "SIGNOFF_WORKER"
LONGEST_NAME = 100
_NAME = re.compile(r"[^\s\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class Worker:
    """`named` ones are the same wherever they ask from; others are as long as their process."""

    name: str
    pid: int
    named: bool

    def owns(self, holder: Holder) -> bool:
        """Whether a claim is this worker's own.

        A script that asks in a shell of its own and runs in another is one worker all the same:
        what a process took that is no more may be used by anybody on its machine without a name.
        """
        if holder.worker == self.name:
            return True
        return not self.named and _was_unnamed(holder) and _is_gone(holder)

    def claimant(self, site: Site, plan: str) -> Holder:
        """As the holder of a claim: not this short command, but whoever gave it."""
        here = self.driver(site, plan)
        return replace(here, pid=self.pid)

    def driver(self, site: Site, plan: str) -> Holder:
        """As the driver of a run: this process."""
        return Holder.current(plan, self.name, home_identity(site.home.path))


def find_worker(environ: Mapping[str, str], chosen: str | None = None) -> Worker:
    """The name that was given, else the variable's, else the process that started us."""
    name = chosen if chosen is not None else environ.get(WORKER_VARIABLE) or None
    above = ancestors()
    parent = above[0] if above else ProcessIdentity(os.getppid(), "")
    if name is None:
        return Worker(_unnamed(parent), parent.pid, named=False)
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name[:LONGEST_NAME]}` is no name for a worker",
            f"choose up to {LONGEST_NAME} characters without spaces",
        )
    return Worker(name, parent.pid, named=True)


def _unnamed(process: ProcessIdentity) -> str:
    born = digest_bytes(process.started.encode())[:8]
    return f"{os.uname().nodename}:{process.pid}:{born}"


def _was_unnamed(holder: Holder) -> bool:
    there = f"{re.escape(holder.host)}:{holder.pid}:[0-9a-f]{{8}}"
    return holder.host == os.uname().nodename and bool(re.fullmatch(there, holder.worker))


def _is_gone(holder: Holder) -> bool:
    process = identify(holder.pid)
    return process is None or _unnamed(process) != holder.worker
