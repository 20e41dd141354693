"""What is kept of a change so that it can be undone, and where such things are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from signoff.domain.digests import digest_bytes
from signoff.domain.ledger import Draft, Kind
from signoff.storage.ledger import Ledger
from signoff.toolbatch.disk import Thing

MOST_IN_MEMORY = 200  # changes; older ones cannot be undone any more
_KEEPING = (Kind.ROLLBACK_BEGUN, Kind.ROLLBACK_KEPT)


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


class MemoryShelf:
    """Keeps the last changes for as long as the process lives."""

    def __init__(self, most: int = MOST_IN_MEMORY):
        self._most = most
        self._count = 0
        self._open: dict[int, Rollback] = {}
        self._contents: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        """Keep a content."""
        digest = digest_bytes(data)
        if len(self._contents) > 2 * self._most:
            self._tidy()
        self._contents[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        """A content that was kept."""
        return self._contents[digest]

    def begin(self, rollback: Rollback) -> None:
        """A call is about to be made."""
        self._count = rollback.number
        self._open[rollback.number] = rollback

    def add(self, rollback: Rollback) -> None:
        """Keep a change; the oldest ones go when there are too many."""
        self._count = max(self._count, rollback.number)
        self._open.pop(rollback.number, None)
        if rollback.is_empty:
            return
        self._open[rollback.number] = rollback
        if len(self._open) > self._most:
            for number in list(self._open)[: self._most // 4]:
                del self._open[number]
            self._tidy()

    def count(self) -> int:
        """The highest number that was given to a change."""
        return self._count

    def open(self) -> Sequence[Rollback]:
        """Changes that were not undone, oldest first."""
        return tuple(self._open.values())

    def close(self, numbers: Iterable[int], replaced: Mapping[str, Sequence[str]]) -> None:
        """These were undone."""
        del replaced
        for number in numbers:
            self._open.pop(number, None)

    def _tidy(self) -> None:
        wanted = {file.before.digest for kept in self._open.values() for file in kept.files}
        self._contents = {d: data for d, data in self._contents.items() if d in wanted}


class LedgerShelf:
    """Keeps changes on the chain of a session, and contents as blobs beside it.

    Not durable against a power cut: the files themselves are not either.
    """

    def __init__(self, ledger: Ledger, session: str):
        self._ledger, self._session = ledger, session

    def put(self, data: bytes) -> str:
        """Keep a content."""
        return self._ledger.put_blob(data, durable=False)

    def get(self, digest: str) -> bytes:
        """A content that was kept, checked."""
        return self._ledger.get_blob(digest)

    def begin(self, rollback: Rollback) -> None:
        """A call is about to be made."""
        self._append(Kind.ROLLBACK_BEGUN, rollback)

    def add(self, rollback: Rollback) -> None:
        """Keep a change, or that there was none."""
        self._append(Kind.ROLLBACK_KEPT, rollback)

    def count(self) -> int:
        """The highest number that was given to a change."""
        entries = self._ledger.entries(self._session)
        return max((int(e.data["number"]) for e in entries if e.kind in _KEEPING), default=0)

    def open(self) -> Sequence[Rollback]:
        """Changes that were not undone, oldest first; what only began was cut off."""
        kept: dict[int, Rollback] = {}
        for entry in self._ledger.entries(self._session):
            if entry.kind in _KEEPING:
                cut_off = entry.kind is Kind.ROLLBACK_BEGUN
                rollback = Rollback.from_data(entry.data, cut_off=cut_off)
                kept[rollback.number] = rollback
            elif entry.kind is Kind.ROLLBACK_RESTORED:
                for number in entry.data["numbers"]:
                    kept.pop(int(number), None)
        return tuple(rollback for rollback in kept.values() if not rollback.is_empty)

    def close(self, numbers: Iterable[int], replaced: Mapping[str, Sequence[str]]) -> None:
        """These were undone."""
        where = {path: list(kept) for path, kept in replaced.items()}
        data = {"numbers": list(numbers), "replaced": where}
        self._ledger.append(self._session, [Draft(Kind.ROLLBACK_RESTORED, data)])

    def _append(self, kind: Kind, rollback: Rollback) -> None:
        self._ledger.append(self._session, [Draft(kind, rollback.to_data())], durable=False)
