"""Putting things back where they were: all of them, or everything stays as it is.

put_back
  stage      every content into a folder of its own, checked; a full disk is noticed here
  clear      what is in the way is moved aside, deepest first
  place      contents are moved to their paths, folders made, permissions set
  tidy       folders that were made for what is gone
An error on the way takes each of these back.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from signoff.errors import PlanConflict, StorageFailed
from signoff.toolbatch.disk import Thing, ThingKind, look, opened_folder, parts_of

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE = 0o600  # of a file whose permissions nobody knows: never more open than it was


@dataclass(frozen=True)
class Target:
    """What is to be at a path; `made` is the topmost folder that was made for what goes."""

    path: str
    to: Thing
    content: Callable[[], Iterator[bytes]]
    made: str = ""


def put_back(root: Path, targets: Sequence[Target]) -> None:
    """Make every path what it is to be, or leave all as they are; PlanConflict says why."""
    wanted = [target for target in targets if not look(root, target.path).same(target.to)]
    with _staging(root) as stage:
        doing = _Doing(root, stage)
        try:
            for target in wanted:
                doing.prepare(target)
            for target in sorted(wanted, key=_path, reverse=True):
                doing.clear(target)
            for target in sorted(wanted, key=_path):
                doing.place(target)
            for target in sorted(targets, key=_path, reverse=True):
                doing.tidy(target)
        except BaseException as error:
            doing.take_back()
            if isinstance(error, OSError):
                raise _refused(doing.at, error) from error
            raise


def _path(target: Target) -> tuple[str, ...]:
    return parts_of(target.path)


@contextmanager
def _staging(root: Path) -> Iterator[int]:
    """A folder of our own beside the content, gone afterwards."""
    name = f".signoff-undo-{secrets.token_hex(6)}"
    try:
        (root / name).mkdir(0o700)
        with opened_folder(root, (name,)) as stage:
            try:
                yield stage
            finally:
                for left in _names_in(stage):
                    os.unlink(left, dir_fd=stage)
                (root / name).rmdir()
    except OSError as error:
        raise _refused(name, error) from error


class _Doing:
    """What was done so far, and how each of it is taken back."""

    def __init__(self, root: Path, stage: int):
        self._root, self._stage = root, stage
        self._back: list[Callable[[], None]] = []
        self._new: dict[str, str] = {}
        self._moved = 0
        self.at = ""

    def prepare(self, target: Target) -> None:
        """Stage the content, unless only permissions differ."""
        self.at = target.path
        now = look(self._root, target.path)
        if target.to.kind is ThingKind.LINK:
            name = self._new[target.path] = f"new-{len(self._new)}"
            os.symlink(b"".join(target.content()), os.fsencode(name), dir_fd=self._stage)
        elif target.to.kind is ThingKind.FILE and now.digest != target.to.digest:
            mode = target.to.mode
            if mode is None:
                mode = now.mode if now.kind is ThingKind.FILE else _PRIVATE
            name = self._new[target.path] = f"new-{len(self._new)}"
            self._write(name, target, _PRIVATE if mode is None else mode)

    def clear(self, target: Target) -> None:
        """Move away what is there, if it cannot stay."""
        self.at = target.path
        kind = look(self._root, target.path).kind
        if kind in (ThingKind.NOTHING, target.to.kind) and target.path not in self._new:
            return
        if kind is ThingKind.FOLDER:
            self._remove_empty(target.path)
        elif kind is not ThingKind.NOTHING:
            self._moved += 1
            name, old = parts_of(target.path)[-1], f"old-{self._moved}"
            with self._above(target.path) as folder:
                os.rename(name, old, src_dir_fd=folder, dst_dir_fd=self._stage)
            self._back.append(lambda: self._return(old, target.path))

    def place(self, target: Target) -> None:
        """Put there what is to be there."""
        self.at = target.path
        if target.to.kind is ThingKind.NOTHING:
            return
        parts = parts_of(target.path)
        folder = target.to.kind is ThingKind.FOLDER
        for depth in range(1, len(parts) + folder):
            self._make("/".join(parts[:depth]))
        if target.path in self._new:
            with self._above(target.path) as above:
                new = self._new[target.path]
                os.rename(new, parts[-1], src_dir_fd=self._stage, dst_dir_fd=above)
            self._back.append(lambda: self._unlink(target.path))
        elif target.to.mode is not None:
            before = look(self._root, target.path).mode
            self._allow(target.path, target.to.mode)
            if before is not None:
                self._back.append(lambda: self._allow(target.path, before))

    def tidy(self, target: Target) -> None:
        """Remove folders that were made for what is gone, if nothing else is in them."""
        self.at = target.path
        if target.to.kind is not ThingKind.NOTHING or not target.made:
            return
        parts, top = parts_of(target.path), len(parts_of(target.made))
        for depth in range(len(parts) - 1, top - 1, -1):
            try:
                self._remove("/".join(parts[:depth]))
            except OSError:
                return

    def take_back(self) -> None:
        """Everything as it was before."""
        while self._back:
            with suppress(OSError):
                self._back.pop()()

    def _write(self, name: str, target: Target, mode: int) -> None:
        content = hashlib.sha256()
        with open(os.open(name, _CREATE, _PRIVATE, dir_fd=self._stage), "wb") as file:
            for piece in target.content():
                content.update(piece)
                file.write(piece)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if content.hexdigest() != target.to.digest:
            raise StorageFailed(
                f"what is kept of `{target.path}` is not what was there",
                "restore the home folder from a backup; nothing was changed",
                {"path": target.path},
            )

    def _remove_empty(self, path: str) -> None:
        """Remove a folder that holds nothing but such folders."""
        with opened_folder(self._root, parts_of(path)) as folder:
            inside = _names_in(folder)
        for name in inside:
            self._remove_empty(f"{path}/{name}")
        self._remove(path)

    def _remove(self, path: str) -> None:
        mode = look(self._root, path).mode
        with self._above(path) as above:
            os.rmdir(parts_of(path)[-1], dir_fd=above)
        self._back.append(lambda: self._make_again(path, mode))

    def _make(self, path: str) -> None:
        with self._above(path) as above:
            try:
                os.mkdir(parts_of(path)[-1], dir_fd=above)
            except FileExistsError:
                return
        self._back.append(lambda: self._rmdir(path))

    def _make_again(self, path: str, mode: int | None) -> None:
        with self._above(path) as above:
            os.mkdir(parts_of(path)[-1], dir_fd=above)
        if mode is not None:
            self._allow(path, mode)

    def _return(self, old: str, path: str) -> None:
        with self._above(path) as above:
            os.rename(old, parts_of(path)[-1], src_dir_fd=self._stage, dst_dir_fd=above)

    def _unlink(self, path: str) -> None:
        with self._above(path) as above:
            os.unlink(parts_of(path)[-1], dir_fd=above)

    def _rmdir(self, path: str) -> None:
        with self._above(path) as above:
            os.rmdir(parts_of(path)[-1], dir_fd=above)

    def _allow(self, path: str, mode: int) -> None:
        """Set permissions; never those of what a link leads to."""
        with self._above(path) as above:
            handle = os.open(parts_of(path)[-1], os.O_PATH | os.O_NOFOLLOW, dir_fd=above)
            try:
                if not stat.S_ISLNK(os.fstat(handle).st_mode):
                    os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101 - a descriptor
            finally:
                os.close(handle)

    @contextmanager
    def _above(self, path: str) -> Iterator[int]:
        with opened_folder(self._root, parts_of(path)[:-1]) as folder:
            yield folder


def _names_in(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _refused(path: str, error: OSError) -> PlanConflict:
    return PlanConflict(
        f"`{path}` cannot be put back, so nothing was: {error.strerror or error}",
        "see to it that it can be written, then run the same command again",
        {"path": path, "errno": error.errno},
    )
