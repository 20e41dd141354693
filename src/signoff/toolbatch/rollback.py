"""What was there before each change, and having it back.

Kept before a call is made: what lies at the paths that the call names, or the whole workspace as a
snapshot when the call may change any of it. What cannot be kept is on record with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from signoff.toolbatch.calls import Call, Nature, Result
from signoff.toolbatch.disk import (
    LARGEST_LOOK,
    UNKNOWN,
    Disk,
    Thing,
    ThingKind,
    look,
    missing_above,
    taken,
)
from signoff.toolbatch.kept import (
    FileBefore,
    Lost,
    Moment,
    Rollback,
    Shelf,
    Snapshots,
    Unkept,
)
from signoff.toolbatch.shellwork import command_of, only_looks
from signoff.toolbatch.undoing import Rollbacks

MOST_FILES = 5_000  # of one change
LARGEST_KEPT = LARGEST_LOOK  # on the shelf; larger ones only in snapshots, which read in pieces
_CHANGING = (Nature.MUTATE, Nature.SHELL, Nature.OTHER)


@dataclass(frozen=True)
class Held:
    """What was looked at before a call; number 0: the call changes nothing."""

    number: int = 0
    files: Mapping[str, FileBefore] = field(default_factory=dict)
    unkept: Mapping[str, Unkept] = field(default_factory=dict)
    moment: Moment | None = None


class Keep:
    """Keeps what each call is about to change."""

    def __init__(self, disk: Disk, shelf: Shelf, snapshots: Snapshots | None = None):
        self._disk, self._shelf, self._snapshots = disk, shelf, snapshots
        self._number = shelf.count()

    @property
    def rollbacks(self) -> Rollbacks:
        """For undoing what was kept here."""
        return Rollbacks(self._shelf, self._disk.root, self._snapshots)

    def before(self, call: Call) -> Held:
        """Look, and store contents, before the call is made; a crash from here on is noticed."""
        if call.shape.nature not in _CHANGING or only_looks(command_of(call)):
            return Held()
        self._number += 1
        if call.shape.nature is Nature.MUTATE and call.paths:
            held = self._files(call)
        else:
            moment = None if self._snapshots is None else self._snapshots.take()
            held = Held(self._number, moment=moment)
        snapshot = "" if held.moment is None else held.moment.digest
        files = tuple(file for path, file in held.files.items() if path not in held.unkept)
        lost = tuple(Lost(path, why) for path, why in held.unkept.items())
        begun = Rollback(held.number, call.id, call.tool, files, lost, snapshot, cut_off=True)
        self._shelf.begin(begun)
        return held

    def after(self, call: Call, held: Held, result: Result | None) -> Rollback | None:
        """What the call changed, kept; None if nothing did. The disk is asked, not the result."""
        if not held.number:
            return None
        if held.moment is not None:
            files, lost = self._since(held.moment)
        else:
            files, lost = self._around(held, result)
        kept = Rollback(held.number, call.id, call.tool, files, lost)
        self._shelf.add(kept)
        return None if kept.is_empty else kept

    def _files(self, call: Call) -> Held:
        """Of each file that is named: what is there, its content on the shelf or in a snapshot."""
        files: dict[str, FileBefore] = {}
        unkept: dict[str, Unkept] = {}
        for path in call.paths[:MOST_FILES]:
            thing, data = taken(self._disk.root, path, LARGEST_KEPT)
            stored, made = "", ""
            if thing.kind is ThingKind.NOTHING:
                made = missing_above(self._disk.root, path)
            elif data is not None and self._may_keep(path, thing):
                self._shelf.put(data)
            elif thing.size > LARGEST_KEPT:
                stored = self._stored(path, thing)
                unkept |= {} if stored else {path: Unkept.TOO_LARGE}
            elif thing.kind is not ThingKind.FOLDER:
                unkept[path] = Unkept.OTHER
            files[path] = FileBefore(path, thing, UNKNOWN, stored, made)
        return Held(self._number, files, unkept)

    def _may_keep(self, path: str, thing: Thing) -> bool:
        """What tools may not see is not copied either; they cannot change it."""
        return thing.kind is ThingKind.LINK or self._disk.exists(path)

    def _stored(self, path: str, thing: Thing) -> str:
        """The snapshot that holds a large file; empty: none does."""
        moment = None if self._snapshots is None else self._snapshots.take()
        return moment.digest if moment is not None and moment.at(path).same(thing) else ""

    def _since(self, moment: Moment) -> tuple[tuple[FileBefore, ...], tuple[Lost, ...]]:
        """What is not as in the snapshot any more."""
        changed, files, lost = moment.changed(), list[FileBefore](), list[Lost]()
        for path in changed.paths[:MOST_FILES]:
            before, now = moment.at(path), look(self._disk.root, path)
            if ThingKind.OTHER in (before.kind, now.kind):
                lost.append(Lost(path, Unkept.OTHER))
            elif not before.same(now):
                made = moment.made_above(path) if before.kind is ThingKind.NOTHING else ""
                files.append(FileBefore(path, before, now, moment.digest, made))
        if len(changed.paths) > MOST_FILES:
            lost.append(Lost("", Unkept.TOO_MANY))
        return tuple(files), (*lost, *changed.lost)

    def _around(
        self, held: Held, result: Result | None
    ) -> tuple[tuple[FileBefore, ...], tuple[Lost, ...]]:
        """What is not as it was at the paths that the call named."""
        files, lost = list[FileBefore](), list[Lost]()
        written = set() if result is None else set(result.writes)
        for path, file in held.files.items():
            now = look(self._disk.root, path)
            if file.before.kind is ThingKind.OTHER and path not in written:
                continue  # nobody can tell, and nobody says so
            if not file.before.same(now):
                if path in held.unkept or now.kind is ThingKind.OTHER:
                    lost.append(Lost(path, held.unkept.get(path, Unkept.OTHER)))
                else:
                    files.append(replace(file, after=now))
            elif path in written and now.kind is ThingKind.LINK:
                lost.append(Lost(path, Unkept.LINKED))
        others = written | set(() if result is None else result.touched)
        why = Unkept.UNNAMED if held.files else Unkept.NO_SNAPSHOT
        lost += [Lost(path, why) for path in sorted(others - held.files.keys())[:MOST_FILES]]
        return tuple(files), tuple(lost)
