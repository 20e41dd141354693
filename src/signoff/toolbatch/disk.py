"""The workspace as the runtime looks at it: reads that follow no link out of it, whole writes."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from signoff.domain.digests import digest_bytes

LARGEST_LOOK = 10_000_000
MOST_NAMES = 2_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE_MODE = 0o666  # the kernel takes the umask off


class Disk(Protocol):
    """What the runtime may ask about files; paths are relative to the workspace."""

    @property
    def root(self) -> Path:
        """The workspace."""

    def read(self, path: str) -> bytes | None:
        """A regular file of reasonable size; None for anything else."""

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder, sorted; nothing where there is none."""

    def exists(self, path: str) -> bool:
        """Whether anything is there."""

    def content(self) -> str:
        """The digest of everything in it; empty where nobody can tell."""


def digest_at(disk: Disk, path: str) -> str:
    """The digest of a file as it is now; empty for one that is not there."""
    data = disk.read(path)
    return "" if data is None else digest_bytes(data)


@dataclass(frozen=True)
class Folder:
    """A workspace read directly. `digest` gives that of all its content, where there is one."""

    root: Path
    digest: Callable[[], str] | None = None

    def read(self, path: str) -> bytes | None:
        """A regular file of reasonable size; None for anything else."""
        try:
            with _opened_folder(self.root, _parts(path)[:-1]) as folder:
                fd = os.open(_parts(path)[-1], _FILE, dir_fd=folder)
                with open(fd, "rb") as file:
                    state = os.fstat(fd)
                    if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST_LOOK:
                        return None
                    return file.read(LARGEST_LOOK)
        except (OSError, ValueError, IndexError):
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder, sorted, and of a crowded one only a part."""
        try:
            with _opened_folder(self.root, _parts(folder)) as fd, os.scandir(fd) as found:
                return tuple(sorted(e.name for e, _ in zip(found, range(MOST_NAMES), strict=False)))
        except (OSError, ValueError):
            return ()

    def exists(self, path: str) -> bool:
        """Whether anything is there, a dangling link included."""
        try:
            parts = _parts(path)
            if not parts:
                return True
            with _opened_folder(self.root, parts[:-1]) as folder:
                os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        except (OSError, ValueError):
            return False
        return True

    def content(self) -> str:
        """The digest of everything in it; empty where nobody can tell."""
        return "" if self.digest is None else self.digest()


def put_file(root: Path, path: str, data: bytes, mode: int | None) -> None:
    """Make or replace a file as a whole, and the folders above it; no link is followed."""
    *above, name = _parts(path)
    temporary = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    with _opened_folder(root, above, make=True) as folder:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(temporary, flags, _NEW_FILE_MODE, dir_fd=folder)
        try:
            with open(fd, "wb") as file:
                if mode is not None:
                    os.fchmod(fd, mode)
                file.write(data)
                file.flush()
                os.fsync(fd)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def remove_file(root: Path, path: str) -> None:
    """Remove a file, if it is there, and folders above it that are empty then."""
    parts = _parts(path)
    with suppress(FileNotFoundError, NotADirectoryError):
        with _opened_folder(root, parts[:-1]) as folder:
            os.unlink(parts[-1], dir_fd=folder)
        with suppress(OSError):
            for depth in range(len(parts) - 1, 0, -1):
                with _opened_folder(root, parts[: depth - 1]) as above:
                    os.rmdir(parts[depth - 1], dir_fd=above)


def mode_at(root: Path, path: str) -> int | None:
    """The permission bits of a regular file; None where none is."""
    try:
        with _opened_folder(root, _parts(path)[:-1]) as folder:
            state = os.stat(_parts(path)[-1], dir_fd=folder, follow_symlinks=False)
    except (OSError, ValueError, IndexError):
        return None
    return stat.S_IMODE(state.st_mode) if stat.S_ISREG(state.st_mode) else None


def _parts(path: str) -> tuple[str, ...]:
    parts = tuple(part for part in PurePosixPath(path).parts if part != ".")
    if path.startswith("/") or ".." in parts:
        raise ValueError(f"`{path}` does not lie in the workspace")
    return parts


@contextmanager
def _opened_folder(
    root: Path, parts: tuple[str, ...] | list[str], make: bool = False
) -> Iterator[int]:
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            deeper = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = deeper
        yield fd
    finally:
        os.close(fd)
