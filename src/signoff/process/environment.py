"""The environment that contracts and agents get: only what is listed, nothing that steers tools."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

STANDARD_PATH = ":".join(
    (
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
        "/run/current-system/sw/bin",
        "/opt/homebrew/bin",
    )
)

_ALLOWED = frozenset({"HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"})
_ALLOWED_PREFIX = "LC_"
_FIXED = MappingProxyType({"TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"})
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MAX_LINKS = 40
ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")


def clean_environment(
    source: Mapping[str, str],
    *,
    path: str,
    passed: Iterable[str] = (),
    extra: Mapping[str, str] = _NOTHING,
) -> dict[str, str]:
    """A small environment: who and where the user is, our settings, and what was asked for.

    `BASH_ENV`, `LD_PRELOAD`, `PYTHONPATH` and their kind get in only when `passed` names them, and
    `PATH` is always the given one. `extra` has the last word.
    """
    # Names first: each value of `os.environ` is decoded when it is asked for.
    names = [n for n in source if n in _ALLOWED or n.startswith(_ALLOWED_PREFIX)]
    kept = {name: source[name] for name in names}
    kept.update(_FIXED)
    kept.update({name: source[name] for name in passed if name in source})
    kept["PATH"] = path
    kept.update(extra)
    return kept


def safe_search_path(value: str, workspace: Path) -> str:
    """The entries of a search path that nobody working in the workspace can redirect.

    Absolute existing folders stay, in order and once each; an entry goes when any step on the way
    to it, symbolic links included, lies in the workspace. Nothing left: the system's standard path.
    """
    for candidates in (value, STANDARD_PATH):
        entries = [entry.rstrip("/") for entry in candidates.split(":") if entry.strip("/")]
        kept = [entry for entry in dict.fromkeys(entries) if _is_safe_entry(entry, workspace)]
        if kept:
            return ":".join(kept)
    return STANDARD_PATH


def contract_search_path(value: str, workspace: Path) -> str:
    """`safe_search_path`, and environments of the workspace that the person has activated.

    The programs of a virtual or conda environment and `node_modules/.bin` stay, in their order;
    where a link of the workspace leads to one elsewhere, its real place does. What lies there must
    be pinned.
    """
    entries = [e.rstrip("/") for e in dict.fromkeys(value.split(":")) if e.strip("/")]
    safe = {entry: _is_safe_entry(entry, workspace) for entry in entries}
    kept = [entry if safe[entry] else _activated(entry, workspace) for entry in entries]
    if not any(safe.values()):
        kept += safe_search_path("", workspace).split(":")
    return ":".join(dict.fromkeys(filter(None, kept)))


@lru_cache(maxsize=64)
def activated_in(search_path: str, workspace: Path) -> tuple[str, ...]:
    """Folders of the workspace on a search path, relative to it, in their order."""
    folders = (Path(entry) for entry in search_path.split(":") if entry)
    return tuple(
        f.relative_to(workspace).as_posix() for f in folders if f.is_relative_to(workspace)
    )


def left_out(name: str, value: str, search_path: str, workspace: Path) -> str:
    """Find a program of the workspace that is on the person's search path but not the contract's.

    The path is relative to the workspace; empty where there is none.
    """
    searched = search_path.split(":")
    for folder in (Path(e) for e in value.split(":") if e.startswith("/")):
        inside = folder.is_relative_to(workspace) and str(folder) not in searched
        if inside and os.access(folder / name, os.X_OK):
            return (folder / name).relative_to(workspace).as_posix()
    return ""


def _activated(entry: str, workspace: Path) -> str:
    """The real place of an environment's programs, if the entry leads there by the workspace."""
    if not entry.startswith("/"):
        return ""
    real = Path(os.path.realpath(entry))
    of_node = real.name == ".bin" and real.parent.name == "node_modules"
    is_one = of_node or any(os.path.lexists(real.parent / mark) for mark in ENVIRONMENT_MARKS)
    # The workspace itself is no environment: all of it is the agent's to write.
    is_all = real.parent in (workspace, workspace.resolve())
    return str(real) if is_one and not is_all and real.is_dir() else ""


def _is_safe_entry(entry: str, workspace: Path) -> bool:
    if not entry.startswith("/"):
        return False
    inside = {Path.cwd() / workspace, workspace.resolve()}
    steps = _steps_to(entry)
    if steps is None or any(step.is_relative_to(root) for step in steps for root in inside):
        return False
    return not any(Path(os.path.normpath(entry)).is_relative_to(root) for root in inside)


def _steps_to(entry: str) -> list[Path] | None:
    """Every place the kernel passes through to reach a folder; None when it does not get there."""
    here, steps = Path("/"), []
    ahead = [part for part in reversed(entry.split("/")) if part not in ("", ".")]
    links = 0
    while ahead:
        part = ahead.pop()
        here = here.parent if part == ".." else here / part
        steps.append(here)
        try:
            mode = here.lstat().st_mode
            target = str(here.readlink()) if stat.S_ISLNK(mode) else None
        except (OSError, ValueError):
            return None
        if target is None:
            if not stat.S_ISDIR(mode):
                return None
            continue
        links += 1
        if links > _MAX_LINKS:
            return None
        here = Path("/") if target.startswith("/") else here.parent
        ahead.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
    return steps
