"""Planned files and folders: whether they are there, and which file is to be made next.

A folder is there when there is a file in it, a file when it is not empty (some kinds always are).
"""

from __future__ import annotations

import difflib
import os
import posixpath
import shlex
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from signoff.domain.session import Artifact
from signoff.domain.text import escape_line
from signoff.gate.task import Task
from signoff.toolbatch.disk import entries_below
from signoff.toolbatch.view import Target

MOST_LOOKED_AT = 2_000  # entries of a tree: before a folder counts as empty, or in search of a name
# Made to be empty.
EMPTY_NAMES = frozenset({"__init__.py", "py.typed", ".gitkeep", ".keep", ".nojekyll"})
_LIKENESS = 0.5
# Files that tell what else there is: written first or last, they are not the work itself.
SUMMARIES = frozenset({"index", "readme"})


def is_there(artifact: Artifact, root: Path) -> bool:
    """True when it exists inside the workspace, and has something in it."""
    path = root / artifact.path
    try:
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(root)):
            return False
        status = real.stat()
    except (OSError, ValueError):
        return False
    if stat.S_ISDIR(status.st_mode):
        return artifact.directory and next(_files_below(real), "") != ""
    if artifact.directory or not stat.S_ISREG(status.st_mode):
        return False
    return status.st_size > 0 or path.name in EMPTY_NAMES


def missing(planned: Sequence[Artifact], root: Path) -> tuple[Artifact, ...]:
    return tuple(artifact for artifact in planned if not is_there(artifact, root))


def existence_command(artifact: Artifact) -> str:
    """A command that holds only while it is there."""
    name = quoted(artifact.path)
    if artifact.directory:
        return f'test -n "$(find -L {name} -type f -print -quit)"'
    empty = Path(artifact.path).name in EMPTY_NAMES
    return f"test -f {name}" if empty else f"test -f {name} && test -s {name}"


def next_target(unmet: Sequence[Artifact], root: Path) -> Target | None:
    """The first file that is missing; of a folder, a file inside it: folders are not written."""
    if not unmet:
        return None
    first = unmet[0]
    inside = (a.path for a in unmet if not a.directory and a.path.startswith(f"{first.path}/"))
    path = first.path
    if first.directory:
        path = next(inside, "") or f"{first.path}/{_likely_name(first.path, root)}"
    return Target(path, str(first) if first.directory else "", (root / path).parent.is_dir())


def _likely_name(folder: str, root: Path) -> str:
    """The first name in a folder that is called the same elsewhere; else one of a usual kind."""
    wanted, suffixes = posixpath.basename(folder), Counter[str]()
    for path in _files_below(root):
        above, name = posixpath.split(path)
        if posixpath.basename(above) == wanted and above != folder:
            return name
        suffixes[posixpath.splitext(name)[1]] += 1
    usual = next((suffix for suffix, _ in suffixes.most_common() if suffix), ".md")
    return f"first{usual}"


def nearest_file(root: Path, wanted: str) -> str:
    """The file of the same kind whose name is most like it; empty: there is none like it."""
    suffix = posixpath.splitext(wanted)[1].lower()
    alike = {p: posixpath.basename(p) for p in _files_below(root) if p.lower().endswith(suffix)}
    names = sorted(set(alike.values()))
    close = difflib.get_close_matches(posixpath.basename(wanted), names, n=1, cutoff=_LIKENESS)
    return next((path for path, name in alike.items() if close and name == close[0]), "")


def quoted(path: str) -> str:
    """A path as one word of a command, whatever its characters; never taken for an option."""
    plain = escape_line(path) == path
    path = path if path.startswith("/") else f"./{path}"
    if plain:
        return shlex.quote(path)
    octets = path.encode("utf-8", "surrogateescape")
    shown = (chr(b) if 0x20 <= b < 0x7F and chr(b) not in "'\\" else f"\\x{b:02x}" for b in octets)
    return f"$'{''.join(shown)}'"


def _files_below(folder: Path) -> Iterator[str]:
    found = entries_below(folder, MOST_LOOKED_AT)
    return (path for path in found if not path.endswith("/") and (folder / path).is_file())


def is_summary(path: str) -> bool:
    """True when a file only tells about others: an index or a readme."""
    return posixpath.basename(path).lower().partition(".")[0] in SUMMARIES


def promised(task: Task, path: str) -> bool:
    """True when it is planned, or lies in a planned folder of which no file is planned."""
    files = {str(a) for a in task.planned if not a.directory}
    folders = [str(a) for a in task.planned if a.directory]
    open_ones = [f for f in folders if not any(file.startswith(f) for file in files)]
    return path in files or f"{path}/" in folders or path.startswith(tuple(open_ones))
