"""Making room for content that comes back: what somebody put in its place goes, whatever it is.

Nothing outside the workspace is touched: links are removed and never followed, and what is mounted
inside it is left alone.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from signoff.workspace.folders import FOLDER_FLAGS, remove_tree, set_mode

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def clear_the_way(root_fd: int, path: str) -> None:
    """Leave nothing at the path, and nothing but folders on the way to it.

    Raises OSError when something cannot be removed.
    """
    above, _, name = path.rpartition("/")
    fd = _walk(root_fd, above, clearing=True)
    if fd is not None:
        try:
            _remove(fd, name)
        finally:
            os.close(fd)


def open_the_way(root_fd: int, path: str) -> None:
    """Make the folders above a path usable again, if somebody took their permissions away."""
    fd = _walk(root_fd, path.rpartition("/")[0], clearing=False)
    if fd is not None:
        os.close(fd)


def _walk(root_fd: int, folder: str, *, clearing: bool) -> int | None:
    """The folder, reached without following a link; None where there is nothing at its place."""
    fd = os.dup(root_fd)
    for name in folder.split("/") if folder else ():
        try:
            below = _enter(fd, name, clearing=clearing)
        finally:
            os.close(fd)
        if below is None:
            return None
        fd = below
    return fd


def _enter(fd: int, name: str, *, clearing: bool) -> int | None:
    try:
        seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if clearing and not stat.S_ISDIR(seen.st_mode):
        os.unlink(name, dir_fd=fd)
        return None
    if stat.S_ISDIR(seen.st_mode) and seen.st_mode & 0o700 != 0o700:
        set_mode(fd, name, stat.S_IMODE(seen.st_mode) | 0o700)
    return os.open(name, FOLDER_FLAGS, dir_fd=fd)


def _remove(fd: int, name: str) -> None:
    try:
        seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(seen.st_mode):
        remove_tree(fd, name)
    else:
        os.unlink(name, dir_fd=fd)


class Mounts:
    """What is mounted inside a workspace: not its content, so nothing there is ours to change."""

    def __init__(self, root: Path) -> None:
        try:
            lines = _MOUNTS.read_text(errors="surrogateescape").splitlines()
        except OSError:
            lines = []  # no such list on this system
        points = (Path(_ESCAPED.sub(_unescape, line.split(" ")[4])) for line in lines)
        self._inside = [p for p in points if p != root and p.is_relative_to(root)]
        self._root = root

    def refuse(self, path: str) -> None:
        """Raise OSError when the path lies in something mounted, or something is mounted in it."""
        place = self._root / path
        if any(p.is_relative_to(place) or place.is_relative_to(p) for p in self._inside):
            raise OSError(errno.EBUSY, "something is mounted there")


def _unescape(code: re.Match[str]) -> str:
    return chr(int(code[1], 8))
