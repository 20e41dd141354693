"""What is kept of a change so that it can be undone, and where such things are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from signoff.toolbatch.things import Thing


class Unkept(StrEnum):
    """Why something that changed cannot be had back. Stored words."""

    TOO_LARGE = "too_large"
    IGNORED = "ignored"
    LINKED = "linked"
    UNNAMED = "unnamed"
    NO_SNAPSHOT = "no_snapshot"
    TOO_MANY = "too_many"
    OTHER = "other"


UNKEPT_MEANING: dict[Unkept, str] = {
    Unkept.TOO_LARGE: "it was too large to keep",
    Unkept.IGNORED: "what is ignored is not kept when a command changes it",
    Unkept.LINKED: "it was changed through a link",
    Unkept.UNNAMED: "the call did not name it beforehand",
    Unkept.NO_SNAPSHOT: "no snapshots are taken here, so what commands change is not kept",
    Unkept.TOO_MANY: "one call changed more than is kept of one",
    Unkept.OTHER: "it is or was neither file, link nor folder, or could not be read",
}


@dataclass(frozen=True)
class FileBefore:
    """One path around a change.

    `stored` is the snapshot that holds what was there; empty: the shelf does. `made` is the topmost
    folder that was made for it.
    """

    path: str
    before: Thing
    after: Thing
    stored: str = ""
    made: str = ""

    def to_data(self) -> list[Any]:
        """The stored form."""
        return [self.path, self.before.to_data(), self.after.to_data(), self.stored, self.made]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> FileBefore:
        """As it was stored."""
        path, before, after, stored, made = data
        return cls(path, Thing.from_data(before), Thing.from_data(after), stored, made)


@dataclass(frozen=True)
class Lost:
    """Something that changed and cannot be had back; no path: nobody knows which."""

    path: str
    why: Unkept

    @property
    def text(self) -> str:
        """Why, in words for a person."""
        return UNKEPT_MEANING[self.why]


@dataclass(frozen=True)
class Rollback:
    """One change. Of a call that was cut off, `snapshot` is what was there before it, if any."""

    number: int
    call: str
    tool: str
    files: tuple[FileBefore, ...]
    lost: tuple[Lost, ...] = ()
    snapshot: str = ""
    cut_off: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed after all."""
        return not (self.files or self.lost or self.cut_off)

    @property
    def can_be_undone(self) -> bool:
        """Whether anything of it can be put back."""
        return bool(self.files or self.snapshot)

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "number": self.number,
            "call": self.call,
            "tool": self.tool,
            "files": [file.to_data() for file in self.files],
            "lost": [[lost.path, str(lost.why)] for lost in self.lost],
            "snapshot": self.snapshot,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any], *, cut_off: bool = False) -> Rollback:
        """As it was stored."""
        return cls(
            int(data["number"]),
            str(data["call"]),
            str(data["tool"]),
            tuple(FileBefore.from_data(file) for file in data["files"]),
            tuple(Lost(path, Unkept(why)) for path, why in data["lost"]),
            str(data["snapshot"]),
            cut_off,
        )


class Shelf(Protocol):
    """Where contents and changes are kept."""

    def put(self, data: bytes) -> str:
        """Keep a content; its digest."""

    def get(self, digest: str) -> bytes:
        """A content that was kept."""

    def begin(self, rollback: Rollback) -> None:
        """A call is about to be made; unless `add` follows, it was cut off."""

    def add(self, rollback: Rollback) -> None:
        """Keep a change, or that there was none."""

    def count(self) -> int:
        """The highest number that was given to a change."""

    def open(self) -> Sequence[Rollback]:
        """Changes that were not undone, oldest first."""

    def close(self, numbers: Iterable[int], replaced: Mapping[str, Sequence[str]]) -> None:
        """These were undone; `replaced` is where what was at each path until then is kept."""


@dataclass(frozen=True)
class Changed:
    """What differs between a moment and now; what nobody can have back is in `lost`."""

    paths: tuple[str, ...]
    lost: tuple[Lost, ...]


class Moment(Protocol):
    """The workspace as it was once."""

    @property
    def digest(self) -> str:
        """By which the snapshot is asked for later."""

    def at(self, path: str) -> Thing:
        """What was there; permissions only as far as they are known."""

    def made_above(self, path: str) -> str:
        """The topmost folder above a path that was not there yet; empty: all of them were."""

    def changed(self) -> Changed:
        """What is not now as it was then."""


class Snapshots(Protocol):
    """The workspace as a whole, kept and readable later."""

    def take(self) -> Moment:
        """Keep the content as it is now."""

    def then(self, snapshot: str) -> Moment:
        """The moment of a snapshot; StorageFailed where it is not kept."""

    def stream(self, snapshot: str, path: str) -> Iterator[bytes]:
        """The content of a file, or the target of a link, in pieces; StorageFailed if not kept."""
