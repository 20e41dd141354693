"""Which checkout a path lies in, found by looking at paths; git itself is not asked."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from signoff.workspace.checkout import find_checkout, read_small

__all__ = ["Repository", "find_repository", "read_small"]


class Repository(NamedTuple):
    """`top` is the checkout a path lies in, `main` the one whose vault serves all worktrees."""

    top: Path
    main: Path


def find_repository(start: Path) -> Repository | None:
    """The nearest checkout around `start`."""
    found = find_checkout(start)
    return None if found is None else Repository(Path(found[0]), Path(found[1]))
