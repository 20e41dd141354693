"""What stands between the machine and the processes of a run: one profile each for both kinds.

contract   the folder it judges writable, the rest read-only, no network unless it says so
agent      the workspace writable, vault and git metadata read-only, network as the role says

Signoff's home and the user's own configuration are invisible to both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.verdict import Isolation
from signoff.process.command import Confinement, Mount
from signoff.settings.loading import Role
from signoff.workspace.opened import OpenedFiles

PRIVATE_TMP = "/tmp"  # what a bubblewrap sandbox shows there is its own


@dataclass(frozen=True)
class JudgingPlace:
    """Where one contract is judged: the workspace itself, or a clean room shown in its place."""

    folder: Path
    judged_in: JudgeIn = JudgeIn.WORKSPACE
    note: str = ""
    mounts: tuple[Mount, ...] = ()
    on_disk: Path | None = None  # where the folder's files are, if they are shown from elsewhere
    setup: OpenedFiles | None = None  # what the set-up read that made the by-products, if one did


@dataclass(frozen=True)
class Enclosure:
    """The confinement of a run's processes; with isolation `none` there is none."""

    isolation: Isolation = Isolation.NONE
    hidden: tuple[Path, ...] = ()  # home of signoff, the user's configuration
    untouchable: tuple[Path, ...] = ()  # vault, plan file and git metadata of the workspace
    scratch: tuple[Path, ...] = ()  # caches of the user, shown empty
    search_path: str = ""
    readable: tuple[Path, ...] = ()  # the user's additions
    writable: tuple[Path, ...] = ()  # the user's additions, for agents
    agents: bool = True

    @property
    def of_agents(self) -> Isolation:
        """What agents are confined by."""
        return self.isolation if self.agents else Isolation.NONE

    @property
    def sealed(self) -> bool:
        """Whether neither agents nor contracts can change anything but the content."""
        return self.of_agents is not Isolation.NONE

    def missing(self, workspace: Path) -> tuple[Path, ...]:
        """Places that the user opened and that are left out, because they are not there.

        In the workspace they may come yet, and are opened with it.
        """
        if self.isolation is Isolation.NONE:
            return ()
        opened = dict.fromkeys((*self.readable, *(self.writable if self.agents else ())))
        return tuple(p for p in opened if not p.is_relative_to(workspace) and not _is_there(p))

    def for_contract(
        self,
        contract: Contract,
        seat: JudgingPlace,
        readable: Iterable[Path] = (),
        writable: Iterable[Path] = (),
        shown: tuple[Path, ...] = (),
    ) -> Confinement | None:
        """The profile of a contract; None when nothing confines it."""
        if self.isolation is Isolation.NONE:
            return None
        in_room = seat.judged_in is JudgeIn.CLEAN
        return Confinement(
            isolation=self.isolation,
            writable=(*(() if in_room else (seat.folder,)), *writable),
            readonly=() if in_room else self.untouchable,
            readable=(*self._tool_folders(), *self.readable, *readable),
            shown=shown,
            hidden=self.hidden,
            scratch=self.scratch,
            mounts=seat.mounts,
            network=contract.network is True,
            # What is shown to it alone must not leave with it.
            traceless=bool(shown),
        )

    def for_agent(
        self,
        role: Role,
        workspace: Path,
        readable: Iterable[Path] = (),
        writable: Iterable[Path] = (),
        absent: Iterable[Path] = (),
    ) -> Confinement | None:
        """The profile of an agent; None when nothing confines it. `absent` is not to be made."""
        if self.of_agents is Isolation.NONE:
            return None
        opened = set(self.writable)
        # What lies in the workspace is writable with it; a mount of its own could not be replaced.
        outside = (p for p in self.writable if not p.is_relative_to(workspace) and _is_there(p))
        return Confinement(
            isolation=self.isolation,
            writable=(workspace, *outside, *writable),
            readonly=tuple(path for path in self.untouchable if path not in opened),
            absent=tuple(p for p in absent if p not in opened and not os.path.lexists(p)),
            readable=(*self._tool_folders(), *self.readable, *readable),
            hidden=self.hidden,
            scratch=tuple(path for path in self.scratch if path not in opened),
            network=role.network,
        )

    @staticmethod
    def variables(isolation: Isolation) -> dict[str, str]:
        """What a process confined like this must be told about where it is."""
        return {"TMPDIR": PRIVATE_TMP} if isolation.has_own_view else {}

    def _tool_folders(self) -> tuple[Path, ...]:
        """Tools must be seen even where a private folder covers them."""
        return tuple(tool_folder(Path(e)) for e in self.search_path.split(":") if e)


def tool_folder(entry: Path) -> Path:
    """A virtual environment's programs need the rest of it."""
    return entry.parent if (entry.parent / "pyvenv.cfg").exists() else entry


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


UNCONFINED = Enclosure()
