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
    """One run's control group; closed when all of the run's processes are dead."""

    def __init__(self, folder: Path):
        self._folder = folder

    def add(self, pid: int) -> bool:
        """Put a process, and what it starts from now on, under the cap."""
        try:
            (self._folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Remove the group; one that is still in use stays, and is removed by a later run."""
        with suppress(OSError):
            self._folder.rmdir()


def make_pid_group(most: int) -> PidGroup | None:
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
        PidGroup(folder).close()
        return None
    return PidGroup(folder)


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
            PidGroup(folder).close()
