"""Starting one process: its sandbox, its limits, and what it means when that fails."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack

from msgspec import Struct

from signoff.domain.verdict import Ending, Isolation
from signoff.process.bubblewrap import NamespaceSandbox
from signoff.process.command import Command, Refusal, Unavailable, Unconfined, refusal_of
from signoff.process.landlock import LandlockSandbox
from signoff.process.limits import PidGroup
from signoff.process.tree import Tree

# What stands between a command and the machine during one run. Each starts the main process
# (`popen`), puts the limits on it (`settle`: returns the cap on processes that the kernel does not
# see to yet), tells how the command itself ended (`outcome`), and gives back every descriptor and
# folder once no process of the run is alive (`close`).
Box = Unconfined | LandlockSandbox | NamespaceSandbox


class Started(Struct, frozen=True):
    """A running main process.

    `most_processes` is a cap that the kernel does not see to; None when there is no such cap.
    `group` is where the kernel would, once the run is in it; None where it may not be asked to.
    """

    process: subprocess.Popen[bytes]
    box: Box
    most_processes: int | None
    group: PidGroup | None


def start(command: Command, tree: Tree, cleanup: ExitStack) -> Started | Refusal:
    """The running main process, or what kept it from starting.

    `cleanup` is to be closed when everything of the run is dead.
    """
    if not command.argv:
        return Refusal(Ending.NOT_STARTED, "the command is empty")
    try:
        box = _enclose(command)
        cleanup.callback(box.close)
        process = tree.start(box.popen)
    except Unavailable as reason:
        return Refusal(Ending.NOT_STARTED, str(reason))
    except (OSError, ValueError) as error:
        return refusal_of(command, error)
    group = _pid_group(command)
    if group is not None:
        cleanup.callback(group.close)
    try:
        return Started(process, box, box.settle(process, tree, group), group)
    except Unavailable as reason:
        return Refusal(Ending.NOT_STARTED, str(reason))  # who called ends what was started


def _enclose(command: Command) -> Box:
    confinement = command.confinement
    if confinement is None:
        return Unconfined(command)
    if confinement.isolation is Isolation.LANDLOCK:
        return LandlockSandbox(command, confinement)
    return NamespaceSandbox(command, confinement)


def _pid_group(command: Command) -> PidGroup | None:
    most = command.limits.processes
    if most is None or os.geteuid() != 0:
        return None
    confinement = command.confinement
    in_namespace = confinement is not None and confinement.isolation.has_own_view
    # The first process of a namespace comes on top of the command's own.
    return PidGroup(most + 1 if in_namespace else most)
