"""Which sandboxes work here, found out by using them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from signoff.domain.observation import Ending
from signoff.domain.verdict import Isolation
from signoff.process.bubblewrap import bubblewrap_version
from signoff.process.command import Command
from signoff.process.confinement import Confinement, Unavailable
from signoff.process.environment import STANDARD_PATH
from signoff.process.kernel import landlock_abi
from signoff.process.landlock import SCOPED_SINCE_ABI
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool

_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Support:
    """Whether a sandbox can be used here; `detail` is its version, or why not."""

    isolation: Isolation
    available: bool
    detail: str


@lru_cache(maxsize=1)
def probe_sandboxes() -> tuple[Support, ...]:
    """Every sandbox there is, the best first; each is really tried, once per process."""
    return (
        _probe(Isolation.BUBBLEWRAP, _describe_bubblewrap),
        _probe(Isolation.NAMESPACES, lambda: "namespaces of its own, without bubblewrap"),
        _probe(Isolation.LANDLOCK, _describe_landlock),
    )


def best_isolation(wanted: Isolation | None) -> Isolation:
    """What to use: as wanted, or the best that works here, which may be none.

    A wish is never lowered: a run that cannot have its sandbox is not started.
    """
    if wanted is not None:
        return wanted
    usable = (support.isolation for support in probe_sandboxes() if support.available)
    return next(usable, Isolation.NONE)


def _probe(isolation: Isolation, describe: Callable[[], str]) -> Support:
    program = find_tool("true", STANDARD_PATH)
    if program is None:
        return Support(isolation, False, f"no `true` in {STANDARD_PATH} to try it with")
    try:
        detail = describe()
    except Unavailable as reason:
        return Support(isolation, False, str(reason))
    confinement = Confinement(isolation, writable=())
    limits = Limits(wall_s=_PATIENCE_S)
    seen = run(Command((str(program),), Path("/"), {}, limits, confinement=confinement))
    if seen.ending is Ending.EXITED and seen.exit_code == 0:
        return Support(isolation, True, detail)
    return Support(isolation, False, seen.detail or seen.describe())


def _describe_bubblewrap() -> str:
    return "bubblewrap " + ".".join(map(str, bubblewrap_version()))


def _describe_landlock() -> str:
    abi = landlock_abi()
    if not abi:
        raise Unavailable("the kernel offers no Landlock")
    missing = ["read-only paths inside writable folders are not enforced"]
    if abi < SCOPED_SINCE_ABI:
        missing.append("signals to other processes are not stopped")
    return f"Landlock {abi}; " + "; ".join(missing)
