"""Confine the processes of a run: one profile each for contracts and agents.

contract   the folder it judges writable, the rest read-only, no network unless it says so
agent      the workspace writable, vault and git metadata read-only, network as the role says

Signoff's home and the user's own configuration are invisible to both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.text import shown_list
from signoff.domain.verdict import Isolation
from signoff.process.command import Confinement, Mount, is_within
from signoff.process.environment import ENVIRONMENT_MARKS
from signoff.process.leftovers import TEMPORARY
from signoff.process.sandboxes import own_view_advice
from signoff.settings.loading import SandboxChoice, Settings
from signoff.settings.roles import Role
from signoff.workspace.opened import OpenedFiles

SHIMS = "shims"  # the folder that mise, asdf, pyenv and rbenv put on the search path
PRIVATE_TMP = "/tmp"  # what a bubblewrap sandbox shows there is its own
DENIED = re.compile(
    r"permission denied|operation not permitted|read-only file system|out of pty devices"
    r"|\b(?:open|fork)pty\(3\) failed|\bE(?:ACCES|PERM|ROFS)\b",
    re.IGNORECASE,
)
# What Landlock denies, and how programs say that they met it without naming it.
DENIED_PLACES = {
    ("/dev/shm",): r"\bSemLock\b|\b(?:sem|shm)_open\b",
    ("/dev/ptmx", "/dev/pts"): r"out of pty devices|\b(?:open|fork)pty\b",
    ("/tmp",): "",
    ("/var/tmp",): "",
}
_MOST_NAMED = 3


class JudgingPlace(Struct, frozen=True):
    """The place where one contract is judged: the workspace itself, or a clean room shown there."""

    folder: Path
    judged_in: JudgeIn = JudgeIn.WORKSPACE
    note: str = ""
    mounts: tuple[Mount, ...] = ()
    on_disk: Path | None = None  # where the folder's files are, if they are shown from elsewhere
    setup: OpenedFiles | None = None  # what the set-up read that made the by-products, if one did


class Enclosure(Struct, frozen=True):
    """The confinement of a run's processes; with isolation `none` there is none."""

    isolation: Isolation = Isolation.NONE
    hidden: tuple[Path, ...] = ()  # home of signoff, the user's configuration
    untouchable: tuple[Path, ...] = ()  # vault, plan file and git metadata of the workspace
    scratch: tuple[Path, ...] = ()  # caches of the user, shown empty
    search_path: str = ""
    readable: tuple[Path, ...] = ()  # the user's additions
    writable: tuple[Path, ...] = ()  # the user's additions
    agents: bool = True

    @property
    def of_agents(self) -> Isolation:
        """Isolation of the agents."""
        return self.isolation if self.agents else Isolation.NONE

    @property
    def sealed(self) -> bool:
        """True when neither agents nor contracts can change anything but the content."""
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
        spot: JudgingPlace,
        readable: Iterable[Path] = (),
        writable: Iterable[Path] = (),
        shown: tuple[Path, ...] = (),
    ) -> Confinement | None:
        """The profile of a contract; None when nothing confines it."""
        if self.isolation is Isolation.NONE:
            return None
        in_room = spot.judged_in is JudgeIn.CLEAN
        return Confinement(
            isolation=self.isolation,
            writable=(*(() if in_room else (spot.folder,)), *self._opened(spot, shown), *writable),
            readonly=() if in_room else self.untouchable,
            readable=(*self._tool_folders(spot.folder), *self.readable, *readable),
            shown=shown,
            hidden=self.hidden,
            scratch=self.scratch,
            mounts=spot.mounts,
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
        mounts: tuple[Mount, ...] = (),
    ) -> Confinement | None:
        """The profile of an agent; None when nothing confines it. `absent` is not to be made.

        `mounts` are shown in the workspace's place.
        """
        if self.of_agents is Isolation.NONE:
            return None
        opened = set(self.writable)
        # What lies in the workspace is writable with it; a mount of its own could not be replaced.
        outside = (p for p in self.writable if not p.is_relative_to(workspace) and _is_there(p))
        return Confinement(
            isolation=self.isolation,
            writable=(*(() if mounts else (workspace,)), *outside, *writable),
            mounts=mounts,
            readonly=tuple(path for path in self.untouchable if path not in opened),
            absent=tuple(p for p in absent if p not in opened and not os.path.lexists(p)),
            readable=(*self._tool_folders(workspace), *self.readable, *readable),
            hidden=self.hidden,
            scratch=tuple(path for path in self.scratch if path not in opened),
            network=role.network,
            hosts=role.hosts if self.isolation.has_own_view and role.network else None,
        )

    @staticmethod
    def variables(isolation: Isolation) -> dict[str, str]:
        """Variables that tell a process confined like this where it is."""
        return {"TMPDIR": PRIVATE_TMP} if isolation.has_own_view else {}

    def _opened(self, spot: JudgingPlace, shown: tuple[Path, ...]) -> Iterator[Path]:
        """Paths outside the workspace that the user opened; none where something must not leave."""
        for path in () if shown else self.writable:
            if not path.is_relative_to(spot.folder) and _is_there(path):
                yield path

    def _tool_folders(self, workspace: Path) -> tuple[Path, ...]:
        """Tools must be seen even where a private folder covers them; the workspace's are."""
        return tuple(map(tool_folder, _outside(self.search_path, workspace)))


def wanted_isolation(settings: Settings) -> Isolation | None:
    """The sandbox the user named; None is the best there is."""
    chosen = settings.sandbox.isolation
    return None if chosen is SandboxChoice.AUTO else Isolation(chosen.value)


def tool_folder(entry: Path) -> Path:
    """The programs of an environment need the rest of it, and shims what they lead to."""
    marks = (entry.parent / mark for mark in ENVIRONMENT_MARKS)
    return entry.parent if entry.name == SHIMS or any(map(_is_there, marks)) else entry


def sandbox_line(doing: str, setting: str, places: Iterable[str]) -> str:
    """The line that opens these places, and what the sandbox keeps somebody from without it."""
    places = tuple(places)
    told = shown_list(map(str, places))
    named = ", ".join(f'"{place}"' for place in places)
    return (
        f"the sandbox keeps it from {doing} {told}: write `{setting} = [{named}]` under"
        " `[sandbox]` in your own configuration"
    )


def landlock_line(places: tuple[str, ...]) -> str:
    """The line that opens what Landlock denies, or the sandbox that has its own of it."""
    line = sandbox_line("writing", "writable", places)
    if places not in DENIED_PLACES:  # a folder in one, which a place of its own would lack
        return line
    return f"{line}, or {own_view_advice()}: that sandbox has its own"


def denied_places(
    output: str, root: Path, enclosure: Enclosure
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The denied places that an output tells of, each with the folders in it to open.

    JSON puts several lines into one.
    """
    told = re.split(r"\n|\\n", output.replace(str(root), "."))
    lines = [line for line in told if DENIED.search(line)]
    found = {}
    for names, words in DENIED_PLACES.items():
        paths = rf"(?<![\w.-])(?:{'|'.join(names)})(?![\w.-]|/{TEMPORARY})(?:/[\w.+@%=~-]+)*"
        named = [path for line in lines for path in re.findall(paths, line)]
        folders = {folder: None for path in named if (folder := _to_open(path, names[0]))}
        if (names[1:] and folders) or (words and lines and re.search(words, output)):
            folders = dict.fromkeys(names)
        if not all(any(is_within(Path(f), w) for w in enclosure.writable) for f in folders):
            found[names] = tuple(folders)[:_MOST_NAMED]
    return found


def _to_open(named: str, place: str) -> str:
    """The folder nearest to a path in a place; none where not the sandbox is what denies it."""
    path = Path(named)
    folder = next(p for p in (path, *path.parents) if os.access(p, os.F_OK) and p.is_dir())
    if not os.access(path if os.access(path, os.F_OK) else folder, os.W_OK):
        return ""
    return str(folder.resolve()) if is_within(folder, Path(place)) else place


@lru_cache(maxsize=16)
def _outside(search_path: str, workspace: Path) -> tuple[Path, ...]:
    """Asked for every command that is confined."""
    folders = (Path(entry) for entry in search_path.split(":") if entry)
    return tuple(folder for folder in folders if not folder.is_relative_to(workspace))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


UNCONFINED = Enclosure()
