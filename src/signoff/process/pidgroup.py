"""A control group that caps the number of processes of a run.

The kernel exempts root from `RLIMIT_NPROC`, also inside user namespaces; a control group it does
not. Making one takes rights that usually only root has: where it is refused there is none.
"""

from __future__ import annotations

import itertools
import os
import re
from contextlib import suppress
from pathlib import Path

from signoff.process.proctable import read_proc, read_stat

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
    _remove_groups_of_the_dead(parent)
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


def _remove_groups_of_the_dead(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and read_stat(int(pid)) is None:
            _remove(folder)
