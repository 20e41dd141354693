"""Keeping a file out of commits for every checkout of a repository: `.git/info/exclude`."""

from __future__ import annotations

import os

from signoff.errors import UsageError
from signoff.workspace.folders import FOLDER_FLAGS, unlink_if_there
from signoff.workspace.gitfolders import common_folder, locked, refusals, refuse_links
from signoff.workspace.repository import Repository, read_small
from signoff.workspace.writing import created_file, write_all

_NAME, _DRAFT = "exclude", "signoff.exclude"
_MAX_BYTES = 1 << 20


def exclude_from_git(repository: Repository, line: str) -> bool:
    """Append a pattern once, keeping what is there; whether it had to be."""
    if not line.strip() or "\n" in line:
        raise UsageError(f"`{line!r}` is not one line of ignore rules", "pass one pattern")
    common = common_folder(repository)
    refuse_links(common, ("info/exclude",))
    place = common / "info" / _NAME
    with locked(common):
        data = read_small(place, _MAX_BYTES)
        if data is None and os.path.lexists(place):
            raise UsageError(f"`{place}` cannot be read as a small regular file", "look at it")
        before = data or b""
        wanted = os.fsencode(line)
        if wanted in before.replace(b"\r\n", b"\n").split(b"\n"):
            return False
        gap = b"" if not before or before.endswith(b"\n") else b"\n"
        with refusals(place):
            place.parent.mkdir(exist_ok=True)
            _replace(place.parent, before + gap + wanted + b"\n")
    return True


def _replace(folder: os.PathLike[str], data: bytes) -> None:
    folder_fd = os.open(folder, FOLDER_FLAGS)
    try:
        unlink_if_there(folder_fd, _DRAFT)
        with created_file(folder_fd, _DRAFT, 0o644) as out:
            write_all(out, data)
            os.fsync(out)
        os.rename(_DRAFT, _NAME, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        os.fsync(folder_fd)
    finally:
        os.close(folder_fd)
