"""Planned artifacts: which files and folders a task must leave behind, and which are missing.

Planned is what a plan declares, and what a task or an item asks for: each a path inside the
workspace; a trailing `/` makes it a folder. A folder is there when there is a file in it, a file
when it is not empty (some kinds of file always are). What was there when it was planned is built
only once it was changed, unless a plan declares it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from signoff.domain.definition import Artifact, Definition, Item, Standing
from signoff.domain.globs import has_wildcard
from signoff.domain.text import escape, escape_line
from signoff.gate.definition import ArtifactsSeen, Fact, Stated
from signoff.toolbatch.sentences import Wanted, Wish, wanted_in
from signoff.toolbatch.view import Target
from signoff.toolbatch.wordings import LONGEST_READ

LONGEST_PATH = 400
_SIGN_LENGTH = 16
LONGEST_NAME_BYTES = 255
MOST_LOOKED_AT = 2_000  # entries of one folder tree, before it counts as empty
# Made to be empty.
EMPTY_NAMES = frozenset({"__init__.py", "py.typed", ".gitkeep", ".keep", ".nojekyll"})
# They introduce other files; by themselves they are no progress.
SUMMARY_NAMES = frozenset(
    {"index.html", "index.htm", "index.md", "readme", "readme.md", "readme.rst", "readme.txt"}
)


@dataclass(frozen=True)
class Declared:
    """What came of declared paths; `refused` says which cannot be planned, and why."""

    artifacts: tuple[Artifact, ...]
    refused: tuple[str, ...] = ()


def artifact_of(path: str) -> Artifact:
    """A path as an artifact; ValueError says why it cannot be one."""
    shown = escape_line(path[:LONGEST_PATH])
    if not path.strip() or path != path.strip():
        raise ValueError(f"`{shown}` names nothing")
    if len(path) > LONGEST_PATH:
        raise ValueError(f"`{shown}…` is longer than {LONGEST_PATH} characters")
    if escape(path) != path or "\n" in path or "\t" in path or "\\" in path:
        raise ValueError(f"`{shown}` has characters that a reader cannot see, or a backslash")
    if has_wildcard(path) or "{" in path or "$" in path:
        raise ValueError(f"`{shown}` is a pattern, not one file or folder")
    if path.startswith(("/", "~")):
        raise ValueError(f"`{shown}` is not relative to the workspace")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or ".git" in parts:
        raise ValueError(f"`{shown}` leaves the workspace")
    if not parts or any(len(part.encode()) > LONGEST_NAME_BYTES for part in parts):
        raise ValueError(f"`{shown}` is no path of a file or folder")
    return Artifact("/".join(parts), path.endswith("/"))


def declared(paths: Iterable[str]) -> Declared:
    """The `produces` of a plan as artifacts."""
    found: dict[str, Artifact] = {}
    refused = []
    for path in paths:
        try:
            artifact = artifact_of(path)
        except ValueError as error:
            refused.append(str(error))
        else:
            found.setdefault(artifact.path, artifact)
    return Declared(tuple(found.values()), tuple(refused))


def planned_in(text: str, root: Path | None = None) -> tuple[Artifact, ...]:
    """Files and folders that a text asks for; however many, the definition counts what is too much.

    With the workspace given, what is there decides where words do not: a file that is to be changed
    counts when it is there, one that may only be spoken of when it is not, and an absolute path
    when it leads into the workspace.
    """
    return declared(one.path for one in _wanted(text, root)).artifacts


def _wanted(text: str, root: Path | None) -> list[Wanted]:
    inside = f"{root}/" if root is not None else "./"
    every = (Wanted(one.path.removeprefix(inside), one.wish) for one in wanted_in(text))
    return [one for one in every if _counts(one, root)]


def _counts(wanted: Wanted, root: Path | None) -> bool:
    if wanted.wish is Wish.MAKE:
        return True
    if root is None:
        return False
    there = bool(_standing(wanted.path, root))
    return there if wanted.wish is Wish.CHANGE else not there


def _standing(path: str, root: Path) -> tuple[Artifact, ...]:
    return tuple(a for a in declared((path,)).artifacts if is_there(a, root))


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
    """Planned artifacts that are not built now, in the order they were planned."""
    to_change = definition.to_change
    return tuple(a for a in definition.artifacts if a in to_change or not is_there(a, root))


def seen_now(definition: Definition, root: Path) -> ArtifactsSeen:
    """What a look at the workspace shows; to be recorded when a task begins and when it is judged.

    A keeper that was given this as its `look` does so by itself whenever something is planned.
    """
    there = existing(definition, root)
    unchanged = {standing.path for standing in definition.unchanged}
    asked = [path for path in there if path in unchanged or path not in definition.looked]
    return ArtifactsSeen(there, tuple(Standing(path, _sign(root / path)) for path in asked))


def stated_in(text: str, root: Path | None = None) -> Stated:
    """A person's task as a fact: what it says, what it asks for, how much of it was not read."""
    return Stated(text, planned_in(text, root), unread=max(0, len(text) - LONGEST_READ))


def facts_of_follow_up(text: str, definition: Definition, root: Path) -> tuple[Fact, ...]:
    """What a person's further words add to a task: they only ever add, and let the work go on.

    What is to be changed counts once it is changed after these words; what is to be made and was
    made for this task already is not asked for again.
    """
    if not text.strip():
        return ()
    made = frozenset(a.path for a in definition.artifacts if definition.has_built(a))
    wanted = (w for w in _wanted(text, root) if w.wish is Wish.CHANGE or w.path not in made)
    planned = declared(one.path for one in wanted).artifacts
    return (replace(stated_in(text, root), artifacts=planned),)


def is_substantive(artifact: Artifact) -> bool:
    """Whether making it is progress by itself."""
    return not artifact.directory and Path(artifact.path).name.lower() not in SUMMARY_NAMES


def existence_command(artifacts: Iterable[Artifact]) -> str:
    """A command that holds only while all of them are there."""
    return " && ".join(_existence(artifact) for artifact in artifacts)


def next_target(definition: Definition, root: Path, next_item: Item | None) -> Target | None:
    """The concrete next file: a declared one, the item's, or one like those of a sibling folder."""
    unmet = missing(definition, root)
    if not unmet:
        own = [a for a in (next_item.artifacts if next_item else ()) if not is_there(a, root)]
        return _target(own[0], "item", root) if own else None
    first = unmet[0]
    if first.directory:
        inside = [a for a in unmet if not a.directory and a.path.startswith(f"{first.path}/")]
        like = None if inside else _like_sibling(first, root)
        if like is not None:
            return like
        first = inside[0] if inside else first
    origin = "unchanged" if first in definition.to_change else "declared"
    return _target(first, origin, root)


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


def _sign(path: Path) -> str:
    """What tells that a file is as it was; nothing for a folder, whose files tell."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:_SIGN_LENGTH]
    except OSError:
        return ""


def _target(artifact: Artifact, origin: str, root: Path) -> Target:
    parent = (root / artifact.path).parent.is_dir()
    return Target(artifact.path, artifact.directory, origin, parent)


def _has_file(folder: Path) -> bool:
    return next(_files_in(folder), None) is not None


def _files_in(folder: Path) -> Iterator[str]:
    """Names of files below a folder, relative to it, by name; with an end to it."""
    looked = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            looked += 1
            if looked > MOST_LOOKED_AT:
                return
            path = Path(place, name)
            if path.is_file():
                yield str(path.relative_to(folder))
        looked += len(folders)
        if looked > MOST_LOOKED_AT:
            return


def _like_sibling(folder: Artifact, root: Path) -> Target | None:
    """The first file that the fullest sibling has and this folder lacks, in this folder's name."""
    place = root / folder.path
    try:
        around = sorted(p for p in place.parent.iterdir() if p != place and p.is_dir())
    except OSError:
        return None
    listed = [(p, list(_files_in(p))) for p in around if not p.name.startswith(".")]
    sibling, names = max(listed, key=lambda pair: len(pair[1]), default=(place, []))
    names.sort(key=lambda name: (Path(name).name.lower() in SUMMARY_NAMES, name.count("/"), name))
    for name in names:
        renamed = re.sub(re.escape(sibling.name), lambda _: place.name, name)
        if (place / renamed).exists():
            continue
        try:
            found = artifact_of(f"{folder.path}/{renamed}")
        except ValueError:
            continue
        return _target(found, "sibling", root)
    return None
