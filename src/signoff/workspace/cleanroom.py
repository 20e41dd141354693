"""The clean room: a checkout of a snapshot that no agent touched, for contracts to run in."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from signoff.domain.snapshot import Change, ChangeKind, Manifest
from signoff.errors import InternalError, RoomTooDear, StorageFailed, WorkspaceMissing
from signoff.workspace.byproducts import Byproducts, RoomLimits, survey, without_litter
from signoff.workspace.fitting import Copies, Fitted, Fitter, Layout, has_place, lay_out
from signoff.workspace.folders import opened_root, remove_any
from signoff.workspace.records import (
    FilesByFolder,
    Folders,
    changes_between,
    closed_to_owner,
    source_states,
)
from signoff.workspace.walk import Territory, scan
from signoff.workspace.workspace import Workspace

_ROOM, _CLOCK = "room", "clock"
_LONGEST_WAIT_S = 3.0
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Room(Struct, frozen=True):
    """A prepared checkout, and what to bind into it, each at its own path.

    Paths are relative to the workspace. `shared` (dependencies, which lie in `source`) and `apart`
    (`.git`, vault, plan file) are to be bound read-only; empty places for them are there. `copied`
    by-products are the room's own, to be written by a contract; `left_out` could not be copied
    (sockets, unreadable).
    """

    path: Path
    source: Path
    shared: tuple[str, ...]
    apart: tuple[str, ...]
    copied: tuple[str, ...]
    left_out: tuple[str, ...]


class CleanRoom:
    """A checkout of a workspace, kept between judgings; the caller holds the workspace's lock.

    prepare → layout of snapshot and by-products → what differs is put right → (a contract runs)
    → moved. Sources come from the snapshot store with their hashes checked, never from files that
    an agent could write. Nothing in it is a link to a file outside.
    """

    def __init__(
        self,
        workspace: Workspace,
        folder: Path,
        limits: RoomLimits | None = None,
        own: tuple[str, ...] = (),
    ):
        self._own = own  # globs of dependencies that it gets a copy of
        self.path = folder / _ROOM
        self._limits = limits or RoomLimits()
        self.workspace = workspace
        self._folder = folder
        self._territory = Territory(self.path, workspace.rules, workspace.apart)
        self._put: Folders | None = None
        self._known: Folders | None = None
        self._copies: Copies = {}

    def prepare(
        self,
        digest: str,
        instead: FilesByFolder | None = None,
        without: frozenset[str] = frozenset(),
        made: Byproducts | None = None,
    ) -> Room:
        """Make the room equal to the snapshot, with the by-products of the workspace's last walk.

        `made` are other by-products, in their place. For a second look, `instead` is other content
        than the snapshot's, and `without` are by-products to leave out.

        A source file has the time of the workspace's where the content is the same, so that build
        tools see what is newer than what; otherwise the time at which it is put there.
        """
        content = instead if instead is not None else self.workspace.content(digest)
        _check_size(content, self._limits)
        workspace = self.workspace
        source = made or Byproducts(workspace.root, workspace.byproducts)
        with opened_root(workspace.root) as apart_fd, opened_root(source.root) as fd:
            at = apart_fd if made is None else fd
            found = survey(
                at, source.paths, workspace.apart, self._limits, without, apart_fd, self._own
            )
            layout = lay_out(content, found)
            fitted = self._fit_or_start_over(layout, at)
        return Room(
            path=self.path,
            source=source.root,
            shared=tuple(p for p in found.shared if has_place(layout, p)),
            apart=tuple(p for p in found.apart if has_place(layout, p)),
            copied=tuple(found.copied),
            left_out=(*found.left_out, *fitted.unreadable),
        )

    def content(self, digest: str) -> FilesByFolder:
        """Content that the room would have for a snapshot."""
        return self.workspace.content(digest)

    def moved(self) -> tuple[Change, ...]:
        """Changes by a contract since the room was prepared, by-products and litter aside."""
        if self._put is None:
            raise InternalError("a clean room was asked what moved before it was prepared")
        try:
            now = scan(self._territory, self._known or {}, None, True, same_rules=True).folders
        except StorageFailed as error:
            # What cannot be read any more, or nests too deeply to be, was not left so by us.
            return (Change(error.facts.get("path", "."), ChangeKind.MODIFIED),)
        closed = closed_to_owner(self.path, now) if os.geteuid() == 0 else ()
        return (*(Change(p, ChangeKind.MODIFIED) for p in closed), *_changed(self._put, now))

    def discard(self) -> None:
        """Remove the room and everything in it."""
        self._put, self._known, self._copies = None, None, {}
        if not self._folder.is_dir():
            return
        try:
            self._remove()
            (self._folder / _CLOCK).unlink(missing_ok=True)
        except OSError as error:
            raise self._refused(error) from error
        with suppress(OSError):
            self._folder.rmdir()

    def _fit_or_start_over(self, layout: Layout, workspace_fd: int) -> Fitted:
        """Put right what differs; a room that resists is thrown away and made from nothing."""
        try:
            return self._fit(layout, workspace_fd)
        except (OSError, WorkspaceMissing):
            self._known, self._copies = None, {}
        try:
            self._remove()
            return self._fit(layout, workspace_fd)
        except OSError as error:
            if error.errno in _DISK_FULL:
                self.discard()
                raise RoomTooDear(
                    f"a clean room does not fit on the disk: {error.strerror}",
                    facts={"path": str(self.path), "errno": error.errno},
                ) from error
            raise self._refused(error) from error

    def _fit(self, layout: Layout, workspace_fd: int) -> Fitted:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.mkdir(exist_ok=True)
        known, copies = self._learnt(), self._copies
        # Nothing is known until all is done: an error on the way leaves a half-made room.
        self._put, self._known, self._copies = None, None, {}
        with opened_root(self.path) as room_fd:
            objects = self.workspace.objects
            fitter = Fitter(objects, workspace_fd, room_fd, known, copies)
            fitted = fitter.fit(layout)
        self._put = fitted.folders
        if self._outlast(fitted.newest_ns):
            self._known, self._copies = fitted.folders, fitted.copies
        return fitted

    def _learnt(self) -> Folders:
        """Content of the room: as we left it, or by reading what an earlier process left."""
        if self._known is not None:
            return self._known
        try:
            return scan(self._territory, {}, None, quiet=True).folders
        except StorageFailed:
            self._remove()
            self.path.mkdir()
            return {}

    def _outlast(self, newest_ns: int) -> bool:
        """Wait for the file system's clock to go on, so that any later change shows in the times.

        False when it does not within a time: then nothing about the room is taken as known.
        """
        if newest_ns == 0:
            return True
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._folder / _CLOCK, flags, 0o600)
        try:
            pause_s = 0.0
            give_up = time.monotonic() + _LONGEST_WAIT_S
            while time.monotonic() < give_up:
                os.utime(fd)
                if os.fstat(fd).st_ctime_ns > newest_ns:
                    return True
                # Once looked at, a file gets a finer time where the kernel can: try that at once.
                time.sleep(pause_s)
                pause_s = 0.0005
            return False
        finally:
            os.close(fd)

    def _remove(self) -> None:
        with opened_root(self._folder) as fd:
            remove_any(fd, _ROOM)

    def _refused(self, error: OSError) -> StorageFailed:
        return StorageFailed(
            f"the clean room `{self.path}` cannot be put right: {error.strerror or error}",
            hint=f"remove the folder `{self._folder}`, then run the same command again",
            facts={"path": str(self.path), "errno": error.errno},
        )


def _check_size(content: FilesByFolder, limits: RoomLimits) -> None:
    files = sum(map(len, content.values()))
    size = sum(record.key[1] for inside in content.values() for record in inside.values())
    depth = max((path.count("/") for path in content), default=0)
    for much, most, unit in (
        (files, limits.files, "files"),
        (size >> 20, limits.mb, "MB"),
        (depth, limits.depth, "levels of folders"),
    ):
        if much > most:
            raise RoomTooDear(
                f"a clean room would have to copy {much:,} {unit}; the limit is {most:,}",
                facts={"much": much, "limit": most, "unit": unit},
            )


def _changed(put: Folders, now: Folders) -> tuple[Change, ...]:
    """A folder that is as it was put is the same object; only the others are compared."""
    differ = [path for path in put.keys() | now.keys() if put.get(path) is not now.get(path)]
    after = _states(now, differ)
    changes = changes_between(_states(put, differ), after)
    return without_litter(changes, _states(put, put), after) if changes else ()


def _states(folders: Folders, paths: Iterable[str]) -> Manifest:
    return dict(source_states(folders[path] for path in paths if path in folders))
