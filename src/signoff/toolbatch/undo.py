"""Undoing changes: what it would do, path by path, and doing all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.text import shown_list
from signoff.errors import PlanConflict, StorageFailed
from signoff.toolbatch.kept import (
    NOTHING,
    UNKNOWN,
    FileBefore,
    Lost,
    Moment,
    Rollback,
    Rollbacks,
    Thing,
    ThingKind,
    mode_of,
)
from signoff.workspace.records import folders_above
from signoff.workspace.workspace import Workspace

_MOST_SAID = 5
_PASSABLE = (ThingKind.NOTHING, ThingKind.FOLDER)
_PRIVATE = 0o600  # of a file whose permissions nobody knows: never more open than it was


class Restoring(StrEnum):
    RESTORE = "restore"
    REMOVE = "remove"
    LEAVE = "leave"  # a folder that was made and holds other things now
    CHANGED = "changed"  # by somebody else, or by a call that was cut off: only when forced
    BLOCKED = "blocked"  # something stands in the way: not even when forced


class UndoStep(Struct, frozen=True):
    """One path of an undoing; afterwards `to` is there. `why` says what stands in the way."""

    path: str
    doing: Restoring
    number: int
    to: Thing
    stored: str
    after: Thing
    why: str = ""


class Undone(Struct, frozen=True):
    """Steps that undoing did, or would do; newest change first."""

    steps: tuple[UndoStep, ...] = ()
    lost: tuple[Lost, ...] = ()  # what changed and stays as it is
    numbers: tuple[int, ...] = ()

    def doing(self, which: Restoring) -> list[str]:
        return sorted({step.path for step in self.steps if step.doing is which})


def last(rollbacks: Rollbacks, back: int) -> list[Rollback]:
    """The last `back` changes, newest first; one that cannot be undone is not counted."""
    chosen: list[Rollback] = []
    for rollback in reversed(rollbacks.open()):
        if back <= 0:
            break
        chosen.append(rollback)
        back -= rollback.can_be_undone
    return chosen


def since(rollbacks: Rollbacks, number: int) -> list[Rollback]:
    """Every change after a point, newest first."""
    return [rollback for rollback in reversed(rollbacks.open()) if rollback.number > number]


def plan_undo(workspace: Workspace, chosen: Sequence[Rollback]) -> Undone:
    """Plan the undoing of these changes, newest first."""
    now, steps = Moment.now(workspace), list[UndoStep]()
    found: dict[str, Thing] = {}  # what is there now
    left: dict[str, Thing] = {}  # what is there once the changes so far are undone
    for rollback in chosen:
        for file in _files(workspace, rollback, now, left):
            if file.path not in left:
                left[file.path] = found[file.path] = _on_disk(workspace.root, now, file.path)
            current = left[file.path]
            doing = Restoring.REMOVE if file.before == NOTHING else Restoring.RESTORE
            if not (current.same(file.after) or current.same(file.before)):
                doing = Restoring.CHANGED
            at = (file.path, doing, rollback.number)
            steps.append(UndoStep(*at, file.before, file.stored, file.after))
            left[file.path] = file.before
    lost = (lost for rollback in chosen for lost in rollback.lost)
    numbers = tuple(rollback.number for rollback in chosen)
    return Undone(_with_obstacles(steps, found, workspace.root), tuple(lost), numbers)


def undo(rollbacks: Rollbacks, undone: Undone, *, force: bool = False) -> None:
    """Do it, all or nothing; PlanConflict where it is not ours to do."""
    _refuse(undone, force)
    workspace = rollbacks.workspace
    now = Moment.now(workspace, keep=True)
    steps = {step.path: step for step in undone.steps if step.doing is not Restoring.LEAVE}
    ordered = sorted(steps.values(), key=lambda step: step.number, reverse=True)
    wanted = [FileBefore(s.path, s.to, now.at(s.path), s.stored) for s in ordered]
    try:
        _put_back(workspace, wanted)
    except BaseException as error:
        _put_back(workspace, [FileBefore(p, now.at(p), UNKNOWN, now.digest) for p in steps])
        if isinstance(error, StorageFailed) and "errno" in error.facts:
            raise _in_the_way({str(error.facts["path"]): str(error)}) from error
        raise
    replaced = {path: (now.at(path).digest, now.digest) for path in steps}
    rollbacks.close(undone.numbers, replaced)


def _files(
    workspace: Workspace, rollback: Rollback, now: Moment, left: Mapping[str, Thing]
) -> Iterator[FileBefore]:
    """Files of a change; of a command that was cut off, all that differs since then."""
    if not rollback.snapshot:
        yield from rollback.files
        return
    then = Moment.then(workspace, rollback.snapshot)
    for path in dict.fromkeys((*then.unlike(now), *left)):
        if not then.at(path).same(left.get(path, now.at(path))):
            yield FileBefore(path, then.at(path), UNKNOWN, rollback.snapshot)


def _on_disk(root: Path, now: Moment, path: str) -> Thing:
    """State of a path now; nobody can keep what is ignored or lies outside of the workspace."""
    seen, place = now.at(path), root / path
    if path.startswith("/") or ".." in path.split("/"):
        return UNKNOWN
    if seen != NOTHING or not os.path.lexists(place):
        return seen
    return Thing(ThingKind.FOLDER) if place.is_dir() and not place.is_symlink() else UNKNOWN


def _with_obstacles(
    steps: Sequence[UndoStep], found: Mapping[str, Thing], root: Path
) -> tuple[UndoStep, ...]:
    """The steps, with a reason at each that cannot be done."""
    last = {step.path: step for step in steps}
    newest = {step.path: step for step in reversed(steps)}
    leaving = frozenset(path for path, step in last.items() if step.to == NOTHING)
    why = {
        path: _obstacle(step, found[path], last, leaving, root)
        for path, step in last.items()
        if not found[path].same(step.to)
    }

    def checked(step: UndoStep) -> UndoStep:
        if not why.get(step.path):
            return step
        # A folder that the call made is no reason to refuse: what others put into it keeps it.
        made = newest[step.path].after.kind is found[step.path].kind is ThingKind.FOLDER
        made = made and step.path in leaving
        doing = Restoring.LEAVE if made else Restoring.BLOCKED
        return replace(step, doing=doing, why=why[step.path])

    return tuple(map(checked, steps))


def _obstacle(
    step: UndoStep,
    current: Thing,
    last: Mapping[str, UndoStep],
    leaving: frozenset[str],
    root: Path,
) -> str:
    """The reason why a path cannot become what it was; empty when it can."""
    if current == UNKNOWN:
        return "what is there now cannot be kept"
    turned = current.kind is ThingKind.FOLDER is not step.to.kind
    if turned and not _holds_only(root, step.path, leaving):
        return "a folder with other things in it is there now"
    for above in folders_above(step.path) if step.to != NOTHING else ():
        place = root / above
        kept = above not in last or last[above].to.kind not in _PASSABLE
        if kept and os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            return f"`{above}` is not a folder now"
    return ""


def _holds_only(root: Path, folder: str, leaving: frozenset[str]) -> bool:
    """True when everything in a folder is about to leave; also for an empty one."""
    with os.scandir(root / folder) as entries:
        inside = [(f"{folder}/{e.name}", e.is_dir(follow_symlinks=False)) for e in entries]
    return all(
        path in leaving
        or (is_folder and any((root / path).iterdir()) and _holds_only(root, path, leaving))
        for path, is_folder in inside
    )


def _put_back(workspace: Workspace, wanted: Sequence[FileBefore]) -> None:
    """Make every path what it was before, from the newest snapshot to the oldest."""
    by_snapshot: dict[str, list[FileBefore]] = {}
    for file in wanted:
        by_snapshot.setdefault(file.stored, []).append(file)
    for snapshot, files in by_snapshot.items():
        above = {folder for file in files for folder in folders_above(file.path)}
        modes = {folder: mode_of(workspace.root / folder) for folder in above}
        workspace.revert(snapshot, {file.path for file in files})
        # A folder that was there and empty goes with its last file, and comes back.
        gone = [folder for folder in above if not os.path.lexists(workspace.root / folder)]
        for folder in (change.path for change in workspace.revert(snapshot, gone)):
            _allow(workspace.root / folder, modes[folder])
    # Folders last, and from the inside: one that is closed cannot be entered any more.
    for file in sorted(wanted, key=lambda file: file.path, reverse=True):
        private = _PRIVATE if file.before.kind is ThingKind.FILE else None
        known = (file.before.mode, file.after.mode, private)
        if file.before.kind in (ThingKind.FILE, ThingKind.FOLDER):
            _allow(workspace.root / file.path, next((m for m in known if m is not None), None))


def _allow(path: Path, mode: int | None) -> None:
    """Set permissions, where they are known; never those of what a link leads to."""
    if mode is None:
        return
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(mode)
    finally:
        os.close(handle)


def _refuse(undone: Undone, force: bool) -> None:
    blocked = {s.path: s.why for s in undone.steps if s.doing is Restoring.BLOCKED}
    if blocked:
        raise _in_the_way(blocked)
    changed = undone.doing(Restoring.CHANGED)
    if changed and not force:
        raise PlanConflict(
            "changed since by somebody else, or by a call that was cut off: "
            + shown_list(changed, _MOST_SAID),
            "signoff undo --force overwrites them; what they hold now is kept",
            {"paths": changed},
        )


def _in_the_way(blocked: Mapping[str, str]) -> PlanConflict:
    said = [f"`{path}`: {why}" for path, why in sorted(blocked.items())]
    more = f", and {len(said) - _MOST_SAID} more" if len(said) > _MOST_SAID else ""
    return PlanConflict(
        f"cannot be put back, so nothing was: {'; '.join(said[:_MOST_SAID])}{more}",
        "move away what is in the way, then run the same command again",
        {"paths": sorted(blocked)},
    )
