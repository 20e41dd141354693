"""Which planned artifacts are there, asked again and again: only what changed is looked at anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from signoff.domain.definition import Artifact
from signoff.toolbatch.artifacts import is_there

Sign = tuple[int, ...]


class Planned:
    """Remembers of each planned file what tells cheaply that it is as it was."""

    def __init__(self, root: Path):
        self._root = root
        self._known: dict[Artifact, tuple[Sign | None, bool]] = {}

    def missing(self, planned: Sequence[Artifact]) -> tuple[Artifact, ...]:
        """Those that are not there now, in the order they were planned."""
        if len(self._known) > 2 * len(planned):
            self._known.clear()
        return tuple(artifact for artifact in planned if not self._is_there(artifact))

    def _is_there(self, artifact: Artifact) -> bool:
        if artifact.directory:
            return is_there(artifact, self._root)  # nothing tells of what lies deeper in it
        sign = _sign(self._root / artifact.path)
        known = self._known.get(artifact)
        if known is not None and known[0] == sign:
            return known[1]
        there = sign is not None and is_there(artifact, self._root)
        self._known[artifact] = (sign, there)
        return there


def _sign(path: Path) -> Sign | None:
    try:
        now = path.stat()
    except (OSError, ValueError):
        return None
    return now.st_dev, now.st_ino, now.st_mode, now.st_size, now.st_mtime_ns, now.st_ctime_ns
