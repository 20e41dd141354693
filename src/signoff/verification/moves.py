"""What is said when content moved while it was judged, with the very line that would allow it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from signoff.domain.snapshot import Change, ChangeKind
from signoff.domain.text import storable_path
from signoff.domain.verdict import Reason, Result
from signoff.verification.expectations import Answer

NAMED_FILES = 20
_MOST_GLOBS = 5
# What a plan's line spells as it is: no comma, no quote, no sign of a glob.
_PLAIN = re.compile(r"\w[\w./@+-]*|\.\w[\w./@+-]*", re.ASCII)


def moved_by_contract(changes: tuple[Change, ...], before: Iterable[str]) -> Answer:
    """In a clean room nobody but the contract writes."""
    return _moved(changes, f"the contract wrote it: declare `{_writes(changes, before)}`")


def moved_by_somebody(changes: tuple[Change, ...]) -> Answer:
    """The contract was in a clean room, and the workspace changed."""
    why = "the contract cannot have done it: stop whatever else writes to the workspace"
    return _moved(changes, why)


def moved_by_either(changes: tuple[Change, ...], before: Iterable[str]) -> Answer:
    """The contract was in the workspace, as others may be."""
    why = (
        f"if the contract wrote it, declare `{_writes(changes, before)}`; "
        "if not, stop whatever else writes to the workspace"
    )
    return _moved(changes, why)


def _moved(changes: tuple[Change, ...], advice: str) -> Answer:
    names = ", ".join(f"`{storable_path(c.path)}` {c.kind}" for c in changes[:NAMED_FILES])
    more = "" if len(changes) <= NAMED_FILES else f" and {len(changes) - NAMED_FILES} more"
    message = f"content moved while it was judged: {names}{more}; {advice}"
    return Answer(Result.UNKNOWN, Reason.MOVED, message)


def _writes(changes: tuple[Change, ...], before: Iterable[str]) -> str:
    """The field, with its value where one can be advised.

    What was there before may be what the contract judges: declared, anybody could change it.
    """
    field = "**writes:**"
    if any(change.kind is not ChangeKind.ADDED for change in changes):
        return field
    folders = {path[:end] for path in before for end in _ends_of_folders(path)}
    globs = dict.fromkeys(_glob(change.path, folders) for change in changes)
    plain = len(globs) <= _MOST_GLOBS and all(_PLAIN.fullmatch(c.path) for c in changes)
    return f"{field} {', '.join(globs)}" if plain else field


def _glob(path: str, folders: set[str]) -> str:
    """The file, or everything in the topmost folder that came with it."""
    new = (path[:end] for end in _ends_of_folders(path) if path[:end] not in folders)
    folder = next(new, None)
    return path if folder is None else f"{folder}/**"


def _ends_of_folders(path: str) -> Iterable[int]:
    return (found.start() for found in re.finditer("/", path))
