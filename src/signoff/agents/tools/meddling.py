"""Whether a command changed what is not an agent's: noticed where no sandbox could prevent it.

Nothing is put back: a person may have made the change while the command ran, and whatever counts
is pinned. It is told, and the call did not succeed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from signoff.domain.digests import digest_bytes

LARGEST_COMPARED = 1_000_000
_GONE, _OTHER = "gone", "something"


def seen_at(paths: Iterable[Path]) -> dict[Path, str]:
    """How these places look now: files by their content, anything else by its being there."""
    return {path: _look(path) for path in paths}


def meddled_with(before: Mapping[Path, str]) -> tuple[Path, ...]:
    """Places that look otherwise than before."""
    return tuple(path for path, then in before.items() if _look(path) != then)


def told(paths: Iterable[Path], workspace: Path) -> str:
    """What the agent reads about it."""
    names = []
    for path in paths:
        inside = path.relative_to(workspace) if path.is_relative_to(workspace) else path
        names.append(f"`{inside}`")
    return (
        f"{', '.join(names)} changed while this ran; that belongs to the harness or the user and"
        " counts for nothing. Take it back if it was you; say what a person should change instead"
    )


def _look(path: Path) -> str:
    with suppress(OSError):
        state = os.lstat(path)
        if stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST_COMPARED:
            return digest_bytes(path.read_bytes())
        return f"{_OTHER} {stat.S_IFMT(state.st_mode)}"
    return _GONE
