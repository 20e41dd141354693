"""What files held before each change, and having it back.

Kept before a call is made: of the files that the call names, or of the whole workspace as a
snapshot when a command may change any of it. Restoring goes from the newest change backwards, and
refuses where somebody else changed a file in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from signoff.domain.digests import digest_bytes
from signoff.errors import PlanConflict
from signoff.toolbatch.calls import Call, Nature, Result
from signoff.toolbatch.disk import Disk, digest_at, mode_at, put_file, remove_file
from signoff.toolbatch.shellwork import command_of, only_looks

MOST_FILES = 1_000  # of one change


@dataclass(frozen=True)
class FileBefore:
    """One file around a change; an empty digest: it was not there."""

    path: str
    before: str
    after: str
    mode: int | None = None
    stored: str = ""  # where its content is: nothing is the shelf, else a snapshot

    def to_data(self) -> list[Any]:
        """The stored form."""
        return [self.path, self.before, self.after, self.mode, self.stored]


@dataclass(frozen=True)
class Rollback:
    """One change that can be undone."""

    number: int
    call: str
    tool: str
    files: tuple[FileBefore, ...]

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        files = [file.to_data() for file in self.files]
        return {"number": self.number, "call": self.call, "tool": self.tool, "files": files}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Rollback:
        """As it was stored."""
        files = tuple(FileBefore(*file) for file in data["files"])
        return cls(int(data["number"]), str(data["call"]), str(data["tool"]), files)


class Shelf(Protocol):
    """Where contents and changes are kept."""

    def put(self, data: bytes) -> str:
        """Keep a content; its digest."""

    def get(self, digest: str) -> bytes:
        """A content that was kept."""

    def add(self, rollback: Rollback) -> None:
        """Keep a change."""

    def count(self) -> int:
        """How many changes were ever kept."""

    def open(self) -> Sequence[Rollback]:
        """Changes that were not undone, oldest first."""

    def close(self, numbers: Iterable[int], replaced: Mapping[str, str]) -> None:
        """These were undone; `replaced` is what the files held until then."""


class Snapshots(Protocol):
    """The workspace as a whole, kept and readable later."""

    def take(self) -> str:
        """Keep the content as it is now; the snapshot's digest."""

    def file(self, snapshot: str, path: str) -> tuple[bytes, int] | None:
        """Content and mode of a regular file in it; None where it had none."""

    def holds(self, snapshot: str, path: str) -> bool:
        """Whether anything was there, a link or a folder too."""


@dataclass(frozen=True)
class Held:
    """What was looked at before a call."""

    files: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)
    snapshot: str = ""


class Keep:
    """Keeps what each call is about to change."""

    def __init__(self, disk: Disk, shelf: Shelf, snapshots: Snapshots | None = None):
        self._disk, self._shelf, self._snapshots = disk, shelf, snapshots
        self._number = shelf.count()

    def before(self, call: Call) -> Held:
        """Look, and store contents, before the call is made."""
        if call.shape.nature is Nature.MUTATE and call.paths:
            found = {path: self._file(path) for path in call.paths[:MOST_FILES]}
            return Held({path: file for path, file in found.items() if file is not None})
        commands = call.shape.nature is Nature.SHELL and not only_looks(command_of(call))
        if self._snapshots is not None and (commands or call.shape.nature is Nature.MUTATE):
            return Held(snapshot=self._snapshots.take())
        return Held()

    def after(self, call: Call, held: Held, result: Result | None) -> Rollback | None:
        """What the call changed, kept; None if nothing did. Without a result the disk is asked."""
        named = list(result.writes if result is not None else held.files)[:MOST_FILES]
        files = [self._around(path, held) for path in named]
        changed = tuple(f for f in files if f is not None and f.before != f.after)
        if not changed:
            return None
        self._number += 1
        kept = Rollback(self._number, call.id, call.tool, changed)
        self._shelf.add(kept)
        return kept

    def _file(self, path: str) -> tuple[str, int | None] | None:
        """Digest and mode; None for what is there and cannot be kept: a link, a giant."""
        data = self._disk.read(path)
        if data is None:
            return None if self._disk.exists(path) else ("", None)
        return self._shelf.put(data), mode_at(self._disk.root, path)

    def _around(self, path: str, held: Held) -> FileBefore | None:
        now = digest_at(self._disk, path)
        if path in held.files:
            before, mode = held.files[path]
            return FileBefore(path, before, now, mode)
        if not held.snapshot or self._snapshots is None:
            return None
        was = self._snapshots.file(held.snapshot, path)
        if was is None:
            there = self._snapshots.holds(held.snapshot, path)
            return None if there else FileBefore(path, "", now, None, held.snapshot)
        return FileBefore(path, digest_bytes(was[0]), now, was[1], held.snapshot)


class Restoring(StrEnum):
    """What undoing does to a file."""

    RESTORE = "restore"
    REMOVE = "remove"
    CHANGED = "changed"  # by somebody else: only when forced


@dataclass(frozen=True)
class Step:
    """One file of an undoing; `to` is the digest that it has afterwards."""

    path: str
    doing: Restoring
    number: int
    to: str
    mode: int | None
    stored: str
    forced: bool = False


def undoing(shelf: Shelf, disk: Disk, back: int) -> tuple[Step, ...]:
    """What undoing the last `back` changes does, file by file, newest first; touches nothing."""
    steps: list[Step] = []
    now: dict[str, str] = {}
    for rollback in list(shelf.open())[::-1][:back]:
        for file in rollback.files:
            current = now.get(file.path)
            current = digest_at(disk, file.path) if current is None else current
            doing = Restoring.RESTORE if file.before else Restoring.REMOVE
            if current not in (file.after, file.before):
                doing = Restoring.CHANGED
            now[file.path] = file.before
            steps.append(
                Step(file.path, doing, rollback.number, file.before, file.mode, file.stored)
            )
    return tuple(steps)


def undo(
    shelf: Shelf,
    disk: Disk,
    back: int,
    *,
    snapshots: Snapshots | None = None,
    force: bool = False,
) -> tuple[Step, ...]:
    """Undo the last `back` changes, all of them or none; PlanConflict where it is not ours to."""
    steps = undoing(shelf, disk, back)
    changed = sorted({s.path for s in steps if s.doing is Restoring.CHANGED})
    if changed and not force:
        names = ", ".join(f"`{path}`" for path in changed)
        raise PlanConflict(
            f"changed since by somebody else: {names}",
            "signoff undo --force overwrites them; what they hold now is kept",
            {"paths": changed},
        )
    last = {step.path: step for step in steps}
    contents = {path: _content(step, shelf, snapshots) for path, step in last.items() if step.to}
    replaced = {path: _kept_now(disk, shelf, path) for path in last}
    for path, step in last.items():
        if step.to:
            put_file(disk.root, path, contents[path], step.mode)
        else:
            remove_file(disk.root, path)
    shelf.close(sorted({step.number for step in steps}), replaced)
    return steps


def _content(step: Step, shelf: Shelf, snapshots: Snapshots | None) -> bytes:
    if not step.stored:
        return shelf.get(step.to)
    found = None if snapshots is None else snapshots.file(step.stored, step.path)
    if found is None:
        raise PlanConflict(
            f"what `{step.path}` held is in snapshot `{step.stored[:12]}`, which is not kept here",
            "use the home folder that the session was run with (SIGNOFF_HOME)",
        )
    return found[0]


def _kept_now(disk: Disk, shelf: Shelf, path: str) -> str:
    data = disk.read(path)
    return "" if data is None else shelf.put(data)
