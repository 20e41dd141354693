"""Trust hand-off: files that make other programs act, created or changed during an attempt."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from signoff.domain.digests import digest_bytes
from signoff.domain.globs import has_wildcard
from signoff.domain.handoff import HANDOFF, is_handoff
from signoff.domain.snapshot import Change
from signoff.domain.text import storable_path

MOST_FILES = 2_000  # of one folder; more than that is no configuration
GONE = "removed"
_LARGEST_BYTES = 1_000_000
_FIXED = tuple(glob for glob in HANDOFF if not has_wildcard(glob))
_FOLDERS = tuple(
    glob.removesuffix("/**") for glob in HANDOFF if not has_wildcard(glob.removesuffix("/**"))
)


def handoff_files(root: Path) -> dict[str, str]:
    """Path → fingerprint of what the table names and what lies there, ignored or not.

    Looked up by name instead of in the content, because ignore rules and git's own folder hide
    many of them: `.envrc`, `.vscode`, `.git/hooks`.
    """
    found: dict[str, str] = {}
    for path in _present(root):
        seen = _look(root / path)
        if seen is not None:
            found[storable_path(path)] = seen
    return found


def changed_handoffs(
    known: Mapping[str, str], now: Mapping[str, str], changes: Iterable[Change]
) -> dict[str, str]:
    """What was created, changed or removed: at its known place, or anywhere in the content."""
    nested = {storable_path(c.path): str(c.kind) for c in changes if is_handoff(c.path)}
    placed = {
        name: now.get(name, GONE)
        for name in known.keys() | now.keys()
        if known.get(name, GONE) != now.get(name, GONE)
    }
    return dict(sorted({**nested, **placed}.items()))


def _present(root: Path) -> Iterator[str]:
    try:
        names = {path.name for path in root.iterdir()}
    except OSError:
        return
    yield from (path for path in _FIXED if path.partition("/")[0] in names)
    for folder in _FOLDERS:
        if folder.partition("/")[0] in names:
            yield from _below(root, folder)


def _below(root: Path, folder: str) -> Iterator[str]:
    count = 0
    for here, folders, files in os.walk(root / folder):
        folders.sort()
        for name in sorted(files):
            count += 1
            if count > MOST_FILES:
                return
            yield os.path.relpath(os.path.join(here, name), root)  # noqa: PTH118 - many, in a row


def _look(path: Path) -> str | None:
    """A short comparable text of what lies there, links not followed; None when nothing does."""
    try:
        state = path.lstat()
        if stat.S_ISLNK(state.st_mode):
            return f"link:{digest_bytes(os.fsencode(path.readlink()))}"
        if not stat.S_ISREG(state.st_mode):
            return None if stat.S_ISDIR(state.st_mode) else "special"
        changed = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        if state.st_size > _LARGEST_BYTES:
            return f"large:{changed}"
        return f"file{'+x' if state.st_mode & 0o111 else ''}:{_sha256(path, changed)}"
    except OSError:
        return None


@lru_cache(maxsize=4096)
def _sha256(path: Path, changed: tuple[int, ...]) -> str:
    """Read once per version of the file: git's sample hooks alone are fourteen."""
    del changed
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return digest_bytes(file.read(_LARGEST_BYTES + 1))
