"""Who started us: tells an approval at a person's terminal from one inside an agent's attempt."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import lru_cache

from signoff.process.proctable import environment_of, has_proc, read_proc, read_stat

_LOOKS = 10
_PAUSE_S = 0.002


@dataclass(frozen=True)
class ProcessIdentity:
    """One process for ever: a pid that is used again has another start."""

    pid: int
    started: str


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of a living process; None when there is none."""
    if not has_proc():
        return ProcessIdentity(pid, "") if _answers(pid) else None
    stat = read_stat(pid)
    if stat is None or stat.dead:
        return None
    return ProcessIdentity(pid, f"{stat.start_ticks}@{_boot()}")


def ancestors() -> tuple[ProcessIdentity, ...]:
    """Our parent, its parent, and so on; only the parent where the system does not say more."""
    found: list[ProcessIdentity] = []
    pid = os.getppid()
    while pid > 0:
        identity = identify(pid)
        if identity is None:
            break
        found.append(identity)
        stat = read_stat(pid) if has_proc() else None
        pid = stat.parent if stat is not None else 0
    return tuple(found)


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether this very process still runs; one that took over its pid does not count."""
    return identify(identity.pid) == identity


def environment_has(pid: int, name: str) -> bool:
    """Whether a process was started with this variable, whatever it unset for itself since."""
    wanted = f"{name}=".encode("utf-8", "surrogateescape")
    return any(entry.startswith(wanted) for entry in _settled_environment(pid).split(b"\0"))


def _settled_environment(pid: int) -> bytes:
    """A process that is just replacing its program shows no environment for a moment."""
    for _ in range(_LOOKS):
        data = environment_of(pid)
        if data or identify(pid) is None:
            return data
        time.sleep(_PAUSE_S)
    return b""


@lru_cache(maxsize=1)
def _boot() -> str:
    return read_proc("/proc/sys/kernel/random/boot_id").decode().strip()


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
