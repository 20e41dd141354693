"""Keep what each call of a session changed, so that it can be undone.

Before a call that may change files the workspace is kept as a snapshot; after it, what differs is
recorded on the session's chain, and what no snapshot holds is recorded as lost, with the reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import Draft, Kind
from signoff.domain.snapshot import FileKind
from signoff.storage.ledger import Ledger
from signoff.toolbatch.calls import Call, Nature
from signoff.toolbatch.shellwork import looks
from signoff.workspace.records import FilesByFolder, folders_above
from signoff.workspace.workspace import Workspace

MOST_FILES = 5_000  # of one change
KEEPING = (Kind.ROLLBACK_BEGUN, Kind.ROLLBACK_KEPT)
_CHANGING = (Nature.MUTATE, Nature.SHELL, Nature.OTHER)


class ThingKind(StrEnum):
    """Kinds of things that can lie at a path. Stored words."""

    NOTHING = "nothing"
    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    OTHER = "other"  # a pipe, a device, or what nobody can read: never the same as anything


_KINDS = {FileKind.FILE: ThingKind.FILE, FileKind.LINK: ThingKind.LINK}


class Thing(NamedTuple):
    """Something at a path at one moment, as it is stored.

    `digest` is of a file's content or a link's target.
    """

    kind: ThingKind
    digest: str = ""
    mode: int | None = None  # permission bits; None: there are none, or nobody knows them
    size: int = 0

    def same(self, other: Thing) -> bool:
        """True when both are surely the same; permissions that are not known are no difference."""
        if ThingKind.OTHER in (self.kind, other.kind):
            return False
        modes = None in (self.mode, other.mode) or self.mode == other.mode
        return modes and (self.kind, self.digest) == (other.kind, other.digest)


NOTHING, UNKNOWN = Thing(ThingKind.NOTHING), Thing(ThingKind.OTHER)


class Unkept(StrEnum):
    """Reasons why a change cannot be taken back. Stored words; some only older versions say."""

    TOO_LARGE = "too_large"
    IGNORED = "ignored"
    LINKED = "linked"
    UNNAMED = "unnamed"
    NO_SNAPSHOT = "no_snapshot"
    TOO_MANY = "too_many"
    OTHER = "other"


UNKEPT_MEANING: dict[Unkept, str] = {
    Unkept.TOO_LARGE: "it was too large to keep",
    Unkept.IGNORED: "what is ignored is not kept",
    Unkept.LINKED: "it was changed through a link",
    Unkept.UNNAMED: "the call did not name it beforehand",
    Unkept.NO_SNAPSHOT: "no snapshot holds what was there",
    Unkept.TOO_MANY: "one call changed more than is kept of one",
    Unkept.OTHER: "it is or was neither file, link nor folder, or could not be read",
}


class FileBefore(NamedTuple):
    """One path around a change, as it is stored; its snapshot holds what was there."""

    path: str
    before: Thing
    after: Thing
    stored: str
    beside: str = ""  # of older versions

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> FileBefore:
        path, *things, stored, beside = data
        before, after = (Thing(ThingKind(kind), *rest) for kind, *rest in things)
        return cls(path, before, after, stored, beside)


class Lost(Struct, frozen=True):
    """Something that the change of this number did and nobody can undo; no path: to what?"""

    number: int
    path: str
    why: Unkept

    @property
    def text(self) -> str:
        return UNKEPT_MEANING[self.why]


class Rollback(Struct, frozen=True):
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
        return not (self.files or self.lost or self.cut_off)

    @property
    def can_be_undone(self) -> bool:
        return bool(self.files or self.snapshot)

    def to_data(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "call": self.call,
            "tool": self.tool,
            "files": self.files,
            "lost": [[lost.path, str(lost.why)] for lost in self.lost],
            "snapshot": self.snapshot,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any], *, cut_off: bool = False) -> Rollback:
        """Read the stored form. Contents that older versions kept beside the ledger are lost."""
        number = int(data["number"])
        files = [FileBefore.from_data(file) for file in data["files"]]
        lost = [Lost(number, path, Unkept(why)) for path, why in data["lost"]]
        lost += [Lost(number, file.path, Unkept.NO_SNAPSHOT) for file in files if not file.stored]
        return cls(
            number,
            str(data["call"]),
            str(data["tool"]),
            tuple(file for file in files if file.stored),
            tuple(lost),
            str(data["snapshot"]),
            cut_off,
        )


class Moment(Struct, frozen=True):
    """The workspace as it was once; permissions as far as they are known."""

    digest: str
    files: FilesByFolder
    folders: Mapping[str, int | None]  # every one, with its permissions
    environment: str = ""  # of what is ignored

    @classmethod
    def now(cls, workspace: Workspace, *, keep: bool = False) -> Moment:
        """The workspace as it is now; `keep` stores the content. The agent may be alive."""
        take = workspace.snapshot if keep else workspace.digest_now
        seen = take(quiet=False)
        files, root = workspace.content(seen.digest), workspace.root
        folders = {folder: mode_of(root / folder) for folder in _folders(files)}
        return cls(seen.digest, files, folders, seen.environment)

    @classmethod
    def then(cls, workspace: Workspace, snapshot: str) -> Moment:
        """The workspace as a snapshot holds it; StorageFailed where it is not kept."""
        files = workspace.content(snapshot)
        return cls(snapshot, files, dict.fromkeys(_folders(files)))

    def at(self, path: str) -> Thing:
        if path in self.folders:
            return Thing(ThingKind.FOLDER, mode=self.folders[path])
        above, _, name = path.rpartition("/")
        record = self.files.get(above, {}).get(name)
        if record is None:
            return NOTHING
        kind = _KINDS.get(record.kind)
        if kind is None:
            return UNKNOWN
        known = kind is ThingKind.FILE and record.key[2] >= 0  # a stored one has no times
        mode = stat.S_IMODE(record.key[4]) if known else None
        return Thing(kind, record.sha256.hex(), mode, record.key[1])

    def unlike(self, now: Moment) -> list[str]:
        """Paths that differ; a folder that was made only where no file in it says so."""
        paths: set[str] = set()
        for folder in self.files.keys() | now.files.keys():
            before, after = self.files.get(folder), now.files.get(folder)
            if before is after:
                continue
            mine, theirs, prefix = before or {}, after or {}, f"{folder}/" if folder else ""
            names = (n for n in mine.keys() | theirs.keys() if mine.get(n) != theirs.get(n))
            paths.update(prefix + name for name in names)
        implied = {above for path in paths for above in folders_above(path)} - self.folders.keys()
        paths |= (self.folders.keys() | now.folders.keys()) - implied
        pairs = ((path, self.at(path), now.at(path)) for path in sorted(paths))
        return [path for path, one, other in pairs if one != other and not one.same(other)]


class Rollbacks:
    """The changes of a session, recorded on its chain; contents are in snapshots.

    Not durable against a power cut: the files themselves are not either.
    """

    def __init__(self, ledger: Ledger, session: str, workspace: Workspace):
        self.workspace = workspace
        self._ledger, self._session = ledger, session
        entries = (e for e in ledger.entries(session) if e.kind in KEEPING)
        self._number = max((int(e.data["number"]) for e in entries), default=0)
        self._under_way: tuple[Rollback, Moment] | None = None

    def begin(self, call: Call) -> None:
        """Keep the workspace before a call that may change it; a crash from here on is noticed."""
        if call.shape.nature not in _CHANGING or looks(call):
            return
        self._number += 1
        before = Moment.now(self.workspace, keep=True)
        named = call.paths if call.shape.nature is Nature.MUTATE else ()
        root = self.workspace.root
        inside = [p for p in named if not p.startswith("/") and ".." not in p.split("/")]
        ignored = {p for p in inside if before.at(p) == NOTHING and os.path.lexists(root / p)}
        files = [FileBefore(p, before.at(p), UNKNOWN, before.digest) for p in inside]
        begun = Rollback(
            self._number,
            call.id,
            call.tool,
            tuple(file for file in files if file.path not in ignored),
            tuple(Lost(self._number, path, Unkept.IGNORED) for path in sorted(ignored)),
            "" if named else before.digest,
            cut_off=True,
        )
        self._append(Kind.ROLLBACK_BEGUN, begun)
        self._under_way = begun, before

    def end(self) -> Rollback | None:
        """The changes of the call that began, as the disk shows them; None if there are none."""
        if self._under_way is None:
            return None
        (begun, before), self._under_way = self._under_way, None
        now = Moment.now(self.workspace)
        paths, files, lost = before.unlike(now), list[FileBefore](), list[Lost]()
        for path in paths[:MOST_FILES]:
            change = FileBefore(path, before.at(path), now.at(path), before.digest)
            if ThingKind.OTHER in (change.before.kind, change.after.kind):
                lost.append(Lost(begun.number, path, Unkept.OTHER))
            else:
                files.append(change)
        if len(paths) > MOST_FILES:
            lost.append(Lost(begun.number, "", Unkept.TOO_MANY))
        if before.environment != now.environment:
            lost.append(Lost(begun.number, "", Unkept.IGNORED))
        ended = {"files": tuple(files), "lost": tuple(lost), "snapshot": "", "cut_off": False}
        kept = replace(begun, **ended)
        self._append(Kind.ROLLBACK_KEPT, kept)
        return None if kept.is_empty else kept

    def open(self) -> tuple[Rollback, ...]:
        """Changes that were not undone, oldest first."""
        return open_rollbacks(self._ledger, self._session)

    def close(self, numbers: Iterable[int], replaced: Mapping[str, Sequence[str]]) -> None:
        """These were undone; `replaced`: the digest of what was there, and its snapshot."""
        where = {path: list(kept) for path, kept in replaced.items()}
        data = {"numbers": sorted(numbers), "replaced": where}
        self._ledger.append(self._session, [Draft(Kind.ROLLBACK_RESTORED, data)])

    def _append(self, kind: Kind, rollback: Rollback) -> None:
        self._ledger.append(self._session, [Draft(kind, rollback.to_data())], durable=False)


def open_rollbacks(ledger: Ledger, session: str) -> tuple[Rollback, ...]:
    """Changes of a session that were not undone, oldest first; what only began was cut off."""
    kept: dict[int, Rollback] = {}
    for entry in ledger.entries(session):
        if entry.kind in KEEPING:
            cut_off = entry.kind is Kind.ROLLBACK_BEGUN
            rollback = Rollback.from_data(entry.data, cut_off=cut_off)
            kept[rollback.number] = rollback
        elif entry.kind is Kind.ROLLBACK_RESTORED:
            for number in entry.data["numbers"]:
                kept.pop(int(number), None)
    return tuple(rollback for rollback in kept.values() if not rollback.is_empty)


def _folders(files: FilesByFolder) -> set[str]:
    """The folders that hold something, and the empty ones."""
    return {path for folder in files for path in (folder, *folders_above(folder)) if path}


def mode_of(folder: Path) -> int | None:
    """Permission bits of a path; None where nothing is."""
    with suppress(OSError):
        return stat.S_IMODE(os.lstat(folder).st_mode)
    return None
