"""Files that evidence cites: named one way, and digested by the harness itself."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

_CHUNK = 1 << 20


@dataclass(frozen=True)
class CitedFiles:
    """Regular files of the workspace, and of the folders that the user lets agents read."""

    workspace: Path
    readable: tuple[str, ...] = ()

    def name(self, path: str) -> str:
        """The one name of a file: relative inside the workspace, absolute elsewhere."""
        whole = os.path.normpath(self.workspace / path)
        root = str(self.workspace)
        return whole[len(root) + 1 :] if whole.startswith(root + os.sep) else whole

    def digest(self, path: str) -> str:
        """The sha256 of what lies there now; empty for what is gone or may not be read."""
        try:
            real = Path(os.path.realpath(self.workspace / path))
            return _sha256(real) if self._allowed(real) else ""
        except (OSError, ValueError):
            return ""

    def _allowed(self, real: Path) -> bool:
        """By where a path leads, because an agent can lay links."""
        roots = (self.workspace, *(Path(r).expanduser() for r in self.readable))
        return any(real.is_relative_to(os.path.realpath(root)) for root in roots)


def _sha256(path: Path) -> str:
    # Opening a FIFO would wait for a writer, so it is opened without blocking and then refused.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        seen = hashlib.sha256()
        while chunk := file.read(_CHUNK):
            seen.update(chunk)
        return seen.hexdigest()
