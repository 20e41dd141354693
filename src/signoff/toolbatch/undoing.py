"""Undoing changes: what it would do, file by file, and doing all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from signoff.errors import PlanConflict, StorageFailed
from signoff.toolbatch.disk import LARGEST_LOOK, UNKNOWN, Thing, ThingKind, holds_only, look, taken
from signoff.toolbatch.kept import FileBefore, Lost, Moment, Rollback, Shelf, Snapshots
from signoff.toolbatch.restoring import Target, put_back

_MOST_SAID = 5


class Restoring(StrEnum):
    """What undoing does to a path."""

    RESTORE = "restore"
    REMOVE = "remove"
    LEAVE = "leave"  # a folder that was made and holds other things now
    CHANGED = "changed"  # by somebody else: only when forced
    UNSURE = "unsure"  # a call was cut off; who changed it nobody can tell: only when forced
    BLOCKED = "blocked"  # something stands in the way: not even when forced


_TO_FORCE = (Restoring.CHANGED, Restoring.UNSURE)


@dataclass(frozen=True)
class Step:
    """One path of an undoing; `to` is what is there afterwards, `why` what stands in the way."""

    path: str
    doing: Restoring
    number: int
    to: Thing
    stored: str
    made: str
    after: Thing
    why: str = ""


@dataclass(frozen=True)
class Unrestored:
    """Something that changed and stays as it is, because it could not be kept."""

    number: int
    lost: Lost


@dataclass(frozen=True)
class Undone:
    """What undoing did, or would do; newest change first."""

    steps: tuple[Step, ...] = ()
    lost: tuple[Unrestored, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """What it touches, each once."""
        return tuple(dict.fromkeys(s.path for s in self.steps if s.doing is not Restoring.LEAVE))

    def doing(self, *which: Restoring) -> tuple[str, ...]:
        """The paths to which this is done."""
        return tuple(sorted({step.path for step in self.steps if step.doing in which}))


class Rollbacks:
    """The changes of a session that can be undone.

    `mark` now, work, and `undo_since` the mark: the workspace is as it was then, as far as it was
    kept, and the answer says what was not.
    """

    def __init__(self, shelf: Shelf, root: Path, snapshots: Snapshots | None = None):
        self._shelf, self._root, self._snapshots = shelf, root, snapshots

    def mark(self) -> int:
        """This point: the number of the last change so far."""
        return self._shelf.count()

    def last(self, back: int) -> Undone:
        """What undoing the last `back` changes would do; one that cannot be is not counted."""
        return self._planned(self._newest(back))

    def since(self, number: int) -> Undone:
        """What undoing everything after a point would do."""
        return self._planned(self._after(number))

    def undo(self, back: int = 1, *, force: bool = False) -> Undone:
        """Undo the last `back` changes, all or none; PlanConflict where it is not ours to."""
        return self._undo(self.last(back), force)

    def undo_since(self, number: int, *, force: bool = False) -> Undone:
        """Undo everything after a point, all or none; PlanConflict where it is not ours to."""
        return self._undo(self.since(number), force)

    def _newest(self, back: int) -> list[Rollback]:
        chosen: list[Rollback] = []
        for rollback in reversed(self._shelf.open()):
            if back <= 0:
                break
            chosen.append(rollback)
            back -= rollback.can_be_undone
        return chosen

    def _after(self, number: int) -> list[Rollback]:
        return [rollback for rollback in reversed(self._shelf.open()) if rollback.number > number]

    def _planned(self, chosen: Sequence[Rollback]) -> Undone:
        steps: list[Step] = []
        seen: dict[str, Thing] = {}
        now: dict[str, Thing] = {}
        for rollback in chosen:
            for file in self._files(rollback, now):
                if file.path not in now:
                    now[file.path] = seen[file.path] = look(self._root, file.path)
                steps.append(_step(rollback, file, now[file.path]))
                now[file.path] = file.before
        lost = (Unrestored(one.number, lost) for one in chosen for lost in one.lost)
        numbers = tuple(rollback.number for rollback in chosen)
        return Undone(_with_obstacles(steps, seen, self._root), tuple(lost), numbers)

    def _files(self, rollback: Rollback, now: Mapping[str, Thing]) -> Iterator[FileBefore]:
        """What a change was about; of a command that was cut off, whatever differs since then."""
        if not rollback.snapshot:
            yield from rollback.files
            return
        if self._snapshots is None:
            raise _elsewhere(rollback.snapshot)
        then = self._snapshots.then(rollback.snapshot)
        for path in dict.fromkeys((*then.changed().paths, *now)):
            current = now[path] if path in now else look(self._root, path)
            if not then.at(path).same(current):
                made = then.made_above(path)
                yield FileBefore(path, then.at(path), UNKNOWN, rollback.snapshot, made)

    def _undo(self, undone: Undone, force: bool) -> Undone:
        _refuse(undone, force)
        last = {step.path: step for step in undone.steps if step.doing is not Restoring.LEAVE}
        replaced = self._keep_replaced(last)
        put_back(self._root, [self._target(step) for step in last.values()])
        self._shelf.close(sorted(undone.numbers), replaced)
        return undone

    def _target(self, step: Step) -> Target:
        return Target(step.path, step.to, lambda: self._content(step), step.made)

    def _content(self, step: Step) -> Iterator[bytes]:
        if not step.stored:
            yield self._shelf.get(step.to.digest)
        elif self._snapshots is None:
            raise _elsewhere(step.stored)
        else:
            yield from self._snapshots.stream(step.stored, step.path)

    def _keep_replaced(self, last: Mapping[str, Step]) -> dict[str, tuple[str, str]]:
        """What is there until now: its digest, and the snapshot that holds it if it is large."""
        replaced: dict[str, tuple[str, str]] = {}
        moment: Moment | None = None
        for path, step in last.items():
            thing, data = taken(self._root, path, LARGEST_LOOK)
            replaced[path] = (thing.digest, "")
            if data is not None:
                self._shelf.put(data)
            elif thing.kind is ThingKind.FILE and not thing.same(step.to):
                if moment is None and self._snapshots is not None:
                    moment = self._snapshots.take()
                if moment is not None and moment.at(path).same(thing):
                    replaced[path] = (thing.digest, moment.digest)
                elif step.doing in _TO_FORCE:
                    raise _in_the_way({path: "it is too large to be kept, and would be lost"})
        return replaced


def _step(rollback: Rollback, file: FileBefore, current: Thing) -> Step:
    before = file.before
    doing = Restoring.REMOVE if before.kind is ThingKind.NOTHING else Restoring.RESTORE
    if not (current.same(file.after) or current.same(before)):
        doing = Restoring.UNSURE if rollback.cut_off else Restoring.CHANGED
    return Step(file.path, doing, rollback.number, before, file.stored, file.made, after=file.after)


def _with_obstacles(
    steps: Sequence[Step], seen: Mapping[str, Thing], root: Path
) -> tuple[Step, ...]:
    """The same steps; those that cannot be done, whoever wants it, say why."""
    last = {step.path: step for step in steps}
    newest = {step.path: step for step in reversed(steps)}
    leaving = frozenset(p for p, step in last.items() if step.to.kind is ThingKind.NOTHING)
    why = {
        path: _obstacle(step, seen[path], last, leaving, root)
        for path, step in last.items()
        if not seen[path].same(step.to)
    }
    # A folder that the call made is no reason to refuse: what others put into it keeps it alive.
    left = {
        path
        for path in leaving
        if seen[path].kind is ThingKind.FOLDER and newest[path].after.kind is ThingKind.FOLDER
    }
    return tuple(
        replace(
            step,
            doing=Restoring.LEAVE if step.path in left else Restoring.BLOCKED,
            why=why[step.path],
        )
        if why.get(step.path)
        else step
        for step in steps
    )


def _obstacle(
    step: Step, current: Thing, last: Mapping[str, Step], leaving: frozenset[str], root: Path
) -> str:
    """Why a path cannot become what it was, in words; empty: it can."""
    if current.kind is ThingKind.OTHER:
        return "what is there now cannot be kept"
    turned = current.kind is ThingKind.FOLDER and step.to.kind is not ThingKind.FOLDER
    if turned and not holds_only(root, step.path, leaving):
        return "a folder with other things in it is there now"
    if step.to.kind is ThingKind.NOTHING:
        return ""
    parts = step.path.split("/")
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        there = last[above].to if above in last else look(root, above)
        if there.kind not in (ThingKind.NOTHING, ThingKind.FOLDER):
            return f"`{above}` is no folder now"
    return ""


def _refuse(undone: Undone, force: bool) -> None:
    blocked = {s.path: s.why for s in undone.steps if s.doing is Restoring.BLOCKED}
    if blocked:
        raise _in_the_way(blocked)
    changed, unsure = undone.doing(Restoring.CHANGED), undone.doing(Restoring.UNSURE)
    if force or not (changed or unsure):
        return
    said = [f"changed since by somebody else: {_names(changed)}"] if changed else []
    if unsure:
        said.append(f"a call was cut off, and who changed this nobody can tell: {_names(unsure)}")
    raise PlanConflict(
        "; ".join(said),
        "signoff undo --force overwrites them; what they hold now is kept",
        {"paths": sorted({*changed, *unsure})},
    )


def _in_the_way(blocked: Mapping[str, str]) -> PlanConflict:
    said = [f"`{path}`: {why}" for path, why in sorted(blocked.items())]
    more = f", and {len(said) - _MOST_SAID} more" if len(said) > _MOST_SAID else ""
    return PlanConflict(
        f"cannot be put back, so nothing was: {'; '.join(said[:_MOST_SAID])}{more}",
        "move away what is in the way, then run the same command again",
        {"paths": sorted(blocked)},
    )


def _names(paths: Sequence[str]) -> str:
    more = f", and {len(paths) - _MOST_SAID} more" if len(paths) > _MOST_SAID else ""
    return ", ".join(f"`{path}`" for path in paths[:_MOST_SAID]) + more


def _elsewhere(snapshot: str) -> StorageFailed:
    return StorageFailed(
        f"what was there is in snapshot `{snapshot[:12]}`, which is not kept here",
        "use the home folder that the session was run with (SIGNOFF_HOME)",
    )
