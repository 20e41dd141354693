"""How long a run may last, how much of its output is kept, what the kernel caps.

The kernel exempts root from `RLIMIT_NPROC`, also inside user namespaces; a control group it does
not. Making one takes rights that usually only root has: where it is refused there is none.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from signoff.process.proctable import descendants, read_proc, read_stat

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


def limit_running(main: int, limits: Limits) -> int | None:
    """Limit a process that already runs, and what it has started by now; the cap on processes."""
    apply_limits((main, *descendants([main])), limits)
    return limits.processes


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


_PREFIX = "signoff-"
_numbers = itertools.count()


class PidGroup:
    """One run's control group, made when it is first needed, closed when all of the run is dead.

    To move a process into a group the kernel waits for every processor, some milliseconds.
    """

    def __init__(self, most: int):
        self._most = most
        self._folder: Path | None = None

    def add(self, pid: int) -> bool:
        """Put a process, and what it starts from now on, under the cap; False where refused."""
        self._folder = self._folder or _make_folder(self._most)
        if self._folder is None:
            return False
        try:
            (self._folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            return False
        return True

    def members(self) -> frozenset[int]:
        """Who is under the cap."""
        if self._folder is None:
            return frozenset()
        return frozenset(map(int, read_proc(f"{self._folder}/cgroup.procs").split()))

    def close(self) -> None:
        """Remove the group; one that is still in use stays, and is removed by a later run."""
        if self._folder is not None:
            _remove(self._folder)


def _make_folder(most: int) -> Path | None:
    """A group that holds at most so many processes and threads; None where that is refused."""
    parent = _parent_folder()
    if parent is None:
        return None
    for left in parent.glob(f"{_PREFIX}*-*"):  # by drivers that are dead
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and read_stat(int(pid)) is None:
            _remove(left)
    folder = parent / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        (folder / "pids.max").write_text(str(most))
    except OSError:
        _remove(folder)
        return None
    return folder


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _parent_folder() -> Path | None:
    """Our own group, where it may have groups with a cap: any other has other limits than ours."""
    own = _own_groups()
    for line in read_proc("/proc/self/mountinfo").decode(errors="replace").splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.partition(" ")
        root, place = fields.split(" ")[3:5]
        if kind == "cgroup" and "pids" in re.split("[ ,]", options):
            return _below(place, root, own.get("pids", "/"))
        if kind == "cgroup2":
            folder = _below(place, root, own.get("", "/"))
            if b"pids" in read_proc(f"{folder}/cgroup.subtree_control").split():
                return folder
    return None


def _below(place: str, root: str, group: str) -> Path:
    inner = os.path.relpath(group, root)
    return Path(place) if inner.startswith("..") else Path(place, inner)


def _own_groups() -> dict[str, str]:
    """Our own group in each hierarchy, by controller; the unified one has no name."""
    groups = {}
    for line in read_proc("/proc/self/cgroup").decode(errors="replace").splitlines():
        _number, controllers, group = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), group))
    return groups
