"""Everything that lies below a folder, as data that tests compare."""

from __future__ import annotations

import os
import stat
from pathlib import Path

Line = tuple[str, int, str | bytes]


def listing(root: Path) -> dict[str, Line]:
    """Per path: kind, mode and content (for a link its target); folders only that they are."""
    found: dict[str, Line] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder) / name
            found[str(path.relative_to(root))] = _line(path)
    return found


def _line(path: Path) -> Line:
    seen = path.lstat()
    mode = stat.S_IMODE(seen.st_mode)
    if stat.S_ISLNK(seen.st_mode):
        return "link", mode, str(path.readlink())
    if stat.S_ISDIR(seen.st_mode):
        return "folder", mode, " ".join(os.listxattr(path))
    if stat.S_ISREG(seen.st_mode):
        return f"file {seen.st_nlink}", mode, path.read_bytes()
    return "special", mode, ""
