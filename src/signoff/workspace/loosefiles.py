"""Copies of small ignored files as an approval found them, to judge with after they are gone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from signoff.domain.snapshot import FileKind, FileState
from signoff.workspace.folders import open_folder_strictly, opened_root, opened_strictly
from signoff.workspace.objects import replace_file

LARGEST_BYTES = 1_000_000
MOST_BYTES = 20_000_000  # of one approval; what is beyond is not kept


class LooseCopies:
    """By content, in the store of the workspace's snapshots; nobody else may read there."""

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
        """Have these files in the workspace for a while, where nothing stands in their place.

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
