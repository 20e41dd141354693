"""Moments of a workspace: its snapshots as its judge takes them, with permissions beside them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from signoff.domain.snapshot import FileKind
from signoff.errors import StorageFailed
from signoff.toolbatch.disk import NOTHING, UNKNOWN, Thing, ThingKind
from signoff.toolbatch.kept import Changed, Lost, Unkept
from signoff.workspace.content import whole_content
from signoff.workspace.workspace import Workspace

_KINDS = {FileKind.FILE: ThingKind.FILE, FileKind.LINK: ThingKind.LINK}
_MOST_IGNORED = 1_000  # files that are looked at one by one, to name those that changed

# As a workspace lists what a snapshot holds: folder by folder, by name.
Files = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class WorkspaceMoment:
    """What was there: files by folder, folders with their permissions, and a look at the rest."""

    digest: str
    files: Files
    folders: Mapping[str, int | None]
    environment: str = ""  # empty: of what is ignored nobody looked
    ignored: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    now: Callable[[], WorkspaceMoment] | None = None

    def at(self, path: str) -> Thing:
        """What was there."""
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

    def made_above(self, path: str) -> str:
        """The topmost folder above a path that was not there yet; empty: all of them were."""
        parts = path.split("/")
        ways = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return next((above for above in ways if above not in self.folders), "")

    def changed(self) -> Changed:
        """What is not now as it was then; folders only where no file in them says it all."""
        assert self.now is not None
        now = self.now()
        paths = set(self._files_unlike(now))
        implied = {above for path in paths for above in _above(path)}
        for path in self.folders.keys() | now.folders.keys():
            made = path not in self.folders
            if not self.at(path).same(now.at(path)) and not (made and path in implied):
                paths.add(path)
        lost = [Lost(path, Unkept.IGNORED) for path in self._ignored_unlike(now)]
        if self.environment and self.environment != now.environment and not lost:
            lost.append(Lost("", Unkept.IGNORED))
        return Changed(tuple(sorted(paths)), tuple(lost))

    def _files_unlike(self, now: WorkspaceMoment) -> Iterator[str]:
        for folder in self.files.keys() | now.files.keys():
            before, after = self.files.get(folder, {}), now.files.get(folder, {})
            if before is after:
                continue
            prefix = f"{folder}/" if folder else ""
            for name in before.keys() | after.keys():
                path = prefix + name
                if before.get(name) != after.get(name) and not _alike(self.at(path), now.at(path)):
                    yield path

    def _ignored_unlike(self, now: WorkspaceMoment) -> list[str]:
        if not self.environment:
            return []
        paths = sorted(self.ignored.keys() | now.ignored.keys())
        return [path for path in paths if self.ignored.get(path) != now.ignored.get(path)]


class WorkspaceSnapshots:
    """Snapshots of the workspace; the agent may be alive."""

    def __init__(self, workspace: Workspace):
        self._workspace = workspace
        self._stored: tuple[str, Files] = ("", {})

    def take(self) -> WorkspaceMoment:
        """Keep the content as it is now."""
        taken = self._workspace.snapshot(quiet=False)
        return self._moment(taken.digest, taken.environment)

    def then(self, snapshot: str) -> WorkspaceMoment:
        """The moment of a snapshot; of permissions nothing is known."""
        files = self._files(snapshot)
        folders: dict[str, int | None] = dict.fromkeys(_folders(files))
        return WorkspaceMoment(snapshot, files, folders, now=self._now)

    def stream(self, snapshot: str, path: str) -> Iterator[bytes]:
        """The content of a file, or the target of a link, in pieces."""
        above, _, name = path.rpartition("/")
        record = self._files(snapshot).get(above, {}).get(name)
        if record is None:
            raise StorageFailed(
                f"`{path}` is not in snapshot `{snapshot[:12]}`",
                "use the home folder that the session was run with (SIGNOFF_HOME)",
                {"path": path, "digest": snapshot},
            )
        return whole_content(self._workspace.objects, record.blob, record.state.size)

    def _files(self, snapshot: str) -> Files:
        if self._stored[0] != snapshot:
            self._stored = (snapshot, self._workspace.content(snapshot))
        return self._stored[1]

    def _now(self) -> WorkspaceMoment:
        seen = self._workspace.digest_now(quiet=False)
        return self._moment(seen.digest, seen.environment)

    def _moment(self, digest: str, environment: str) -> WorkspaceMoment:
        files = self._workspace.content(digest)
        root = self._workspace.root
        folders = {folder: _mode(root / folder) for folder in _folders(files)}
        ignored = dict(_looked_at(root, self._workspace.byproducts[:_MOST_IGNORED]))
        return WorkspaceMoment(digest, files, folders, environment, ignored, self._now)


def _alike(one: Thing, other: Thing) -> bool:
    """Pipes and devices too: what a walk says of them is all that is known."""
    return one == other or one.same(other)


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _folders(files: Files) -> set[str]:
    """The folders that hold something, and the empty ones."""
    folders = {folder for folder in files if folder}
    return folders | {above for folder in folders for above in _above(folder)}


def _mode(folder: Path) -> int | None:
    with suppress(OSError):
        return stat.S_IMODE(os.lstat(folder).st_mode)
    return None


def _looked_at(root: Path, paths: tuple[str, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for path in paths:
        with suppress(OSError):
            seen = os.lstat(root / path)
            if not stat.S_ISDIR(seen.st_mode):
                yield path, (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
