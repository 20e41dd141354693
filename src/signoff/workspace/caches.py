"""Compiled caches of a workspace: no verdict rests on one, and none of a person's is lost.

A cache that somebody made since the approval is removed before anything is judged. One that was
there when a plan was approved, that git tracks, or that a plan protects may be somebody's only copy
of something: it is moved into the home folder while a contract runs in the workspace, and put back.
A kill on the way loses nothing: the next command puts it back.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from signoff.domain.globs import intersect, literal
from signoff.domain.snapshot import FileKind, FileState
from signoff.errors import StorageFailed, WorkspaceMissing
from signoff.testing.crash import CachePoint, reach
from signoff.workspace.checkout import find_checkout, read_small
from signoff.workspace.folders import (
    FOLDER_FLAGS,
    open_folder_strictly,
    opened_root,
    opened_strictly,
    remove_any,
    remove_tree,
    set_mode,
    unreadable,
)
from signoff.workspace.objects import replace_file

_INDEX_BYTES = 1 << 30
_PLAIN_INDEX = (2, 3)  # versions in which every path is written out
_ASIDE, _NOTE = "aside-", "note.json"
_BLOCKED = frozenset({errno.ENOTDIR, errno.ELOOP})


class CacheKeeper:
    """Tells caches that may go from those that are kept, and moves the latter out of the way."""

    def __init__(self, root: Path, store: Path, protects: Sequence[str] = (), *, aside: str = ""):
        """`aside` names a place of its own for what is moved away, if that may happen at once."""
        self._root = root
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:20]
        self._known = store / f"caches-{name}"  # what was there when a plan was approved
        self._aside = store / f"{_ASIDE}{name}{aside}"
        self._protects = tuple(protects)
        self._away = False

    def remember(self, met: Iterable[str]) -> None:
        """Keep what is there now, as a plan is approved, from being removed later."""
        known = self._remembered()
        if not known.issuperset(met):
            text = json.dumps(sorted(known.union(met)))
            replace_file(self._known, text.encode(), durable=True)

    def kept(self, met: Sequence[str]) -> frozenset[str]:
        """Caches that are not ours to remove."""
        kept = self._remembered().intersection(met)
        others = [path for path in met if path not in kept]
        kept |= {p for p in others if any(intersect(glob, literal(p)) for glob in self._protects)}
        rest = [path for path in others if path not in kept]
        return frozenset(kept | _tracked(self._root, rest)) if rest else frozenset(kept)

    def remove(self, caches: Iterable[str]) -> int:
        """Remove what a walk met; how many of them were still there."""
        removed = 0
        with opened_root(self._root) as root_fd:
            for path in caches:
                above, _, name = path.rpartition("/")
                try:
                    with opened_strictly(root_fd, above) as fd:
                        # As the walk met it: a file, or a real folder.
                        if name.endswith((".pyc", ".pyo")):
                            os.unlink(name, dir_fd=fd)
                        else:
                            remove_tree(fd, name)
                except (FileNotFoundError, NotADirectoryError):
                    continue
                except OSError as error:
                    raise unreadable(path, error) from error
                removed += 1
        return removed

    @contextmanager
    def aside(self, kept: Sequence[str]) -> Iterator[None]:
        """Keep these out of the workspace for a while; whatever took their place goes again."""
        if not kept or self._away:
            yield
            return
        self._aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(self._aside, wait=True) as aside_fd:
            assert aside_fd is not None
            self._away = True
            try:
                _put_back(self._aside, aside_fd)
                self._move_away(aside_fd, kept)
                reach(CachePoint.ASIDE)
                yield
            finally:
                self._away = False
                try:
                    _put_back(self._aside, aside_fd)
                except OSError as error:
                    raise StorageFailed(
                        f"files moved away could not be put back: {error.strerror or error}",
                        hint=f"they lie in `{self._aside}`, and the next command tries again",
                        facts={"path": str(self._aside), "errno": error.errno},
                    ) from error

    def _remembered(self) -> frozenset[str]:
        try:
            return frozenset(json.loads(self._known.read_bytes()))
        except (OSError, ValueError):
            return frozenset()

    def _move_away(self, aside_fd: int, kept: Sequence[str]) -> None:
        """The note comes first: what lies aside is always known by the place it came from."""
        places = {os.urandom(8).hex(): path for path in kept}
        _note(self._aside, self._root, _noted(self._aside)[1] | places)
        with opened_root(self._root) as root_fd:
            for slot, path in places.items():
                above, _, name = path.rpartition("/")
                try:
                    with opened_strictly(root_fd, above) as fd:
                        _move(fd, name, aside_fd, slot)
                except (FileNotFoundError, NotADirectoryError):
                    continue
                except OSError as error:
                    raise unreadable(path, error) from error


def put_back_caches(snapshots: Path) -> None:
    """Put back what a killed process left aside; what cannot be put back yet stays there."""
    for note in snapshots.glob(f"*/{_ASIDE}*/{_NOTE}"):
        with suppress(OSError, WorkspaceMissing), _locked(note.parent, wait=False) as aside_fd:
            if aside_fd is not None:
                _put_back(note.parent, aside_fd)


@contextmanager
def _locked(aside: Path, *, wait: bool) -> Iterator[int | None]:
    """The folder for what is aside, held by one process at a time; None when it is taken."""
    fd = os.open(aside, FOLDER_FLAGS)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield None
        else:
            yield fd
    finally:
        os.close(fd)


def _put_back(aside: Path, aside_fd: int) -> None:
    root, noted = _noted(aside)
    if root is None:
        return
    blocked = {}
    with opened_root(root) as root_fd:
        for slot, path in noted.items():
            try:
                os.stat(slot, dir_fd=aside_fd, follow_symlinks=False)
            except FileNotFoundError:
                continue  # it was not moved away, or is back already
            if not _return(root_fd, path, aside_fd, slot):
                blocked[slot] = path
    if blocked:
        _note(aside, root, blocked)
    else:
        (aside / _NOTE).unlink(missing_ok=True)


def _noted(aside: Path) -> tuple[Path | None, dict[str, str]]:
    """The workspace to which the caches belong, and the place of each cache in it."""
    try:
        note = json.loads((aside / _NOTE).read_bytes())
    except FileNotFoundError:
        return None, {}
    return Path(note["root"]), note["places"]


def _note(aside: Path, root: Path, places: Mapping[str, str]) -> None:
    text = json.dumps({"root": str(root), "places": dict(places)})
    replace_file(aside / _NOTE, text.encode(), durable=True)


def _return(root_fd: int, path: str, aside_fd: int, slot: str) -> bool:
    """Put one cache back; False while something that is no folder is in the way to its place."""
    above, _, name = path.rpartition("/")
    try:
        fd = open_folder_strictly(root_fd, above, create=True)
    except OSError as error:
        if error.errno in _BLOCKED:
            return False
        raise
    try:
        remove_any(fd, name)
        _move(aside_fd, slot, fd, name)
    finally:
        os.close(fd)
    return True


def _move(from_fd: int, name: str, to_fd: int, new_name: str) -> None:
    """Move a file or folder with its modes and times, also to another disk."""
    try:
        _rename(from_fd, name, to_fd, new_name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        part = f"{new_name}.{os.urandom(4).hex()}.part"
        _copy(Path(f"/proc/self/fd/{from_fd}/{name}"), Path(f"/proc/self/fd/{to_fd}/{part}"))
        _rename(to_fd, part, to_fd, new_name)
        remove_any(from_fd, name)


def _rename(from_fd: int, name: str, to_fd: int, new_name: str) -> None:
    try:
        os.rename(name, new_name, src_dir_fd=from_fd, dst_dir_fd=to_fd)
    except PermissionError:
        # A folder that may not be written cannot be moved.
        mode = stat.S_IMODE(os.stat(name, dir_fd=from_fd, follow_symlinks=False).st_mode)
        if mode & stat.S_IWUSR:
            raise
        set_mode(from_fd, name, mode | stat.S_IWUSR)
        os.rename(name, new_name, src_dir_fd=from_fd, dst_dir_fd=to_fd)
        set_mode(to_fd, new_name, mode)


def _copy(source: Path, target: Path) -> None:
    """Links stay links; pipes and sockets hold nothing that could be copied."""
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, True, not_plain, _copy_file)
    else:
        _copy_file(str(source), str(target))


def _copy_file(source: str, target: str) -> str:
    """Copy a file, flushed to the disk before the original goes."""
    shutil.copy2(source, target, follow_symlinks=False)
    if not Path(target).is_symlink():
        fd = os.open(target, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    return target


def not_plain(folder: str, names: list[str]) -> list[str]:
    """Names of what cannot be copied: pipes, sockets, devices."""
    kinds = {name: Path(folder, name).lstat().st_mode for name in names}
    plain = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return [name for name, mode in kinds.items() if not any(test(mode) for test in plain)]


def _tracked(root: Path, caches: Sequence[str]) -> set[str]:
    """Caches that the checkout's index names, or something in them; all of them if in doubt."""
    found = find_checkout(root)
    if found is None:
        return set()
    top = Path(found[0])
    pointer = os.fsdecode(read_small(top / ".git", 16 * 1024) or b".git")
    folder = top / pointer.removeprefix("gitdir:").strip()
    index = read_small(folder / "index", _INDEX_BYTES)
    if index is None:
        return set(caches) if os.path.lexists(folder / "index") else set()
    version = int.from_bytes(index[4:8], "big")
    if version not in _PLAIN_INDEX or any(folder.glob("sharedindex.*")):
        return set(caches)
    start = os.fsencode(root.relative_to(found[0])) if root != Path(found[0]) else b""
    start += b"/" if start else b""
    raw = {path: start + os.fsencode(path) for path in caches}
    return {path for path, name in raw.items() if name + b"\0" in index or name + b"/" in index}


LARGEST_BYTES = 1_000_000
MOST_BYTES = 20_000_000  # of one approval; what is beyond is not kept


class LooseCopies:
    """Copies of ignored files by content, in the snapshots' store, which nobody else may read."""

    def __init__(self, store: Path):
        self._folder = store / "ignored-files"

    def keep(self, root: Path, files: Mapping[str, FileState]) -> None:
        """Copy what is small enough; a copy that a power cut spoils is none."""
        room = MOST_BYTES
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, state in files.items():
            room -= state.size
            if state.kind is not FileKind.FILE or state.size > LARGEST_BYTES or room < 0:
                continue
            with suppress(OSError):
                if not (self._folder / state.sha256).exists():
                    replace_file(self._folder / state.sha256, (root / path).read_bytes())

    def read(self, sha256: str) -> bytes | None:
        """The kept bytes; None where there are none, or not those."""
        try:
            data = (self._folder / sha256).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    @contextmanager
    def put_back(self, root: Path, files: Mapping[str, FileState]) -> Iterator[None]:
        """Put these files into the workspace for a while, where nothing stands in their place.

        If this process dies, they stay: as the person had them.
        """
        above = {str(p) for path in files for p in Path(path).parents}
        made = sorted(p for p in above if not os.path.lexists(root / p))
        with opened_root(root) as root_fd:
            put = [path for path, state in files.items() if self._write(root_fd, path, state)]
            try:
                yield
            finally:
                for path in (*put, *reversed(made)):
                    folder, _, name = path.rpartition("/")
                    with suppress(OSError), opened_strictly(root_fd, folder) as fd:
                        (os.rmdir if path in above else os.unlink)(name, dir_fd=fd)

    def _write(self, root_fd: int, path: str, state: FileState) -> bool:
        folder, _, name = path.rpartition("/")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            folder_fd = open_folder_strictly(root_fd, folder, create=True)
        except OSError:
            return False
        try:
            fd = os.open(name, flags, 0o755 if state.executable else 0o644, dir_fd=folder_fd)
        except OSError:
            return False
        finally:
            os.close(folder_fd)
        with os.fdopen(fd, "wb") as file:
            file.write(self.read(state.sha256) or b"")
        return True
