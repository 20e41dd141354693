"""Places that are not there and must not come to be: held by something empty while a command runs.

What a sandbox shows read-only must exist. Whoever else makes something of the placeholder meanwhile
keeps it: only what is still empty is taken away.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


class Placeholders:
    """Made at once, taken away by `remove`."""

    def __init__(self, paths: Iterable[Path]):
        self._made: list[Path] = []
        for path in paths:
            # There already, or in a folder that is not: then there is nothing to hold.
            with suppress(OSError):
                self._make(path)

    def remove(self) -> None:
        """Take away what is still as it was made."""
        while self._made:
            path = self._made.pop()
            with suppress(OSError):
                if path.is_dir():
                    path.rmdir()
                elif not path.is_symlink() and path.stat().st_size == 0:
                    path.unlink()

    def _make(self, path: Path) -> None:
        """A name with an ending is a file's, any other a folder's."""
        if path.suffix:
            path.touch(exist_ok=False)
        else:
            path.mkdir()
        self._made.append(path)
