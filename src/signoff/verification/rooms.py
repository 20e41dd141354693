"""Which seat a contract gets: a clean room where that is possible and cheap, else the workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.snapshot import Change
from signoff.domain.verdict import Reason, Result
from signoff.errors import RoomTooDear
from signoff.process.confinement import Mount
from signoff.verification.enclosure import Seat
from signoff.verification.expectations import Answer
from signoff.workspace.cleanroom import CleanRoom, Room
from signoff.workspace.records import FilesByFolder


@dataclass(frozen=True)
class Rooms:
    """Seats of one workspace. Without a clean room, `why_not` says what keeps it away."""

    root: Path
    clean: CleanRoom | None = None
    why_not: str = ""
    by_default: bool = True

    def wanted(self, contract: Contract) -> JudgeIn:
        """Where the contract should be judged, before it is known what that costs."""
        if contract.judge_in is not None:
            return contract.judge_in
        there = self.clean is not None and self.by_default
        return JudgeIn.CLEAN if there else JudgeIn.WORKSPACE

    def seat(self, contract: Contract, digest: str) -> Seat | Answer:
        """A seat with exactly this content, or why the contract cannot have the one it demands."""
        if self.wanted(contract) is JudgeIn.WORKSPACE:
            return Seat(self.root, note=self.why_not)
        demanded = contract.judge_in is JudgeIn.CLEAN
        if self.clean is None:
            return Answer(
                Result.UNKNOWN,
                Reason.SANDBOX_MISSING,
                f"could not judge: `judge_in: clean` needs a clean room; {self.why_not}",
            )
        try:
            return self._in_room(self.clean.prepare(digest))
        except RoomTooDear as dear:
            if demanded:
                message = f"could not judge: {dear}"
                return Answer(Result.UNKNOWN, Reason.INFRASTRUCTURE, message)
            return Seat(self.root, note=f"no clean room: {dear}")

    def again(
        self,
        seat: Seat,
        digest: str,
        instead: FilesByFolder | None = None,
        without: frozenset[str] = frozenset(),
    ) -> Seat:
        """The same seat as if nobody had sat there; in a clean room also with other content."""
        if seat.judged_in is JudgeIn.WORKSPACE or self.clean is None:
            return seat
        return self._in_room(self.clean.prepare(digest, instead, without))

    def moved(self) -> tuple[Change, ...]:
        """What the contract changed in the clean room."""
        return self.clean.moved() if self.clean is not None else ()

    def _in_room(self, room: Room) -> Seat:
        """The room is shown at the workspace's own path, so that absolute paths stay true."""
        shown = Mount(room.path, self.root, writable=True)
        bound = (*room.shared, *room.apart)
        shared = (Mount(self.root / path, self.root / path) for path in bound)
        note = f"clean room by {room.how}"
        return Seat(self.root, JudgeIn.CLEAN, note, (shown, *shared), room.path)


@dataclass(frozen=True)
class ScratchRooms(Rooms):
    """Seats in a scratch folder, shown where the plan was worked on when the sandbox can do that.

    Tools of that place, such as a virtual environment, then find the content under judgement where
    they expect it.
    """

    shown_at: Path | None = None
    shared: tuple[str, ...] = ()

    def wanted(self, contract: Contract) -> JudgeIn:
        """A scratch folder is as clean as a room."""
        del contract
        return JudgeIn.WORKSPACE

    def seat(self, contract: Contract, digest: str) -> Seat | Answer:
        """The folder itself, or the folder in the place of the worktree."""
        del contract, digest
        if self.shown_at is None:
            return Seat(self.root, note=self.why_not)
        shown = Mount(self.root, self.shown_at, writable=True)
        shared = (Mount(self.shown_at / path, self.shown_at / path) for path in self.shared)
        mounts = (shown, *shared)
        return Seat(self.shown_at, note=self.why_not, mounts=mounts, on_disk=self.root)
