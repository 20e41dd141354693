"""Planned artifacts: which files and folders a task must leave behind, and which are missing.

Planned is what a plan declares, and what a task or an item names: each a path inside the workspace;
a trailing `/` makes it a folder. A folder is there when there is a file in it, a file when it is
not empty (some kinds of file always are).
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from signoff.domain.definition import Artifact, Definition
from signoff.domain.text import escape_line
from signoff.gate.definition import ArtifactsSeen, Stated
from signoff.toolbatch.paths import LONGEST_READ, planned_in
from signoff.toolbatch.view import Target

MOST_LOOKED_AT = 2_000  # entries of one folder tree, before it counts as empty
# Made to be empty.
EMPTY_NAMES = frozenset({"__init__.py", "py.typed", ".gitkeep", ".keep", ".nojekyll"})


def is_there(artifact: Artifact, root: Path) -> bool:
    """Whether it exists inside the workspace, and has something in it."""
    path = root / artifact.path
    try:
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(root)):
            return False
        status = real.stat()
    except (OSError, ValueError):
        return False
    if stat.S_ISDIR(status.st_mode):
        return artifact.directory and _has_file(real)
    if artifact.directory or not stat.S_ISREG(status.st_mode):
        return False
    return status.st_size > 0 or path.name in EMPTY_NAMES


def existing(definition: Definition, root: Path) -> tuple[str, ...]:
    """Paths of the planned artifacts that are there now."""
    return tuple(a.path for a in definition.artifacts if is_there(a, root))


def missing(definition: Definition, root: Path) -> tuple[Artifact, ...]:
    """Planned artifacts that are not there now, in the order they were planned."""
    return tuple(a for a in definition.artifacts if not is_there(a, root))


def seen_now(definition: Definition, root: Path) -> ArtifactsSeen:
    """What a look at the workspace shows; to be recorded when a task begins and when it is judged.

    A keeper that was given this as its `look` does so by itself whenever something is planned.
    """
    return ArtifactsSeen(existing(definition, root))


def stated_in(
    text: str, root: Path, planned: Sequence[Artifact] = (), touched: Sequence[str] = ()
) -> Stated:
    """A person's task as a fact: what it says, what it plans, how much of it was not read."""
    unread = max(0, len(text) - LONGEST_READ)
    return Stated(text, planned_in(text, root, planned, touched), unread=unread)


def existence_command(artifacts: Iterable[Artifact]) -> str:
    """A command that holds only while all of them are there."""
    return " && ".join(_existence(artifact) for artifact in artifacts)


def next_target(unmet: Sequence[Artifact], root: Path) -> Target | None:
    """The first thing that is missing; of a folder, the first planned file in it."""
    if not unmet:
        return None
    first = unmet[0]
    inside = (a for a in unmet if not a.directory and a.path.startswith(f"{first.path}/"))
    found = next(inside, first) if first.directory else first
    return Target(found.path, found.directory, (root / found.path).parent.is_dir())


def quoted(path: str) -> str:
    """A path as one word of a command, whatever its characters; never taken for an option."""
    plain = escape_line(path) == path
    path = path if path.startswith("/") else f"./{path}"
    if plain:
        return shlex.quote(path)
    octets = path.encode("utf-8", "surrogateescape")
    return "$'" + "".join(_octet(byte) for byte in octets) + "'"


def _octet(byte: int) -> str:
    plain = 0x20 <= byte < 0x7F and chr(byte) not in "'\\"
    return chr(byte) if plain else f"\\x{byte:02x}"


def _existence(artifact: Artifact) -> str:
    name = quoted(artifact.path)
    if artifact.directory:
        return f'test -n "$(find -L {name} -type f -print -quit)"'
    empty = Path(artifact.path).name in EMPTY_NAMES
    return f"test -f {name}" if empty else f"test -f {name} && test -s {name}"


def _has_file(folder: Path) -> bool:
    """Whether a file lies anywhere below it; one with too much in it that is none has none."""
    looked = 0
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        looked += len(folders) + len(files)
        if any(Path(place, name).is_file() for name in files[:MOST_LOOKED_AT]):
            return True
        if looked > MOST_LOOKED_AT:
            return False
    return False
