"""What a confined run may see and do, whichever sandbox enforces it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from signoff.domain.verdict import Isolation


class Unavailable(Exception):
    """A sandbox cannot do here what is asked of it; the message says why."""


@dataclass(frozen=True)
class Mount:
    """What is seen at `at` is really `source`."""

    source: Path
    at: Path
    writable: bool = False
    holds_parents: bool = True  # whether folders on the way to it are kept from being moved


@dataclass(frozen=True)
class Confinement:
    """Everything is readable except what is hidden or private; only what is named can be changed.

    The most specific rule holds: a writable folder below a hidden one is seen, a hidden one below
    a writable one is not. `readonly`, `readable`, `hidden` and `scratch` paths that do not exist
    are left out; a `writable` path that does not exist is refused.
    """

    isolation: Isolation
    writable: tuple[Path, ...]
    readonly: tuple[Path, ...] = ()
    """Holes in the writable ones: seen, not changeable."""
    absent: tuple[Path, ...] = ()
    """Not there, and not to be made: shown empty and not changeable while the command runs."""
    readable: tuple[Path, ...] = ()
    """Seen although they lie below a private or hidden folder."""
    shown: tuple[Path, ...] = ()
    """Seen and not changeable, even below a hidden folder."""
    hidden: tuple[Path, ...] = ()
    """Folders or files of which nothing can be read."""
    scratch: tuple[Path, ...] = ()
    """Empty, writable, and gone afterwards."""
    mounts: tuple[Mount, ...] = ()
    network: bool = False
    traceless: bool = False
    """Leaves nothing of what it saw behind in shared memory or in attributes of files."""

    def __post_init__(self) -> None:
        if self.isolation is Isolation.NONE:
            raise ValueError("a run without a sandbox has no confinement")


def is_within(path: Path, folder: Path) -> bool:
    """Whether a path is the folder or lies in it, links followed."""
    return path.resolve().is_relative_to(folder.resolve())
