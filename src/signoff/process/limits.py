"""How long a run may last, how much of its output is kept, what the kernel caps."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

if sys.platform != "win32":
    import resource


@dataclass(frozen=True)
class Limits:
    """`max_output` counts both streams together, `processes` all processes of the run.

    `open_files`, `file_size`, `cpu_s` and `memory` hold for each process of the run. `memory`
    counts what a process may write for itself alone, not what it merely reserves or shares.
    """

    wall_s: float
    grace_s: float = 1.0
    keep_head: int = 16_384
    keep_tail: int = 49_152
    max_output: int | None = None
    open_files: int | None = None
    file_size: int | None = None
    cpu_s: int | None = None
    memory: int | None = None
    processes: int | None = None


def apply_limits(pids: Iterable[int], limits: Limits) -> None:
    """Cap running processes from outside; what they start later inherits the caps."""
    wanted = {
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_CPU: limits.cpu_s,
        # Not RLIMIT_AS: runtimes such as Node reserve address space by the gigabyte.
        resource.RLIMIT_DATA: limits.memory,
    }
    asked = {number: value for number, value in wanted.items() if value is not None}
    if not asked:
        return
    for pid in pids:
        for number, value in asked.items():
            _cap(pid, number, value)


def cap_user_processes(pid: int, most: int) -> None:
    """Cap how many processes the user may have; meaningful only inside a user namespace."""
    _cap(pid, resource.RLIMIT_NPROC, most)


def _cap(pid: int, number: int, value: int) -> None:
    if sys.platform != "linux":
        return
    with suppress(OSError):
        hard = resource.prlimit(pid, number)[1]
        cap = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.prlimit(pid, number, (cap, cap))
