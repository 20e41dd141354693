"""Choose the place of a contract: a clean room where possible and cheap, else the workspace."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.snapshot import Change, Snapshot
from signoff.domain.verdict import Reason, Result
from signoff.errors import RoomTooDear, SetupFailed, StorageFailed
from signoff.process.command import Mount
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.verdicts import (
    UnboundVerdict,
    moved_by_contract,
    moved_by_either,
    moved_by_somebody,
)
from signoff.workspace.byproducts import without_litter
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.records import FilesByFolder
from signoff.workspace.workspace import Workspace

if TYPE_CHECKING:
    from signoff.verification.setup import ScratchSetUp, SetUps


class Instead(NamedTuple):
    """Content of a clean room instead of the snapshot and of the workspace's by-products."""

    content: FilesByFolder | None = None
    without: frozenset[str] = frozenset()
    made_of: FilesByFolder | None = None  # what the set-up makes by-products of


class Rooms(Struct, frozen=True):
    """Places of one workspace. Without a clean room, `why_not` says what keeps it away."""

    root: Path
    clean: CleanRoom | None = None
    why_not: str = ""
    by_default: bool = True
    setups: SetUps | None = None  # makes the by-products of the clean room; else the workspace's

    def wanted(self, contract: Contract) -> JudgeIn:
        """Place in which the contract should be judged, before the cost of it is known."""
        if contract.judge_in is not None:
            return contract.judge_in
        there = self.clean is not None and self.by_default
        return JudgeIn.CLEAN if there else JudgeIn.WORKSPACE

    def place_for(self, contract: Contract, digest: str) -> JudgingPlace | UnboundVerdict:
        """A place with exactly this content, or why the contract cannot have the one it demands."""
        if self.wanted(contract) is JudgeIn.WORKSPACE:
            return JudgingPlace(self.root, note=self.why_not)
        demanded = contract.judge_in is JudgeIn.CLEAN
        if self.clean is None:
            return UnboundVerdict(
                Result.UNKNOWN,
                Reason.SANDBOX_MISSING,
                f"could not judge: `judge_in: clean` needs a clean room; {self.why_not}",
            )
        try:
            return self._in_room(self.clean, digest)
        except RoomTooDear as dear:
            if demanded:
                message = f"could not judge: {dear}"
                return UnboundVerdict(Result.UNKNOWN, Reason.INFRASTRUCTURE, message)
            return JudgingPlace(self.root, note=f"no clean room: {dear}")

    def again(
        self,
        spot: JudgingPlace,
        digest: str,
        instead: Instead | None = None,
    ) -> JudgingPlace:
        """The same place as if it had not been used; in a clean room also with other content."""
        if spot.judged_in is JudgeIn.WORKSPACE or self.clean is None:
            return spot
        return self._in_room(self.clean, digest, instead)

    def sets_up(self, approved: str, failed: SetupFailed) -> bool:
        """True when the set-up that failed goes well right now on the approved content.

        Then it is the work that it cannot build, and not the machine that keeps it from working.
        """
        if self.setups is None or self.clean is None or not failed.facts["exited"]:
            return False
        try:
            self.setups.make(self.clean.content(approved))
        except (SetupFailed, StorageFailed):
            return False
        return True

    def moved(self) -> tuple[Change, ...]:
        """Changes that the contract made in the clean room."""
        return self.clean.moved() if self.clean is not None else ()

    def give_back(self) -> None:
        """Remove the clean room, once nobody is expected to judge here soon.

        It takes as much of the disk as the workspace does, and is made again whenever it is needed.
        """
        if self.clean is not None:
            with suppress(StorageFailed):  # left behind; nothing that anybody decided rests on it
                self.clean.discard()

    def _in_room(
        self, clean: CleanRoom, digest: str, instead: Instead | None = None
    ) -> JudgingPlace:
        """The room is shown at the workspace's own path, so that absolute paths stay true."""
        content, without, made_of = instead or Instead()
        made = None
        if self.setups is not None:
            made = self.setups.made(clean.content(digest) if made_of is None else made_of)
        room = clean.prepare(digest, content, without, made.byproducts if made else None)
        shown = Mount(room.path, self.root, writable=True)
        shared = (Mount(room.source / path, self.root / path) for path in room.shared)
        apart = (Mount(self.root / path, self.root / path) for path in room.apart)
        note = "clean room" + (", by-products by the set-up command" if made else "")
        mounts = (shown, *shared, *apart)
        opened = made.opened if made else None
        return JudgingPlace(self.root, JudgeIn.CLEAN, note, mounts, room.path, opened)


def who_moved(
    rooms: Rooms, workspace: Workspace, before: Snapshot, after: Snapshot, spot: JudgingPlace
) -> UnboundVerdict | None:
    """The answer when content changed while it was judged, by who can have changed it."""
    there = workspace.manifest(before.digest)
    in_room = spot.judged_in is JudgeIn.CLEAN
    by_contract = rooms.moved() if in_room else ()
    if by_contract:
        return moved_by_contract(by_contract, there)
    if after.digest == before.digest:
        return None
    if in_room:
        return moved_by_somebody(workspace.diff(before.digest, after.digest))
    changes = _without_litter_since(workspace, before.digest)
    return moved_by_either(changes, there) if changes else None


def _without_litter_since(workspace: Workspace, before: str) -> tuple[Change, ...]:
    """Remove litter that came since the snapshot, and return the changes that remain.

    Only where nothing else differs is anything removed; nothing is left to tell then.
    """
    now = workspace.snapshot().digest
    changes = workspace.diff(before, now)
    work = without_litter(changes, workspace.manifest(before), workspace.manifest(now))
    if work or not changes:
        return work
    try:
        workspace.revert(before, {change.path for change in changes})
    except StorageFailed:
        return changes
    return workspace.diff(before, workspace.snapshot().digest)


class ScratchRooms(Rooms, frozen=True):
    """Places in a scratch folder, shown where the plan was worked on when the sandbox can do that.

    Tools of that place, such as a virtual environment, then find the content under judgement where
    they expect it.
    """

    shown_at: Path | None = None
    shared: tuple[str, ...] = ()
    source: Path | None = None  # of what is shared; else the worktree
    setup: ScratchSetUp | None = None

    def wanted(self, contract: Contract) -> JudgeIn:
        """A scratch folder is as clean as a room."""
        del contract
        return JudgeIn.WORKSPACE

    def place_for(self, contract: Contract, digest: str) -> JudgingPlace | UnboundVerdict:
        """The folder itself, or the folder in the place of the worktree."""
        del contract, digest
        return self._place()

    def again(
        self,
        spot: JudgingPlace,
        digest: str,
        instead: Instead | None = None,
    ) -> JudgingPlace:
        """The same place, with by-products of what lies in the folder now."""
        del spot, digest, instead
        return self._place()

    def _place(self) -> JudgingPlace:
        if self.setup is not None:
            self.setup.refresh()
        opened = self.setup.opened if self.setup is not None else None
        if self.shown_at is None:
            return JudgingPlace(self.root, note=self.why_not, setup=opened)
        source = self.source or self.shown_at
        there = (path for path in self.shared if (source / path).is_dir())
        shared = (Mount(source / path, self.shown_at / path) for path in there)
        mounts = (Mount(self.root, self.shown_at, writable=True), *shared)
        return JudgingPlace(
            self.shown_at, note=self.why_not, mounts=mounts, on_disk=self.root, setup=opened
        )
